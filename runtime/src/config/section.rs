//! The parts that settings are made of. Each is declared beside the code that uses it: its keys as a
//! type, its defaults in TOML, and the check of its values. A program puts its parts together.

use std::fmt::Display;

use proto::lang::Words;
use serde::de::DeserializeOwned;
use url::Url;

use super::{Secret, words::Text};

/// One hour, in milliseconds.
pub const HOUR: u64 = 3_600_000;
/// One day, in milliseconds.
pub const DAY: u64 = 24 * HOUR;
/// The largest number of slots and entries. They are tables in memory; a larger one is a mistake.
pub const MANY: u64 = 1_000_000;

/// A table of the settings.
pub trait Section: DeserializeOwned {
    /// The name of the table.
    const NAME: &'static str;
    /// The defaults of the table in TOML, which document every key.
    const DEFAULTS: &'static str;
    /// The dotted keys of its secrets, in the order of [`Section::secrets`].
    const SECRETS: &'static [&'static str] = &[];
    /// The last part of keys whose values are never shown.
    const MASKED: &'static [&'static str] = &[];
    /// The entries of the table, when users name them.
    const ENTRIES: Option<Entries> = None;

    /// The secrets that are to be fetched.
    fn secrets(&mut self) -> Vec<&mut Option<Secret>> {
        Vec::new()
    }

    /// The secrets of entries that users name, which have no fixed keys.
    fn secrets_of_entries(&mut self) -> Vec<&mut Secret> {
        Vec::new()
    }

    /// Checks values whose types are right.
    fn check(&self, check: &mut Check);

    /// Returns the defaults alone.
    ///
    /// # Panics
    /// Never: a test checks the defaults.
    #[must_use]
    fn defaults() -> Self {
        let tables = toml::from_str::<toml::Table>(Self::DEFAULTS);
        let table = tables.ok().and_then(|mut tables| tables.remove(Self::NAME));
        let read = table.and_then(|table| table.try_into().ok());
        read.expect("the compiled-in defaults are checked by a test")
    }
}

/// Entries of a table that have their key as their field `name`.
#[derive(Debug, Clone, Copy)]
pub struct Entries {
    /// Returns an entry, with its article, for messages.
    pub one: fn() -> Words,
    /// The check of a key, with the reason of a refusal.
    pub name: fn(&str) -> Result<(), Words>,
}

/// A section without its values.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    pub(super) name: &'static str,
    pub(super) defaults: &'static str,
    pub(super) secrets: &'static [&'static str],
    pub(super) masked: &'static [&'static str],
    pub(super) entries: Option<Entries>,
}

impl Part {
    /// The part that a section is.
    #[must_use]
    pub fn of<S: Section>() -> Self {
        Self {
            name: S::NAME,
            defaults: S::DEFAULTS,
            secrets: S::SECRETS,
            masked: S::MASKED,
            entries: S::ENTRIES,
        }
    }
}

/// The settings of a program.
pub trait Settings: DeserializeOwned {
    /// The sections, in the order of the documentation.
    fn parts() -> Vec<Part>;

    /// The secrets of all sections, in the order of the sections.
    fn secrets(&mut self) -> Vec<&mut Option<Secret>>;

    /// The secrets of entries that users name, of all sections.
    fn secrets_of_entries(&mut self) -> Vec<&mut Secret> {
        Vec::new()
    }

    /// Checks every section, and pairs of settings of different sections.
    fn check(&self, check: &mut Check);

    /// The compiled-in defaults in TOML, which document every key.
    #[must_use]
    fn defaults_text() -> String {
        let texts: Vec<&str> = Self::parts().iter().map(|part| part.defaults).collect();
        texts.join("\n")
    }
}

/// Collects mistakes by dotted key.
#[derive(Debug, Default)]
pub struct Check(Vec<(String, Words)>);

impl Check {
    /// Notes a mistake.
    pub fn wrong(&mut self, key: impl Into<String>, why: impl Into<Words>) {
        self.0.push((key.into(), why.into()));
    }

    /// Notes every value that is not within its bounds, both included.
    pub fn bounds(&mut self, values: &[(&str, u64, u64, u64)]) {
        for (key, value, min, max) in values {
            if !(min..=max).contains(&value) {
                self.wrong(*key, Text::Bounds { min, max, value });
            }
        }
    }

    /// Notes a secret that cannot be fetched. A section calls it for the secrets that every process
    /// needs; the user of any other secret reports it.
    pub fn secret(&mut self, key: &str, secret: Option<&Secret>) {
        if let Some(Err(why)) = secret.map(Secret::value) {
            self.wrong(key, why.clone());
        }
    }

    /// Notes that a value is not within its bounds, both included.
    pub fn outside(&mut self, key: impl Into<String>, low: &dyn Display, high: &dyn Display) {
        self.wrong(key, Text::MustBe { low, high });
    }

    /// Notes that a setting is missing although another one, which needs it, is set.
    pub fn missing_beside(&mut self, key: &str, set: &str) {
        self.wrong(key, Text::MissingAsSet { key: &set });
    }

    /// Notes an address that is not one of HTTP, or that holds a password. `instead` is the key of
    /// the setting for it.
    pub fn http(&mut self, key: &str, url: &Url, instead: Option<&str>) {
        if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
            self.wrong(key, Text::NoHttp);
        }
        if !url.username().is_empty() || url.password().is_some() {
            self.wrong(
                key,
                match instead {
                    Some(key) => Text::PasswordInstead { key: &key }.into(),
                    None => Words::from(Text::Password),
                },
            );
        }
    }

    pub(super) fn into_found(self) -> Vec<(String, Words)> {
        self.0
    }
}

/// A size as [`Check::bounds`] takes it.
#[must_use]
pub fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
