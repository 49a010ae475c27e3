//! The stored form of a record: a JSON object that any language can read.
//!
//! ```json
//! {"v":1,"kind":"called","id":"0193…","by":"worker-1","body":{"work":"g0.s1","attempt":1,"result":{"success":true}}}
//! ```
//!
//! - `v` is the version of the format.
//! - `id` is unique for every write. After a write of unknown outcome, the writer looks for this id
//!   to learn whether the record was stored.
//! - `by` names the writer.
//! - `body` has the content. A body above [`crate::limits::INLINE_BYTES_MAX`] lives in the object
//!   store; the record then has `"body_ref":{"sha256":…,"bytes":…}` instead.
//!
//! Unknown fields are kept.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, DeserializeOwned, MapAccess, Visitor},
    ser::SerializeMap,
};
use serde_json::value::RawValue;

use crate::{
    decision::{Decision, DecisionKind, Done, DoneUnit},
    fact::Fact,
    id::{Unit, WorkerId},
    lang::Language,
};

messages::texts!(record);

/// The version of the record format this code writes, and the newest it understands.
pub const VERSION: u16 = 1;

/// A record whose envelope has been parsed and whose body has not. Serialising a record gives back
/// the bytes that were parsed, unknown fields included.
#[derive(Debug, Clone)]
pub struct Record {
    /// Version of the record format.
    pub v: u16,
    /// Kind of the fact or decision, as a word: `called`, `plan`.
    pub kind: String,
    /// Id of this write, unique among all writes.
    pub id: String,
    /// Worker id of the writer; empty when the record names no writer.
    pub by: String,
    /// Content of the record, or a reference to it.
    pub body: Body,
    extra: Vec<(String, Box<RawValue>)>,
}

/// The body of a record, or a reference to it.
#[derive(Debug, Clone)]
pub enum Body {
    /// The JSON of the body.
    Inline(Box<RawValue>),
    /// A reference to a body in the object store.
    Stored(BodyRef),
}

/// A reference to a body in the object store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BodyRef {
    /// SHA-256 of the body in lower-case hex, which is also its name in the store.
    pub sha256: String,
    /// Size of the body in bytes.
    pub bytes: u64,
}

/// A record whose body has been parsed.
#[derive(Debug, Clone, PartialEq)]
pub enum Known {
    /// An event outside the supervisor.
    Fact(Box<Fact>),
    /// A choice of the supervisor.
    Decision(Box<Decision>),
}

impl From<Fact> for Known {
    fn from(fact: Fact) -> Self {
        Self::Fact(Box::new(fact))
    }
}

impl From<Decision> for Known {
    fn from(decision: Decision) -> Self {
        Self::Decision(Box::new(decision))
    }
}

/// The reason why a record cannot be read. Its job is parked, unless a worker wrote the record and no
/// newer Callboard would; no other job is affected.
#[derive(Debug, Clone, PartialEq, Eq, derive_more::Display)]
#[display("{}", self.text(Language::En))]
pub enum Unreadable {
    /// The text is not a JSON object of the record's form.
    Malformed(String),
    /// The version of the format is newer than [`VERSION`], or 0.
    Version(u16),
    /// The kind is unknown to this version of Callboard.
    Kind {
        /// The unknown kind, shortened.
        kind: String,
        /// The unit of work and the attempt that the body names, if it names both.
        unit: Option<Unit>,
    },
    /// The body does not fit the kind.
    Body {
        /// Kind of the record.
        kind: String,
        /// Path of the field that does not fit.
        path: String,
        /// Error of the parser, with the path. It may quote text that users wrote.
        why: String,
        /// The unit of work and the attempt that the body names, if it names both.
        unit: Option<Unit>,
    },
    /// The body is in the object store and has not been fetched.
    Missing(String),
    /// The writer had no permission to write there: a client made the server write the message, or
    /// the subject is malformed. The body is not read. The record still takes a position, which the
    /// next compare-and-set must include.
    Forged,
}

impl std::error::Error for Unreadable {}

