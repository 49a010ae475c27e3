//! The reader of all sources into checked [`Settings`]. The serde types decide what is valid. The
//! merged tree is deserialized repeatedly; each mistake is recorded and its value reset to the
//! default, until deserialization succeeds. So all mistakes are found in one pass of the program.

use std::collections::BTreeSet;

use config::{Value, ValueKind};
use proto::lang::{Language, Words};
use serde_json::Value as Json;

use super::{
    Check, ConfigErrors, Mistake, Part, Setting, Settings, Sources,
    secret::{self, Places},
    source::{self, Layers},
    tree::{self, Tree},
    words::Text,
};

/// Bound of the mistakes in one report. It also bounds the search.
const MISTAKES_MAX: usize = 100;

/// Reads all sources: the settings, and each of them with where it came from, in the order of the
/// keys.
///
/// # Errors
/// Everything that is wrong with them.
pub fn load<S: Settings>(sources: &Sources) -> Result<(S, Vec<Setting>), ConfigErrors> {
    let (parts, defaults) = (S::parts(), S::defaults_text());
    let layers = source::read(sources, &defaults);
    let defaults = toml::from_str::<toml::Table>(&defaults).unwrap_or_default();
    let mut reading = Reading {
        tree: merge(&layers),
        defaults: tree::json(toml::Value::Table(defaults)),
        mistakes: Vec::new(),
        tried: BTreeSet::new(),
        layers,
    };
    reading.mistakes = std::mem::take(&mut reading.layers.mistakes);
    let secrets: Vec<&str> = parts.iter().flat_map(|part| part.secrets).copied().collect();
    reading.nearer_secrets_win(&secrets);
    parts.iter().for_each(|part| reading.name_entries(part));
    let config = reading.fit::<S>();
    let Reading { tree, layers, mut mistakes, .. } = reading;
    let Some(mut config) = config else { return Err(ConfigErrors(mistakes)) };
    let env: Vec<_> =
        sources.env.iter().filter_map(|(n, v)| Some((n.clone(), v.clone()?))).collect();
    let places = Places { env: &env, cwd: &sources.cwd, settings: &layers.files };
    debug_assert_eq!(secrets.len(), config.secrets().len(), "each secret has a key");
    config.secrets().into_iter().flatten().for_each(|secret| secret.fetch(&places));
    config.secrets_of_entries().into_iter().for_each(|secret| secret.fetch(&places));
    let mut check = Check::default();
    config.check(&mut check);
    for (key, why) in check.into_found() {
        // A value that was reset to its default, or removed, is not reported twice.
        if !mistakes.iter().any(|m| m.key.starts_with(&key)) {
            mistakes.push(Mistake { origin: tree.origin(&key), key, why });
        }
    }
    if !mistakes.is_empty() {
        return Err(ConfigErrors(mistakes));
    }
    Ok((config, settings(&tree, &parts)))
}

fn merge(layers: &Layers) -> Tree {
    let mut builder = config::Config::builder();
    for layer in &layers.layers {
        builder = builder.add_source(layer.clone());
    }
    let merged = builder.build().and_then(|c| config::Source::collect(&c)).unwrap_or_default();
    Tree::new(Value::new(None, ValueKind::Table(merged)))
}

struct Reading {
    tree: Tree,
    defaults: Json,
    layers: Layers,
    mistakes: Vec<Mistake>,
    /// The interpretations of textual values that were tried: the key and the index of the
    /// interpretation.
    tried: BTreeSet<(String, usize)>,
}

impl Reading {
    fn mistake(&mut self, key: &str, why: impl Into<Words>) {
        let origin = self.tree.origin(key);
        self.mistakes.push(Mistake { key: key.to_owned(), origin, why: why.into() });
    }

