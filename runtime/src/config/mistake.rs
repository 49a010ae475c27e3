//! The mistakes in the settings, each with its key and origin.

use std::{fmt, path::PathBuf};

use proto::lang::{Language, Words};

use super::words::Text;

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
    pub why: Words,
}

impl Mistake {
    /// Returns the mistake in one line.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let Self { key, origin, why } = self;
        let (source, why) = (origin, &why.text(language));
        let text = match key.is_empty() {
            true => Text::OfSource { source, why },
            false => Text::OfKey { key, source, why },
        };
        text.text(language)
    }
}

/// Every mistake in the settings; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<Mistake>);

impl ConfigErrors {
    /// Returns all mistakes, a line each.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        match self.0.as_slice() {
            [one] => Text::Unusable { mistake: &one.text(language) }.text(language),
            all => {
                let head = Text::UnusableMany { count: &all.len() }.text(language);
                let lines = all.iter().map(|mistake| format!("\n  {}", mistake.text(language)));
                std::iter::once(head).chain(lines).collect()
            }
        }
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::En))
    }
}

impl std::error::Error for ConfigErrors {}
