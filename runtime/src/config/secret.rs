//! Secrets, referred to by their place, never written into a setting, and never shown.

use std::{
    fmt,
    io::Read,
    path::{Path, PathBuf},
};

use proto::lang::{Language, Words};
use secrecy::{ExposeSecret, SecretString};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};

use super::words::Text;

/// Largest secret, in bytes. A NATS credentials file has about 1 KB.
const BYTES_MAX: usize = 64 * 1024;

/// A secret and its place. Only the place is ever shown.
#[derive(Clone, derive_more::Debug)]
#[debug("Secret({from})")]
pub struct Secret {
    from: SecretFrom,
    /// The secret, or the reason why it cannot be fetched.
    value: Result<SecretString, Words>,
}

/// The place of a secret.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub enum SecretFrom {
    /// In an environment variable.
    #[display("${_0}")]
    Env(String),
    /// In a file.
    #[display("{}", _0.display())]
    File(PathBuf),
}

impl SecretFrom {
    /// Returns the place in words.
    fn text(&self, language: Language) -> String {
        match self {
            Self::Env(name) => Text::Variable { name }.text(language),
            Self::File(path) => Text::File { path: &path.display() }.text(language),
        }
    }
}

impl Secret {
    /// Returns the place.
    #[must_use]
    pub fn from(&self) -> &SecretFrom {
        &self.from
    }

    /// Returns the secret. Pass it only to the connection that needs it.
    ///
    /// # Errors
    /// The reason why the secret cannot be fetched, without any of its content.
    pub fn value(&self) -> Result<&SecretString, &Words> {
        self.value.as_ref()
    }

    /// Fetches the secret from its place.
    pub(super) fn fetch(&mut self, places: &Places<'_>) {
        self.value = places.secret(&self.from);
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let value = |secret: &Self| secret.value.clone().map(|s| s.expose_secret().to_owned());
        self.from == other.from && value(self) == value(other)
    }
}

/// The places in which secrets are sought.
pub(super) struct Places<'a> {
    pub(super) env: &'a [(String, String)],
    pub(super) cwd: &'a Path,
    /// Files that hold settings. A secret inside one of them is refused, since its own reference
    /// would find it.
    pub(super) settings: &'a [PathBuf],
}

impl Places<'_> {
    fn secret(&self, from: &SecretFrom) -> Result<SecretString, Words> {
        let text = match from {
            SecretFrom::Env(name) => self.variable(name)?,
            SecretFrom::File(path) => self.file(path)?,
        };
        match text.trim() {
            "" => Err(Words::new(|language| {
                Text::SecretEmpty { place: &from.text(language) }.text(language)
            })),
            text => Ok(SecretString::from(text.to_owned())),
        }
    }

    fn variable(&self, name: &str) -> Result<String, Words> {
        if name.to_ascii_uppercase().starts_with("CALLBOARD__") {
            return Err(Text::SecretInSetting { name: &name }.into());
        }
        let found = self.env.iter().find(|(n, _)| n == name);
        found.map(|(_, v)| v.clone()).ok_or_else(|| Text::VariableUnset { name: &name }.into())
    }

    fn file(&self, path: &Path) -> Result<String, Words> {
        let shown = &path.display();
        let failed = |why: std::io::Error| Words::from(Text::FileFailed { path: shown, why: &why });
        let path = self.cwd.join(path);
        let real = path.canonicalize().map_err(failed)?;
        if self.settings.contains(&real) {
            return Err(Text::SecretInFile { path: shown }.into());
        }
        let mut text = String::new();
        let file = std::fs::File::open(&real).map_err(failed)?;
        if !file.metadata().is_ok_and(|m| m.is_file()) {
            return Err(Text::NotRegular { path: shown }.into());
        }
        let read = file.take(BYTES_MAX as u64 + 1).read_to_string(&mut text);
        match read {
            Err(error) => Err(failed(error)),
            Ok(bytes) if bytes > BYTES_MAX => {
                Err(Text::FileTooLarge { path: shown, max: &BYTES_MAX }.into())
            }
            Ok(_) => Ok(text),
        }
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reference)
    }
}

/// The visitor of a secret's reference. It is written by hand so that no error repeats a key that
/// was put there by mistake.
struct Reference;

const FORM: &str = r#"{ env = "NAME" } / { file = "path" }"#;

impl<'de> Visitor<'de> for Reference {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORM)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Secret, E> {
        Err(refused(WRITTEN))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Secret, A::Error> {
        let mut from = None;
        while let Some(place) = map.next_key::<String>()? {
            let named: String = map.next_value()?;
            let found = match place.as_str() {
                "env" => SecretFrom::Env(named),
                "file" => SecretFrom::File(named.into()),
                _ => return Err(refused(NAMED)),
            };
            if from.replace(found).is_some() {
                return Err(refused(TWICE));
            }
        }
        let from = from.ok_or_else(|| refused(NAMED))?;
        Ok(Secret { from, value: Err(Text::SecretUnread.into()) })
    }
}

const WRITTEN: Text<'_> = Text::SecretWritten { form: &FORM };
const NAMED: Text<'_> = Text::SecretNamed { form: &FORM };
const TWICE: Text<'_> = Text::SecretTwice { form: &FORM };

/// The reasons that leave this module through serde, which carries English only.
pub(super) const REFUSALS: [Text<'_>; 3] = [WRITTEN, NAMED, TWICE];

fn refused<E: de::Error>(why: Text<'_>) -> E {
    E::custom(why.text(Language::En))
}