    /// Removes the reference of the lower source when `env` and `file` of one secret come from
    /// different sources. A secret has one place, so the nearer source wins as a whole.
    fn nearer_secrets_win(&mut self, secrets: &[&str]) {
        for secret in secrets {
            let (env, file) = (format!("{secret}.env"), format!("{secret}.file"));
            let origins = (self.tree.origins.get(&env), self.tree.origins.get(&file));
            let (Some(e), Some(f)) = origins else { continue };
            match e.cmp(f) {
                std::cmp::Ordering::Less => self.tree.put(&env, None),
                std::cmp::Ordering::Greater => self.tree.put(&file, None),
                std::cmp::Ordering::Equal => {}
            }
        }
    }

    /// Gives the entries of a table their keys as their names.
    fn name_entries(&mut self, part: &Part) {
        let (table, Some(entries)) = (part.name, part.entries) else { return };
        let Some(named) = self.tree.at(table).and_then(Json::as_object) else { return };
        for name in named.keys().cloned().collect::<Vec<_>>() {
            let key = format!("{table}.{name}");
            if let Err(why) = (entries.name)(&name) {
                self.mistake(&key, why);
                if let Some(named) = self.tree.root[table].as_object_mut() {
                    named.remove(&name);
                }
                continue;
            }
            let Some(entry) = self.tree.root[table][&name].as_object_mut() else { continue };
            if entry.insert("name".to_owned(), name.clone().into()).is_some() {
                let one = (entries.one)();
                let why = Words::new(|language| {
                    Text::NamedByKey { one: &one.text(language), name: &name }.text(language)
                });
                self.mistake(&format!("{key}.name"), why);
            }
        }
    }