impl Unreadable {
    /// Returns the reason as a sentence without a full stop. It may quote text that users wrote.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Malformed(why) => Text::Malformed { why },
            Self::Version(version) => Text::Version { version, newest: &VERSION },
            Self::Kind { kind, .. } => Text::Kind { kind },
            Self::Body { kind, why, .. } => Text::Body { kind, why },
            Self::Missing(body) => Text::Missing { body },
            Self::Forged => Text::Forged,
        };
        text.text(language)
    }

    /// Returns the error and its location without any of the record's content, for logs. The
    /// error's own `Display` may quote values that users wrote.
    #[must_use]
    pub fn place(&self) -> String {
        match self {
            Self::Malformed(_) => "not a record".to_owned(),
            Self::Version(version) => {
                format!("version {version} of the record format, which this Callboard cannot read")
            }
            Self::Kind { .. } => "an unknown kind".to_owned(),
            Self::Body { kind, path, why: _, unit: _ } => {
                format!("the body of {kind:?} does not fit at {path}")
            }
            Self::Missing(_) => "its body is missing from the object store".to_owned(),
            Self::Forged => "the writer had no permission to write on this subject".to_owned(),
        }
    }
}

/// Returns whether a kind of record is that of a worker's result.
#[must_use]
pub fn is_result(kind: &str) -> bool {
    matches!(kind, "planned" | "turned" | "called")
}

/// Returns `kind` when it is a known kind of fact or decision, else `other`. Metrics use this
/// label, because every writer of facts can invent kinds.
#[must_use]
pub fn kind_label(kind: &str) -> &'static str {
    let fact = Fact::KINDS.iter().find(|known| **known == kind).copied();
    fact.or_else(|| kind.parse().ok().map(DecisionKind::as_str)).unwrap_or("other")
}

impl Record {
    /// Returns the fact, or `None` when the record is a decision or cannot be read.
    #[must_use]
    pub fn fact(&self) -> Option<Fact> {
        if let Known::Fact(fact) = self.known().ok()? { Some(*fact) } else { None }
    }

    /// Returns the fact, or the results that a `done` stores. The list is empty for any other
    /// decision, and when the record cannot be read.
    #[must_use]
    pub fn results(&self) -> Vec<Fact> {
        match self.known() {
            Ok(Known::Fact(fact)) => vec![*fact],
            Ok(Known::Decision(decision)) => {
                let done = decision.into_done();
                done.iter().flat_map(Done::units).map(DoneUnit::result).collect()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Returns the decision, or `None` when the record is a fact or cannot be read.
    #[must_use]
    pub fn decision(&self) -> Option<Decision> {
        if let Known::Decision(decision) = self.known().ok()? { Some(*decision) } else { None }
    }

    /// Returns whether the kind is that of a worker's result. The body is not parsed.
    #[must_use]
    pub fn is_result(&self) -> bool {
        is_result(&self.kind)
    }

    /// Builds the record of a fact.
    ///
    /// # Errors
    /// Fails when a value has no JSON form (a number that is not finite).
    pub fn of_fact(fact: &Fact, id: impl Into<String>, by: &WorkerId) -> serde_json::Result<Self> {
        let body = match fact {
            Fact::Submitted(b) => raw(b),
            Fact::Signaled(b) => raw(b),
            Fact::Planned(b) => raw(b),
            Fact::Turned(b) => raw(b),
            Fact::Started(b) => raw(b),
            Fact::Called(b) => raw(b),
            Fact::Answered(b) => raw(b),
            Fact::Fired(b) => raw(b),
            Fact::Child(b) => raw(b),
        }?;
        Ok(Self::new(fact.kind(), id, by, body))
    }

    /// Builds the record of a decision.
    ///
    /// # Errors
    /// Fails when a value has no JSON form (a number that is not finite).
    pub fn of_decision(
        decision: &Decision,
        id: impl Into<String>,
        by: &WorkerId,
    ) -> serde_json::Result<Self> {
        let body = match decision {
            Decision::Plan(b) => raw(b),
            Decision::Turn(b) => raw(b),
            Decision::Call(b) => raw(b),
            Decision::Ask(b) => raw(b),
            Decision::Wait(b) => raw(b),
            Decision::Spawn(b) => raw(b),
            Decision::Note(b) => raw(b),
            Decision::Done(b) => raw(b),
            Decision::Finish(b) => raw(b),
        }?;
        Ok(Self::new(decision.kind().as_str(), id, by, body))
    }

    fn new(kind: &str, id: impl Into<String>, by: &WorkerId, body: Box<RawValue>) -> Self {
        Self {
            v: VERSION,
            kind: kind.to_owned(),
            id: id.into(),
            by: by.to_string(),
            body: Body::Inline(body),
            extra: Vec::new(),
        }
    }

    /// Parses the envelope of a record. The body stays raw.
    ///
    /// # Errors
    /// Fails when the bytes are not a JSON object of the record's form.
    pub fn from_slice(bytes: &[u8]) -> Result<Self, Unreadable> {
        serde_json::from_slice(bytes).map_err(|e| Unreadable::Malformed(e.to_string()))
    }

    /// Serialises the record.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a record holds strings, numbers and JSON that was checked")
    }

    /// Parses the body.
    ///
    /// # Errors
    /// Fails when the version or the kind is unknown, when the body does not fit the kind, or when
    /// the body is in the object store.
    pub fn known(&self) -> Result<Known, Unreadable> {
        if self.v == 0 || self.v > VERSION {
            return Err(Unreadable::Version(self.v));
        }
        let body = match &self.body {
            Body::Inline(body) => Reader { kind: &self.kind, body },
            Body::Stored(body) => return Err(Unreadable::Missing(body.sha256.clone())),
        };
        let fact = |fact| Ok(Known::Fact(Box::new(fact)));
        match self.kind.as_str() {
            "submitted" => fact(Fact::Submitted(body.read()?)),
            "signaled" => fact(Fact::Signaled(body.read()?)),
            "planned" => fact(Fact::Planned(body.read()?)),
            "turned" => fact(Fact::Turned(body.read()?)),
            "started" => fact(Fact::Started(body.read()?)),
            "called" => fact(Fact::Called(body.read()?)),
            "answered" => fact(Fact::Answered(body.read()?)),
            "fired" => fact(Fact::Fired(body.read()?)),
            "child" => fact(Fact::Child(body.read()?)),
            _ => Ok(Known::Decision(Box::new(body.decision()?))),
        }
    }
}

struct Reader<'a> {
    kind: &'a str,
    body: &'a RawValue,
}

impl Reader<'_> {
    fn read<T: DeserializeOwned>(&self) -> Result<T, Unreadable> {
        // Path tracking costs a third of the parsing time, so only the error path pays for it.
        serde_json::from_str(self.body.get()).or_else(|_| self.explain())
    }

