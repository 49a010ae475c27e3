//! The settings. Compiled-in defaults come first, then a file, then `CALLBOARD__SECTION__KEY`
//! variables, then flags. A later source wins key by key.
//!
//! Nothing is guessed. An unknown key, a wrong type, a value out of bounds, two settings that
//! contradict each other and a secret that cannot be found are all refused, all at once, each with
//! its key and origin. Secrets are named, never written down, never shown.

mod mistake;
mod read;
mod secret;
mod section;
mod source;
mod tree;
pub(crate) mod words;

use std::path::PathBuf;

pub use proto::door::Role;

pub use self::{
    mistake::{ConfigErrors, Mistake, Origin},
    read::load,
    secret::{Secret, SecretFrom},
    section::{Check, DAY, Entries, HOUR, MANY, Part, Section, Settings, wide},
};
pub use crate::people::{Person, PersonName};

/// The file that is read when no other is named, relative to the working directory.
pub const FILE: &str = "callboard.toml";
/// The environment variable that names the file.
pub const FILE_VARIABLE: &str = "CALLBOARD_CONFIG";
/// The prefix of the environment variables that are settings.
pub const PREFIX: &str = "CALLBOARD__";

/// The sources of the settings.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The file that a flag named. It must exist, unlike [`FILE`].
    pub file: Option<PathBuf>,
    /// The environment variables. A value that is not Unicode is `None`.
    pub env: Vec<(String, Option<String>)>,
    /// Settings given by flags.
    pub flags: Vec<Flag>,
    /// The working directory.
    pub cwd: PathBuf,
}

/// A setting given by a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The dotted key.
    pub key: String,
    /// The value, as written on the command line.
    pub value: String,
    /// The flag, with its dashes, for messages.
    pub name: String,
}

/// One setting, formatted for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The dotted key.
    pub key: String,
    /// The value as JSON; masked when it is secret.
    pub value: String,
    /// The origin of the value.
    pub source: Origin,
}

impl Sources {
    /// Collects the environment and the working directory of this process.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>, flags: Vec<Flag>) -> Self {
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok())))
            .collect();
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        Self { file, env, flags, cwd }
    }
}
