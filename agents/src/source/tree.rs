//! A YAML tree with the place of every field and value.

use std::fmt;

use proto::lang::{Language, Words};
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;

pub(crate) use super::mistake::Place;
use super::{mistake::Wrong, words::Text};

/// Maximum size of an agent file, in bytes.
pub const FILE_BYTES_MAX: usize = 64 * 1024;

/// Maximum number of values of a file, and of values that its aliases repeat.
const VALUES_MAX: usize = 10_000;

/// Maximum depth of a file's values.
const DEPTH_MAX: usize = 64;

/// A value with its place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) at: Place,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Scalar(Value),
    List(Vec<Node>),
    Fields(Vec<Field>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) at: Place,
    pub(crate) value: Node,
}

/// Parses a text whose outermost value is a mapping. An empty text may be the rest of a damaged
/// file, so it does not count as a mapping without fields.
pub(super) fn read(text: &str) -> Result<Node, Wrong> {
    read_up_to(text, FILE_BYTES_MAX)
}

/// Parses a text of at most `max` bytes whose outermost value is a mapping.
pub(crate) fn read_up_to(text: &str, max: usize) -> Result<Node, Wrong> {
    let wrong = |at, why: Words| Wrong { at, field: String::new(), why };
    if text.len() > max {
        let why = Text::TooLarge { bytes: &text.len(), max: &max };
        return Err(wrong(Place::START, why.into()));
    }
    // `no` and `off` are words, not booleans.
    let options = serde_saphyr::options! {
        strict_booleans: true,
        reject_unsupported_tags: true,
        budget: serde_saphyr::budget! { max_nodes: VALUES_MAX, max_depth: DEPTH_MAX, max_documents: 1 },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: VALUES_MAX },
    };
    let read: Result<Option<Node>, _> = serde_saphyr::from_str_with_options(text, options);
    match read {
        Ok(None) => Err(wrong(Place::START, Text::Empty.into())),
        Ok(Some(node)) => match node.kind {
            Kind::Fields(_) => Ok(node),
            Kind::Scalar(Value::Null) => Err(wrong(node.at, Text::Empty.into())),
            Kind::Scalar(_) | Kind::List(_) => Err(wrong(node.at, Text::NoMapping.into())),
        },
        Err(error) => {
            let at = error.location().map_or(Place::START, |at| Place {
                line: at.line().max(1),
                column: at.column().max(1),
            });
            Err(wrong(at, plain(&error)))
        }
    }
}

/// Returns the parser's message on one line, without the place, which is reported separately.
fn plain(error: &serde_saphyr::Error) -> Words {
    let rendered = error.without_snippet().to_string();
    let message = rendered.lines().next().unwrap_or_default();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    let message = message.get(..end).unwrap_or_default();
    // The rest of this message advises programmers about options of the parser.
    match message.strip_prefix("duplicate mapping key: ").and_then(|rest| rest.split(',').next()) {
        Some(field) => Text::Twice { field: &field }.into(),
        None if message == Text::OutOfRange.text(Language::En) => Text::OutOfRange.into(),
        None => message.into(),
    }
}

impl Node {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        match &self.kind {
            Kind::Fields(fields) => fields.iter().find(|field| field.name == name),
            Kind::Scalar(_) | Kind::List(_) => None,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Scalar(value) => value.clone(),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Fields(fields) => Value::Object(
                fields
                    .iter()
                    .map(|field| (field.name.clone(), field.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// Returns the place of the name or the value of the field at a dotted path. For a path that
    /// exists in part, returns the place of that part.
    pub(super) fn place_of(&self, path: &str, whose: Whose) -> Place {
        let mut names = path.split('.').peekable();
        let (mut node, mut at) = (self, self.at);
        while let Some(name) = names.next() {
            let (name, items) = name.split_at(name.find('[').unwrap_or(name.len()));
            let Some(field) = node.field(name) else { return at };
            (node, at) = (&field.value, field.at);
            for item in items.split('[').skip(1) {
                let number = item.trim_end_matches(']').parse::<usize>().ok();
                let Kind::List(items) = &node.kind else { return at };
                let Some(inner) = number.and_then(|n| items.get(n)) else { return at };
                (node, at) = (inner, inner.at);
            }
            if names.peek().is_none() && whose == Whose::Value {
                at = node.at;
            }
        }
        at
    }

    /// Returns whether the dotted path exists in this file.
    pub(super) fn has(&self, path: &str) -> bool {
        let mut node = self;
        path.split('.').all(|name| match node.field(name) {
            Some(field) => {
                node = &field.value;
                true
            }
            None => false,
        })
    }
}

/// The part of a field whose place is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    Name,
    Value,
}

fn place<T>(spanned: &Spanned<T>) -> Place {
    let at = &spanned.referenced;
    Place { line: at.line().max(1), column: at.column().max(1) }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned: Spanned<Kind> = Spanned::deserialize(deserializer)?;
        Ok(Self { at: place(&spanned), kind: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Kind, E> {
        Ok(Kind::Scalar(Value::Bool(v)))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Kind, E> {
        Ok(Kind::Scalar(v.into()))
    }

    fn visit_u64<E>(self, v: u64) -> Result<Kind, E> {
        Ok(Kind::Scalar(v.into()))
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Kind, E> {
        let number =
            Number::from_f64(v).ok_or_else(|| E::custom(Text::OutOfRange.text(Language::En)))?;
        Ok(Kind::Scalar(Value::Number(number)))
    }

    fn visit_str<E>(self, v: &str) -> Result<Kind, E> {
        Ok(Kind::Scalar(v.into()))
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Kind, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = map.next_key::<Spanned<String>>()? {
            let (at, value) = (place(&name), map.next_value()?);
            fields.push(Field { name: name.value, at, value });
        }
        Ok(Kind::Fields(fields))
    }
}