    /// Parses the body again with path tracking, to name the field that does not fit.
    fn explain<T: DeserializeOwned>(&self) -> Result<T, Unreadable> {
        let mut json = serde_json::Deserializer::from_str(self.body.get());
        serde_path_to_error::deserialize(&mut json).map_err(|e| Unreadable::Body {
            kind: self.kind.to_owned(),
            path: e.path().to_string(),
            why: e.to_string(),
            unit: self.unit(),
        })
    }

    fn unit(&self) -> Option<Unit> {
        serde_json::from_str(self.body.get()).ok()
    }

    fn unknown(&self) -> Unreadable {
        Unreadable::Kind { kind: self.kind.chars().take(80).collect(), unit: self.unit() }
    }

    fn decision(&self) -> Result<Decision, Unreadable> {
        Ok(match self.kind.parse().map_err(|_| self.unknown())? {
            DecisionKind::Plan => Decision::Plan(self.read()?),
            DecisionKind::Turn => Decision::Turn(self.read()?),
            DecisionKind::Call => Decision::Call(self.read()?),
            DecisionKind::Ask => Decision::Ask(self.read()?),
            DecisionKind::Wait => Decision::Wait(self.read()?),
            DecisionKind::Spawn => Decision::Spawn(self.read()?),
            DecisionKind::Note => Decision::Note(self.read()?),
            DecisionKind::Done => Decision::Done(Box::new(self.read()?)),
            DecisionKind::Finish => Decision::Finish(self.read()?),
        })
    }
}

fn raw(body: &impl Serialize) -> serde_json::Result<Box<RawValue>> {
    serde_json::value::to_raw_value(body)
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(5 + self.extra.len()))?;
        map.serialize_entry("v", &self.v)?;
        map.serialize_entry("kind", &self.kind)?;
        map.serialize_entry("id", &self.id)?;
        map.serialize_entry("by", &self.by)?;
        match &self.body {
            Body::Inline(body) => map.serialize_entry("body", body)?,
            Body::Stored(body) => map.serialize_entry("body_ref", body)?,
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RecordVisitor)
    }
}

/// A visitor that keeps unknown fields. It is written by hand, because serde cannot flatten unknown
/// fields beside a raw value.
struct RecordVisitor;

