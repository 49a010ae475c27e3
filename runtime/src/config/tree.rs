//! The merged settings as JSON, with the origin of every leaf.

use std::collections::BTreeMap;

use config::{Value, ValueKind};
use serde_json::{Map, Value as Json};

use super::Origin;

/// The merged settings.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) root: Json,
    /// The origin of every leaf, and of every table and list that is empty, by dotted key.
    pub(super) origins: BTreeMap<String, Origin>,
}

impl Tree {
    pub(super) fn new(root: Value) -> Self {
        let mut tree = Self::default();
        tree.root = tree.take(root, "");
        tree
    }

    fn take(&mut self, value: Value, key: &str) -> Json {
        let origin = value.origin().map_or(Origin::Default, Origin::of_label);
        let json = match value.kind {
            ValueKind::Table(table) => {
                let mut sorted: Vec<_> = table.into_iter().collect();
                sorted.sort_by(|a, b| a.0.cmp(&b.0));
                let fields: Map<_, _> = sorted
                    .into_iter()
                    .map(|(k, v)| {
                        let json = self.take(v, &join(key, &k));
                        (k, json)
                    })
                    .collect();
                if !fields.is_empty() {
                    // The leaves have origins of their own.
                    return Json::Object(fields);
                }
                Json::Object(fields)
            }
            ValueKind::Array(items) => items.into_iter().map(scalar).collect(),
            single @ (ValueKind::Nil
            | ValueKind::Boolean(_)
            | ValueKind::I64(_)
            | ValueKind::I128(_)
            | ValueKind::U64(_)
            | ValueKind::U128(_)
            | ValueKind::Float(_)
            | ValueKind::String(_)) => scalar(Value::new(None, single)),
        };
        self.origins.insert(key.to_owned(), origin);
        json
    }

    /// Returns the value at a dotted key.
    pub(super) fn at(&self, key: &str) -> Option<&Json> {
        key.split('.').try_fold(&self.root, |at, part| at.get(part))
    }

    /// Replaces the value at a dotted key; `None` removes it. Does nothing when the parent does not
    /// exist.
    pub(super) fn put(&mut self, key: &str, value: Option<Json>) {
        let (parent, last) = key.rsplit_once('.').unwrap_or(("", key));
        let mut at = &mut self.root;
        for part in parent.split('.').filter(|part| !part.is_empty()) {
            let Some(next) = at.get_mut(part) else { return };
            at = next;
        }
        let Some(fields) = at.as_object_mut() else { return };
        match value {
            Some(value) => {
                fields.insert(last.to_owned(), value);
            }
            None => {
                fields.remove(last);
            }
        }
    }

    /// Returns the origin of the value at a key: its own, else that of the nearest enclosing value,
    /// else the highest among its parts.
    pub(super) fn origin(&self, key: &str) -> Origin {
        let within = format!("{key}.");
        let inner =
            self.origins.iter().filter(|(k, _)| k.starts_with(&within)).map(|(_, o)| o).max();
        let mut outer = key;
        let own = loop {
            match (self.origins.get(outer), outer.rsplit_once(['.', '['])) {
                (Some(origin), _) => break Some(origin),
                (None, Some((parent, _))) => outer = parent,
                (None, None) => break None,
            }
        };
        own.or(inner).cloned().unwrap_or(Origin::Default)
    }
}

pub(super) fn join(key: &str, part: &str) -> String {
    if key.is_empty() { part.to_owned() } else { format!("{key}.{part}") }
}

/// Converts a value whose parts have no origins of their own.
fn scalar(value: Value) -> Json {
    match value.kind {
        ValueKind::Nil => Json::Null,
        ValueKind::Boolean(b) => b.into(),
        ValueKind::I64(n) => n.into(),
        ValueKind::U64(n) => n.into(),
        ValueKind::I128(n) => n.to_string().into(),
        ValueKind::U128(n) => n.to_string().into(),
        ValueKind::Float(n) => n.into(),
        ValueKind::String(s) => s.into(),
        ValueKind::Array(items) => items.into_iter().map(scalar).collect(),
        ValueKind::Table(table) => {
            let mut sorted: Vec<_> = table.into_iter().map(|(k, v)| (k, scalar(v))).collect();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            Json::Object(sorted.into_iter().collect())
        }
    }
}

/// Converts a TOML value to JSON.
pub(super) fn json(value: toml::Value) -> Json {
    match value {
        toml::Value::String(s) => s.into(),
        toml::Value::Integer(n) => n.into(),
        toml::Value::Float(n) => n.into(),
        toml::Value::Boolean(b) => b.into(),
        toml::Value::Datetime(d) => d.to_string().into(),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(table) => {
            Json::Object(table.into_iter().map(|(k, v)| (k, json(v))).collect())
        }
    }
}
