//! The mistakes of a file in the making, and mappings whose unknown fields are mistakes.

use std::collections::BTreeMap;

use proto::{lang::Words, workflow::NodeId};
use serde_json::Value;

use crate::source::{
    Text as FileText, Wrong, meant,
    tree::{Field, Kind, Node, Place},
};

/// The values of nodes by id, for mistakes that concern the graph.
pub(super) type Places<'t> = BTreeMap<NodeId, &'t Node>;

/// The mistakes and warnings that were found so far.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) wrong: Vec<Wrong>,
    pub(super) warned: Vec<Wrong>,
}

impl Reading {
    pub(super) fn mistake(&mut self, at: Place, field: &str, why: impl Into<Words>) {
        self.wrong.push(Wrong { at, field: field.to_owned(), why: why.into() });
    }

    pub(super) fn warn(&mut self, at: Place, field: &str, why: impl Into<Words>) {
        self.warned.push(Wrong { at, field: field.to_owned(), why: why.into() });
    }

    /// Reports a value of a wrong type.
    pub(super) fn unfit(&mut self, node: &Node, path: &str, wanted: &FileText<'_>) {
        let shown = match &node.kind {
            Kind::Scalar(Value::Null) => Words::from(FileText::Nothing),
            Kind::Scalar(value) => value.to_string().chars().take(60).collect::<String>().into(),
            Kind::List(_) => FileText::List.into(),
            Kind::Fields(_) => FileText::AMapping.into(),
        };
        let why = Words::new(|language| {
            let (wanted, got) = (wanted.text(language), shown.text(language));
            FileText::Unfit { wanted: &wanted, got: &got }.text(language)
        });
        self.mistake(node.at, path, why);
    }

    /// Returns the text of a scalar, and reports another value.
    pub(super) fn text<'t>(&mut self, node: &'t Node, path: &str) -> Option<&'t str> {
        if let Kind::Scalar(Value::String(text)) = &node.kind {
            return Some(text);
        }
        self.unfit(node, path, &FileText::String);
        None
    }

    /// Returns the number of a scalar within bounds, and reports another value.
    pub(super) fn number(&mut self, node: &Node, path: &str, low: u32, high: u32) -> Option<u32> {
        let Kind::Scalar(Value::Number(number)) = &node.kind else {
            self.unfit(node, path, &FileText::Natural);
            return None;
        };
        let fits = number.as_u64().and_then(|n| u32::try_from(n).ok());
        let fits = fits.filter(|n| (low..=high).contains(n));
        if fits.is_none() {
            self.mistake(node.at, path, super::words::Text::Between { low: &low, high: &high });
        }
        fits
    }

    /// Returns the boolean of a scalar, and reports another value.
    pub(super) fn flag(&mut self, node: &Node, path: &str) -> Option<bool> {
        if let Kind::Scalar(Value::Bool(flag)) = &node.kind {
            return Some(*flag);
        }
        self.unfit(node, path, &FileText::Flag);
        None
    }

    /// Returns the fields of a mapping, and reports another value.
    pub(super) fn fields<'t>(&mut self, node: &'t Node, path: &str) -> Option<Fields<'t>> {
        if !matches!(node.kind, Kind::Fields(_)) {
            self.unfit(node, path, &FileText::Mapping);
            return None;
        }
        Some(Fields { node, path: path.to_owned(), known: Vec::new() })
    }

    /// Returns the items of a list, and reports another value.
    pub(super) fn items<'t>(&mut self, node: &'t Node, path: &str) -> Option<&'t [Node]> {
        if let Kind::List(items) = &node.kind {
            return Some(items);
        }
        self.unfit(node, path, &FileText::List);
        None
    }
}

/// A mapping whose fields are taken by name.
pub(super) struct Fields<'t> {
    pub(super) node: &'t Node,
    pub(super) path: String,
    known: Vec<&'static str>,
}

impl<'t> Fields<'t> {
    /// Returns the path of a field.
    pub(super) fn below(&self, name: &str) -> String {
        below(&self.path, name)
    }

    /// Takes a field that may be absent.
    pub(super) fn get(&mut self, name: &'static str) -> Option<&'t Node> {
        self.known.push(name);
        self.node.field(name).map(|field| &field.value)
    }

    /// Takes a field that must be there.
    pub(super) fn need(&mut self, name: &'static str, reading: &mut Reading) -> Option<&'t Node> {
        let found = self.get(name);
        if found.is_none() {
            reading.mistake(self.node.at, &self.path, FileText::Missing { field: &name });
        }
        found
    }

    /// Takes a text that may be absent.
    pub(super) fn text(&mut self, name: &'static str, reading: &mut Reading) -> Option<&'t str> {
        let node = self.get(name)?;
        reading.text(node, &self.below(name))
    }

    /// Returns all fields.
    pub(super) fn all(&self) -> &'t [Field] {
        match &self.node.kind {
            Kind::Fields(fields) => fields,
            Kind::Scalar(_) | Kind::List(_) => &[],
        }
    }

    /// Reports the fields that were not taken.
    pub(super) fn close(self, reading: &mut Reading) {
        for field in self.all() {
            if !self.known.contains(&field.name.as_str()) {
                reading.mistake(
                    field.at,
                    &self.below(&field.name),
                    no_field(&field.name, &self.known),
                );
            }
        }
    }
}

pub(super) fn below(path: &str, name: &str) -> String {
    match (path, name) {
        ("", name) => name.to_owned(),
        (path, "") => path.to_owned(),
        (path, name) => format!("{path}.{name}"),
    }
}

fn no_field(name: &str, known: &[&'static str]) -> Words {
    match meant(name, known) {
        Some(meant) => FileText::NoFieldNear { meant: &meant }.into(),
        None => FileText::NoFieldOf { known: &known.join(", ") }.into(),
    }
}
