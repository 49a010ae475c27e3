//! Secrets, referred to by their place, never written into a setting, and never shown.

use std::{
    fmt,
    io::Read,
    path::{Path, PathBuf},
};

use secrecy::{ExposeSecret, SecretString};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor},
};

/// Largest secret, in bytes. A NATS credentials file has about 1 KB.
const BYTES_MAX: usize = 64 * 1024;

/// A secret and its place. Only the place is ever shown.
#[derive(Clone, derive_more::Debug)]
#[debug("Secret({from})")]
pub struct Secret {
    from: SecretFrom,
    /// The secret, or the reason why it cannot be fetched.
    value: Result<SecretString, String>,
}

/// The place of a secret.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
pub enum SecretFrom {
    /// In an environment variable.
    #[display("the variable {_0}")]
    Env(String),
    /// In a file.
    #[display("the file {}", _0.display())]
    File(PathBuf),
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
    pub fn value(&self) -> Result<&SecretString, &str> {
        self.value.as_ref().map_err(String::as_str)
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
    fn secret(&self, from: &SecretFrom) -> Result<SecretString, String> {
        let text = match from {
            SecretFrom::Env(name) => self.variable(name)?,
            SecretFrom::File(path) => self.file(path)?,
        };
        match text.trim() {
            "" => Err(format!("{from} is empty")),
            text => Ok(SecretString::from(text.to_owned())),
        }
    }

    fn variable(&self, name: &str) -> Result<String, String> {
        if name.to_ascii_uppercase().starts_with("CALLBOARD__") {
            return Err(format!(
                "the variable {name} is a setting itself; a secret that is named by a setting must be elsewhere"
            ));
        }
        let found = self.env.iter().find(|(n, _)| n == name);
        found.map(|(_, v)| v.clone()).ok_or_else(|| format!("the variable {name} is not set"))
    }

    fn file(&self, path: &Path) -> Result<String, String> {
        let shown = path.display();
        let path = self.cwd.join(path);
        let real = path.canonicalize().map_err(|e| format!("the file {shown}: {e}"))?;
        if self.settings.contains(&real) {
            return Err(format!(
                "the file {shown} is this configuration itself; keep the secret in a file of its own"
            ));
        }
        let mut text = String::new();
        let file = std::fs::File::open(&real).map_err(|e| format!("the file {shown}: {e}"))?;
        if !file.metadata().is_ok_and(|m| m.is_file()) {
            return Err(format!("the file {shown} is not a regular file"));
        }
        let read = file.take(BYTES_MAX as u64 + 1).read_to_string(&mut text);
        match read {
            Err(error) => Err(format!("the file {shown}: {error}")),
            Ok(bytes) if bytes > BYTES_MAX => {
                Err(format!("the file {shown} is larger than {BYTES_MAX} bytes"))
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

const FORM: &str = r#"{ env = "NAME" } or { file = "path" }"#;

impl<'de> Visitor<'de> for Reference {
    type Value = Secret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORM)
    }

    fn visit_str<E: de::Error>(self, _: &str) -> Result<Secret, E> {
        Err(E::custom(format_args!(
            "a secret is never written into the configuration, where it would be copied and shown; name its place: {FORM}"
        )))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Secret, A::Error> {
        let mut from = None;
        while let Some(place) = map.next_key::<String>()? {
            let named: String = map.next_value()?;
            let found = match place.as_str() {
                "env" => SecretFrom::Env(named),
                "file" => SecretFrom::File(named.into()),
                _ => return Err(de::Error::custom(format_args!("a secret is named by {FORM}"))),
            };
            if from.replace(found).is_some() {
                return Err(de::Error::custom(format_args!("a secret has one place: {FORM}")));
            }
        }
        let from =
            from.ok_or_else(|| de::Error::custom(format_args!("a secret is named by {FORM}")))?;
        Ok(Secret { from, value: Err("it is not fetched yet".to_owned()) })
    }
}