    /// Deserializes the tree; `None` when the tree cannot be repaired.
    fn fit<S: Settings>(&mut self) -> Option<S> {
        for _ in 0..MISTAKES_MAX {
            // The clone is cheap: the tree is small, and this happens once per process.
            match serde_path_to_error::deserialize(self.tree.root.clone()) {
                Ok(config) => return Some(config),
                Err(error) => {
                    let path = error.path().to_string();
                    let path = if path == "." { String::new() } else { path };
                    if !self.mend(&path, &error.into_inner().to_string()) {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// Repairs one mistake in the tree and records it. Returns `false` when no repair is possible.
    fn mend(&mut self, path: &str, why: &str) -> bool {
        if let Some(unknown) = quoted(why, "unknown field ") {
            let full = if path.rsplit('.').next() == Some(unknown) {
                path.to_owned()
            } else {
                tree::join(path, unknown)
            };
            let known: Vec<&str> = known_fields(why);
            self.mistake(&full, unknown_key(unknown, &known));
            return self.take_away(&full);
        }
        if self.read_otherwise(path) {
            return true;
        }
        if let Some(missing) = quoted(why, "missing field ") {
            let full = tree::join(path, missing);
            if !self.mistakes.iter().any(|m| m.key.starts_with(&full)) {
                self.mistake(&full, Text::IsMissing);
            }
            return self.put_back(path);
        }
        self.mistake(path, told(why));
        self.put_back(path)
    }

    /// Replaces a value that was given as text by its next interpretation. Returns `false` when no
    /// interpretation is left.
    fn read_otherwise(&mut self, path: &str) -> bool {
        let given = self.layers.texts.iter().filter(|(key, _)| {
            path == key.as_str()
                || path.strip_prefix(key.as_str()).is_some_and(|p| p.starts_with(['.', '[']))
        });
        let Some((key, text)) = given.max_by_key(|(key, _)| key.len()) else { return false };
        let (key, readings) = (key.clone(), source::readings(text));
        for (n, reading) in readings.iter().enumerate().skip(1) {
            if self.tried.insert((key.clone(), n)) {
                self.tree.put(&key, Some(tree::json(reading.clone())));
                return true;
            }
        }
        false
    }

    /// Resets the value at a path to its default, or removes it when it has no default.
    fn put_back(&mut self, path: &str) -> bool {
        if let Some((list, index)) = path.split_once('[') {
            return self.drop_item(list, index);
        }
        if path.is_empty() {
            return false;
        }
        let default = path.split('.').try_fold(&self.defaults, |at, part| at.get(part)).cloned();
        match (self.tree.at(path), default) {
            (None, _) => self.put_back(path.rsplit_once('.').map_or("", |(parent, _)| parent)),
            (Some(now), Some(default)) if *now == default => false,
            (Some(_), default) => {
                self.tree.put(path, default);
                true
            }
        }
    }

    /// Removes the invalid item of a list.
    fn drop_item(&mut self, list: &str, index: &str) -> bool {
        let index = index.split(']').next().and_then(|index| index.parse::<usize>().ok());
        let (Some(Json::Array(items)), Some(index)) = (self.tree.at(list), index) else {
            return self.put_back(list);
        };
        let mut items = items.clone();
        if index >= items.len() {
            return self.put_back(list);
        }
        items.remove(index);
        self.tree.put(list, Some(items.into()));
        true
    }

    fn take_away(&mut self, path: &str) -> bool {
        let there = self.tree.at(path).is_some();
        if there {
            self.tree.put(path, None)
        } else {
            return self.put_back(path);
        }
        there
    }
}

/// Returns the reason in a message of serde. The types of the settings word their own refusals in
/// English, as serde carries nothing else.
fn told(why: &str) -> Words {
    let own = secret::REFUSALS.into_iter().chain([Text::Listen, Text::PersonName]);
    let own = own.into_iter().map(Words::from).find(|own| own.text(Language::En) == why);
    own.unwrap_or_else(|| agents::source::explained(why))
}

/// Returns the first word in backquotes after `before`, as serde's messages have it.
fn quoted<'a>(message: &'a str, before: &str) -> Option<&'a str> {
    message.strip_prefix(before)?.strip_prefix('`')?.split('`').next()
}

fn known_fields(message: &str) -> Vec<&str> {
    message
        .split("expected")
        .nth(1)
        .map_or(Vec::new(), |tail| tail.split('`').skip(1).step_by(2).collect())
}

fn unknown_key(key: &str, known: &[&str]) -> Words {
    let near = known.iter().map(|k| (distance(key, k), k)).min();
    match near {
        Some((away, near)) if away <= near.len().max(key.len()).div_ceil(3) => {
            Text::NoKeyNear { near }.into()
        }
        Some(_) => Text::NoKeyOf { known: &known.join(", ") }.into(),
        None => Text::NoKey.into(),
    }
}

/// Returns the edit distance of two words; a swap of neighbouring letters counts as one edit.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, j) in (0..=a.len()).flat_map(|i| (0..=b.len()).map(move |j| (i, j))) {
        rows[i][j] = if i == 0 || j == 0 {
            i + j
        } else {
            let swap = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = swap.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            best
        };
    }
    rows[a.len()][b.len()]
}

fn settings(tree: &Tree, parts: &[Part]) -> Vec<Setting> {
    let masked: Vec<&str> = parts.iter().flat_map(|part| part.masked).copied().collect();
    tree.origins
        .iter()
        .filter_map(|(key, source)| {
            let secret = key.rsplit('.').next().is_some_and(|last| masked.contains(&last));
            let value = tree.at(key)?;
            let value = if secret { "\"********\"".to_owned() } else { value.to_string() };
            Some(Setting { key: key.clone(), value, source: source.clone() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{super::Origin, *};

    #[test]
    fn a_near_word_is_suggested_and_a_far_one_is_not() {
        assert_eq!(distance("shrads", "shards"), 1);
        let known = ["shards", "url"];
        let unknown = |key| unknown_key(key, &known).text(Language::En).to_owned();
        assert!(unknown("shard").contains("did you mean \"shards\""));
        assert!(unknown("colour").contains("there are shards, url"));
        assert_eq!(Origin::of_label(&Origin::Env("A".into()).label()), Origin::Env("A".into()));
    }
}
