//! The readers of the single sources, which attach its origin to every value. The `config` crate
//! merges the values. Its own readers are not used, because their errors name neither the variable
//! nor the line.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use config::{Map, Source, Value, ValueKind};
use proto::lang::Words;

use super::{FILE, FILE_VARIABLE, Mistake, Origin, PREFIX, Sources, words::Text};

/// Largest file of settings, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The values of one source.
#[derive(Debug, Clone, Default)]
pub(super) struct Layer(Vec<(String, Value)>);

/// The values of all sources, lowest first.
#[derive(Debug, Default)]
pub(super) struct Layers {
    pub(super) layers: Vec<Layer>,
    /// Values that were given as text, by key. Their interpretation depends on the setting's type.
    pub(super) texts: BTreeMap<String, String>,
    /// The canonical paths of the files that were read.
    pub(super) files: Vec<PathBuf>,
    pub(super) mistakes: Vec<Mistake>,
}

impl Source for Layer {
    fn clone_into_box(&self) -> Box<dyn Source + Send + Sync> {
        Box::new(self.clone())
    }

    fn collect(&self) -> Result<Map<String, Value>, config::ConfigError> {
        Ok(self.0.iter().cloned().collect())
    }
}

pub(super) fn read(sources: &Sources, defaults: &str) -> Layers {
    let mut layers = Layers::default();
    layers.text(defaults, &Origin::Default);
    layers.file(sources);
    layers.env(sources);
    for flag in &sources.flags {
        let origin = Origin::Flag(flag.name.clone());
        layers.given(&flag.key, &flag.value, &origin);
    }
    layers
}

impl Layers {
    fn mistake(&mut self, key: &str, origin: &Origin, why: impl Into<Words>) {
        let (key, origin, why) = (key.to_owned(), origin.clone(), why.into());
        self.mistakes.push(Mistake { key, origin, why });
    }

    fn text(&mut self, text: &str, origin: &Origin) {
        match toml::from_str::<toml::Table>(text) {
            Ok(table) => {
                let label = origin.label();
                let values = table.into_iter().map(|(k, v)| (k, value(v, &label)));
                self.layers.push(Layer(values.collect()));
            }
            Err(error) => {
                // The library's own message quotes the line, which may hold a secret.
                let before = error.span().map_or("", |span| text.get(..span.start).unwrap_or(text));
                let line = before.matches('\n').count() + 1;
                self.mistake("", origin, Text::Line { line: &line, why: &error.message() });
            }
        }
    }

    fn file(&mut self, sources: &Sources) {
        let variable = sources.env.iter().find(|(name, _)| name == FILE_VARIABLE);
        let named = match (&sources.file, variable) {
            (Some(path), _) => Some(path.clone()),
            (None, Some((_, Some(path)))) if !path.is_empty() => Some(path.into()),
            (None, Some((name, None))) => {
                return self.mistake("", &Origin::Env(name.clone()), Text::NotUnicode);
            }
            (None, _) => None,
        };
        let shown = named.clone().unwrap_or_else(|| FILE.into());
        let path = sources.cwd.join(&shown);
        let origin = Origin::File(shown);
        match contents(&path) {
            Ok(None) => {
                let why = Words::new(|language| {
                    let why = Text::Larger { max: &FILE_BYTES_MAX }.text(language);
                    Text::Unreadable { why: &why }.text(language)
                });
                self.mistake("", &origin, why);
            }
            Ok(Some(text)) if text.trim().is_empty() => {
                self.mistake("", &origin, Text::EmptyFile);
            }
            Ok(Some(text)) => {
                self.files.extend(path.canonicalize());
                self.text(&text, &origin);
            }
            Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {}
            Err(why) => self.mistake("", &origin, Text::Unreadable { why: &why }),
        }
    }

    fn env(&mut self, sources: &Sources) {
        let mut settings: Vec<_> =
            sources.env.iter().filter(|(name, _)| name.starts_with(PREFIX)).collect();
        settings.sort();
        for (name, text) in settings {
            let origin = Origin::Env(name.clone());
            let key = name[PREFIX.len()..].to_ascii_lowercase().replace("__", ".");
            match text {
                Some(text) => self.given(&key, text, &origin),
                None => self.mistake(&key, &origin, Text::NotUnicode),
            }
        }
    }

    /// Adds a value that was given as text. The text is parsed as TOML first, so that it can hold
    /// numbers, lists and tables; other interpretations are tried when the setting's type is known.
    fn given(&mut self, key: &str, text: &str, origin: &Origin) {
        let plain = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        };
        if !key.split('.').all(plain) {
            return self.mistake(key, origin, Text::NotAKey);
        }
        let first = readings(text).swap_remove(0);
        self.texts.insert(key.to_owned(), text.to_owned());
        // One layer for each value: one layer would not keep the order of nested keys.
        self.layers.push(Layer(vec![(key.to_owned(), value(first, &origin.label()))]));
    }
}

/// Returns the interpretations of a text, the likeliest first.
pub(super) fn readings(text: &str) -> Vec<toml::Value> {
    let mut readings = Vec::with_capacity(3);
    let parsed = toml::from_str::<toml::Table>(&format!("x = {text}"));
    if let Ok(mut table) = parsed
        && table.len() == 1
        && let Some(value) = table.remove("x")
    {
        readings.push(value);
    }
    let string = toml::Value::String(text.to_owned());
    if !readings.contains(&string) {
        readings.push(string);
    }
    let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
    readings
        .push(items.map(|item| toml::Value::String(item.to_owned())).collect::<Vec<_>>().into());
    readings
}

/// Returns the text of a file, or `None` if the file is too large.
fn contents(path: &Path) -> std::io::Result<Option<String>> {
    let about = std::fs::metadata(path)?;
    if about.len() > FILE_BYTES_MAX {
        return Ok(None);
    }
    std::fs::read_to_string(path).map(Some)
}

fn value(from: toml::Value, label: &str) -> Value {
    let kind = match from {
        toml::Value::String(s) => ValueKind::String(s),
        toml::Value::Integer(n) => ValueKind::I64(n),
        toml::Value::Float(n) => ValueKind::Float(n),
        toml::Value::Boolean(b) => ValueKind::Boolean(b),
        toml::Value::Datetime(d) => ValueKind::String(d.to_string()),
        toml::Value::Array(items) => {
            ValueKind::Array(items.into_iter().map(|item| value(item, label)).collect())
        }
        toml::Value::Table(table) => {
            ValueKind::Table(table.into_iter().map(|(k, v)| (k, value(v, label))).collect())
        }
    };
    Value::new(Some(&label.to_owned()), kind)
}
