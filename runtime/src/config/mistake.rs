//! The mistakes in the settings, each with its key and origin.

use std::{fmt, path::PathBuf};

/// The origin of a value. A later variant wins over an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
pub enum Origin {
    /// Compiled in.
    #[display("default")]
    Default,
    /// A file.
    #[display("{}", _0.display())]
    File(PathBuf),
    /// An environment variable.
    #[display("${_0}")]
    Env(String),
    /// A flag of the command line.
    Flag(String),
}

impl Origin {
    /// Returns the label that the merging library carries along with a value.
    pub(super) fn label(&self) -> String {
        match self {
            Self::Default => "default".to_owned(),
            Self::File(path) => format!("file {}", path.display()),
            Self::Env(name) => format!("env {name}"),
            Self::Flag(name) => format!("flag {name}"),
        }
    }

    /// Parses a label of [`Self::label`].
    pub(super) fn of_label(label: &str) -> Self {
        match label.split_once(' ') {
            Some(("file", path)) => Self::File(path.into()),
            Some(("env", name)) => Self::Env(name.to_owned()),
            Some(("flag", name)) => Self::Flag(name.to_owned()),
            Some(_) | None => Self::Default,
        }
    }
}

/// One mistake in the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// The key, dotted; empty when a whole source cannot be used.
    pub key: String,
    /// The origin of the value.
    pub origin: Origin,
    /// The reason, with the values that are allowed.
    pub why: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            write!(f, "{}: {}", self.origin, self.why)
        } else {
            write!(f, "{} ({}): {}", self.key, self.origin, self.why)
        }
    }
}

/// Every mistake in the settings; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<Mistake>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [one] => write!(f, "the configuration cannot be used: {one}"),
            all => {
                write!(f, "the configuration cannot be used; {} things are wrong:", all.len())?;
                all.iter().try_for_each(|mistake| write!(f, "\n  {mistake}"))
            }
        }
    }
}

impl std::error::Error for ConfigErrors {}