impl<'de> Visitor<'de> for RecordVisitor {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record: an object with v, kind, id, by and body")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
        let (mut v, mut kind, mut id, mut by, mut body) = (None, None, None, None, None);
        let mut extra: Vec<(String, Box<RawValue>)> = Vec::new();
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "v" => once(&mut v, "v", map.next_value()?)?,
                "kind" => once(&mut kind, "kind", map.next_value()?)?,
                "id" => once(&mut id, "id", map.next_value()?)?,
                "by" => once(&mut by, "by", map.next_value()?)?,
                "body" => once(&mut body, "body", Body::Inline(map.next_value()?))?,
                "body_ref" => once(&mut body, "body_ref", Body::Stored(map.next_value()?))?,
                _ => extra.push((name, map.next_value()?)),
            }
        }
        Ok(Record {
            v: v.ok_or_else(|| de::Error::missing_field("v"))?,
            kind: kind.ok_or_else(|| de::Error::missing_field("kind"))?,
            id: id.ok_or_else(|| de::Error::missing_field("id"))?,
            by: by.unwrap_or_default(),
            body: body.ok_or_else(|| de::Error::missing_field("body"))?,
            extra,
        })
    }
}

fn once<T, E: de::Error>(slot: &mut Option<T>, name: &'static str, value: T) -> Result<(), E> {
    if slot.replace(value).is_some() { Err(E::duplicate_field(name)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Attempt, WorkId};

    #[test]
    fn unknown_fields_survive_a_round_trip() {
        let text = r#"{"v":1,"kind":"fired","id":"1","by":"w","body":{"timer":"t","new":[1,{"deep":1.50}]},"later":{"x":null}}"#;
        let record = Record::from_slice(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(record.to_vec()).unwrap(), text);
        assert!(record.known().is_ok());
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let check =
            |text: &str| Record::from_slice(text.as_bytes()).and_then(|r| r.known()).unwrap_err();
        assert_eq!(
            check(r#"{"v":2,"kind":"fired","id":"1","by":"w","body":{}}"#),
            Unreadable::Version(2)
        );
        let danced = |body: &str| {
            check(&format!(r#"{{"v":1,"kind":"danced","id":"1","by":"w","body":{body}}}"#))
        };
        let unknown = |unit| Unreadable::Kind { kind: "danced".into(), unit };
        assert_eq!(danced("{}"), unknown(None));
        let unit = Unit { work: WorkId::new("g0.p1").unwrap(), attempt: Attempt(2) };
        assert_eq!(danced(r#"{"work":"g0.p1","attempt":2}"#), unknown(Some(unit)));
        let Unreadable::Body { why, .. } = check(
            r#"{"v":1,"kind":"called","id":"1","by":"w","body":{"work":"g0","attempt":1,"result":{"success":"yes"}}}"#,
        ) else {
            panic!("expected a body error")
        };
        assert!(why.starts_with("result.success:"), "{why}");
        assert!(matches!(check(r#"{"v":1,"v":1}"#), Unreadable::Malformed(_)));
        assert!(matches!(check("nonsense"), Unreadable::Malformed(_)));
    }

    #[test]
    fn the_place_of_what_cannot_be_read_quotes_nothing_of_it() {
        let place = |text: &str| {
            Record::from_slice(text.as_bytes()).and_then(|r| r.known()).unwrap_err().place()
        };
        let body = r#"{"v":1,"kind":"called","id":"1","by":"w","body":{"work":"g0","attempt":1,"result":{"success":"canary"}}}"#;
        assert_eq!(place(body), "the body of \"called\" does not fit at result.success");
        for text in [
            r#"{"v":1,"kind":"canary","id":"1","by":"w","body":{}}"#,
            r#"{"v":"canary","kind":"fired","id":"1","by":"w","body":{}}"#,
            r#"{"v":1,"kind":"fired","id":"1","by":"w","body_ref":{"sha256":"canary","bytes":1}}"#,
            r#"{"v":1,"kind":"fired","id":"1","by":"w","body":"canary"}"#,
        ] {
            assert!(!place(text).contains("canary"), "{text}: {}", place(text));
        }
    }

    #[test]
    fn kinds_that_nobody_knows_are_counted_as_one() {
        let decisions = DecisionKind::ALL.iter().map(|kind| kind.as_str());
        for kind in Fact::KINDS.iter().copied().chain(decisions) {
            assert_eq!(kind_label(kind), kind);
        }
        assert_eq!(kind_label("made-up-by-somebody"), "other");
    }

    #[test]
    fn a_record_truncated_anywhere_is_refused_and_never_panics() {
        let text = br#"{"v":1,"kind":"fired","id":"1","by":"w","body":{"timer":"t"}}"#;
        for n in 0..text.len() {
            assert!(Record::from_slice(&text[..n]).is_err(), "first {n} bytes");
        }
    }
}
