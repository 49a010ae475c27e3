//! Settings: compiled-in defaults, then a file, then `CALLBOARD__SECTION__KEY`, then flags; a later
//! source wins key by key.
//!
//! Nothing is guessed: an unknown key, a wrong type, a limit out of bounds, two settings that
//! contradict each other and a secret that cannot be found are all refused, all at once, each with
//! its key and where it came from. Secrets are named, never written down, never shown.

mod mistake;
mod read;
mod secret;
mod section;
mod source;
mod tree;

use std::path::PathBuf;

pub use self::{
    mistake::{ConfigErrors, Mistake, Origin},
    read::load,
    secret::{Secret, SecretFrom},
    section::{Check, DAY, Entries, HOUR, MANY, Part, Section, Settings, wide},
};
pub use crate::people::{Person, PersonName, Role};

/// The file that is read when none is named, in the working directory.
pub const FILE: &str = "callboard.toml";
/// The variable that names the file.
pub const FILE_VARIABLE: &str = "CALLBOARD_CONFIG";
/// What variables that are settings begin with.
pub const PREFIX: &str = "CALLBOARD__";

/// Where settings are looked for.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The file that was named by a flag. It must be there; [`FILE`] need not.
    pub file: Option<PathBuf>,
    /// The environment. A variable whose value is not Unicode has none here.
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
    /// The value as it was written.
    pub value: String,
    /// The flag, with its dashes, for messages.
    pub name: String,
}

/// One setting, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The dotted key.
    pub key: String,
    /// The value as JSON, masked when it is secret.
    pub value: String,
    /// Where it came from.
    pub source: Origin,
}

impl Sources {
    /// The environment and working directory of this process.
    #[must_use]
    pub fn of_process(file: Option<PathBuf>, flags: Vec<Flag>) -> Self {
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok())))
            .collect();
        let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        Self { file, env, flags, cwd }
    }
}
