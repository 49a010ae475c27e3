//! JSON Schemas of the JSON that other programs write and read: agents, events, records, and the
//! requests and replies of the front door. The schemas come from the same types as the JSON.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    agent::Agent,
    decision,
    door::Verb,
    event::Event,
    fact,
    family::ChildSaid,
    record::{BodyRef, VERSION},
};

/// Draft of JSON Schema in which all schemas are written.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Place of the types within a schema.
const TYPES: &str = "$defs";

/// The name of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    /// An agent file.
    Agent,
    /// An event of a job.
    Event,
    /// A record of any kind.
    Record,
    /// A record of one kind: the kind of a fact or a decision. Any other kind has no record.
    RecordOf(&'static str),
    /// A request of any verb.
    Request,
    /// A request of one verb.
    RequestOf(Verb),
    /// A reply of any verb.
    Reply,
    /// A reply of one verb.
    ReplyOf(Verb),
}

/// The schemas that hold all others: an agent, and any event, record, request and reply.
pub const WHOLE: [Name; 5] = [Name::Agent, Name::Event, Name::Record, Name::Request, Name::Reply];

impl Name {
    /// Returns all names, in the order of a list for users.
    pub fn all() -> impl Iterator<Item = Self> {
        let verbs = || Verb::ALL.into_iter();
        [Self::Agent, Self::Event, Self::Record]
            .into_iter()
            .chain(RECORDS.into_iter().map(|(kind, _)| Self::RecordOf(kind)))
            .chain([Self::Request])
            .chain(verbs().map(Self::RequestOf))
            .chain([Self::Reply])
            .chain(verbs().map(Self::ReplyOf))
    }

    /// Parses a name; `None` if no schema has it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::all().find(|name| name.to_string() == text)
    }

    /// Returns the schema as a document of its own.
    #[must_use]
    pub fn document(self) -> Value {
        match self {
            Self::Agent => agent(),
            Self::Event => reading(self, |types| types.subschema_for::<Event>().into()),
            Self::Record => reading(self, |types| {
                let kinds = RECORDS.map(|kind| record(types, kind));
                json!({ "oneOf": kinds.to_vec() })
            }),
            Self::RecordOf(kind) => reading(self, |types| {
                let known = RECORDS.into_iter().find(|(name, _)| *name == kind);
                known.map_or(json!({ "not": {} }), |known| record(types, known))
            }),
            Self::Request => reading(self, |types| any(types, Verb::request_schema)),
            Self::RequestOf(verb) => reading(self, |types| verb.request_schema(types).into()),
            Self::Reply => writing(self, |types| any(types, Verb::reply_schema)),
            Self::ReplyOf(verb) => writing(self, |types| verb.reply_schema(types).into()),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent => f.write_str("agent"),
            Self::Event => f.write_str("event"),
            Self::Record => f.write_str("record"),
            Self::RecordOf(kind) => write!(f, "record.{kind}"),
            Self::Request => f.write_str("request"),
            Self::RequestOf(verb) => write!(f, "request.{verb}"),
            Self::Reply => f.write_str("reply"),
            Self::ReplyOf(verb) => write!(f, "reply.{verb}"),
        }
    }
}

/// Returns the schema of what Callboard reads: fields with a default may be missing.
fn reading(name: Name, schema: impl FnOnce(&mut SchemaGenerator) -> Value) -> Value {
    whole(name, SchemaSettings::draft2020_12().for_deserialize(), schema)
}

/// Returns the schema of what Callboard writes.
fn writing(name: Name, schema: impl FnOnce(&mut SchemaGenerator) -> Value) -> Value {
    whole(name, SchemaSettings::draft2020_12().for_serialize(), schema)
}

fn whole(
    name: Name,
    settings: SchemaSettings,
    schema: impl FnOnce(&mut SchemaGenerator) -> Value,
) -> Value {
    let mut types = settings.into_generator();
    let schema = schema(&mut types);
    let mut document = Map::new();
    document.insert("$schema".to_owned(), DRAFT.into());
    document.insert("title".to_owned(), name.to_string().into());
    if let Value::Object(fields) = schema {
        document.extend(fields);
        // A type has a name of its own, and keeps the place of the title.
        document.insert("title".to_owned(), name.to_string().into());
    }
    let types = types.take_definitions(true);
    if !types.is_empty() {
        document.insert(TYPES.to_owned(), Value::Object(types));
    }
    Value::Object(document)
}

/// Returns the schema of a request or reply of any verb, with those of each verb by name.
fn any(types: &mut SchemaGenerator, of: impl Fn(Verb, &mut SchemaGenerator) -> Schema) -> Value {
    let verbs = Verb::ALL.into_iter().map(|verb| {
        let mut schema = Value::from(of(verb, types));
        if let Value::Object(fields) = &mut schema {
            fields.shift_insert(0, "title".to_owned(), verb.name().into());
        }
        schema
    });
    json!({ "anyOf": verbs.collect::<Vec<_>>() })
}

/// Returns the schema of a record of one kind, with its body or a reference to it.
fn record(types: &mut SchemaGenerator, (kind, body): (&str, Content)) -> Value {
    json!({
        "title": kind,
        "type": "object",
        "properties": {
            "v": {
                "description": "Version of the record format.",
                "type": "integer", "minimum": 1, "maximum": VERSION,
            },
            "kind": { "const": kind },
            "id": {
                "description": "Id of the write, unique among all writes.",
                "type": "string",
            },
            "by": { "description": "Name of the writer.", "type": "string" },
            "body": body(types),
            "body_ref": types.subschema_for::<BodyRef>(),
        },
        "required": ["v", "kind", "id"],
        "oneOf": [{ "required": ["body"] }, { "required": ["body_ref"] }],
    })
}

/// Returns the schema of the body of a kind of record.
type Content = fn(&mut SchemaGenerator) -> Schema;

/// The kinds of records, facts first, each with the schema of its body.
const RECORDS: [(&str, Content); 18] = [
    ("submitted", of::<fact::Submitted>),
    ("signaled", of::<fact::Signaled>),
    ("planned", of::<fact::Planned>),
    ("turned", of::<fact::Turned>),
    ("started", of::<fact::Started>),
    ("called", of::<fact::Called>),
    ("answered", of::<fact::Answered>),
    ("fired", of::<fact::Fired>),
    ("child", of::<ChildSaid>),
    ("plan", of::<decision::PlanWork>),
    ("turn", of::<decision::TurnWork>),
    ("call", of::<decision::CallWork>),
    ("ask", of::<decision::AskWork>),
    ("wait", of::<decision::Wait>),
    ("spawn", of::<decision::SpawnWork>),
    ("note", of::<decision::Note>),
    ("done", of::<decision::Done>),
    ("finish", of::<decision::Finish>),
];

fn of<T: JsonSchema>(types: &mut SchemaGenerator) -> Schema {
    types.subschema_for::<T>()
}

/// Returns the schema of an agent file: the policies, without a name, with the fields that only
/// files have. `null` takes back an inherited value, so every field may be null.
fn agent() -> Value {
    let mut document = reading(Name::Agent, |types| {
        // The policies themselves are the document, so they are not a type of it.
        types.root_schema_for::<Agent>().into()
    });
    document["title"] = json!(Name::Agent.to_string());
    nullable(&mut document);
    if let Some(fields) = document.get_mut("properties").and_then(Value::as_object_mut) {
        fields.shift_remove("name");
        let own = [
            ("about", "Purpose of the agent, in one line."),
            ("extends", "Agent whose values hold where the file has none."),
        ];
        for (name, about) in own {
            let field = json!({ "description": about, "type": "string" });
            fields.shift_insert(0, name.to_owned(), field);
        }
    }
    document
}

/// Returns whether a schema accepts null by its own words.
fn is_nullable(field: &Value) -> bool {
    let is_null = |kind: &Value| *kind == json!("null");
    let types = field.get("type").and_then(Value::as_array);
    let choices = field.get("anyOf").and_then(Value::as_array);
    types.is_some_and(|types| types.iter().any(is_null))
        || choices
            .is_some_and(|choices| choices.iter().any(|one| one.get("type").is_some_and(is_null)))
}

/// Lets every field of every object of a schema be null.
fn nullable(schema: &mut Value) {
    match schema {
        Value::Object(keywords) => {
            for (keyword, value) in keywords.iter_mut() {
                match (keyword.as_str(), value) {
                    ("properties", Value::Object(fields)) => {
                        for field in fields.values_mut() {
                            nullable(field);
                            or_null(field);
                        }
                    }
                    (_, value) => nullable(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(nullable),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn or_null(field: &mut Value) {
    if is_nullable(field) {
        return;
    }
    let is_limited = ["enum", "const"].into_iter().any(|keyword| field.get(keyword).is_some());
    if let Some(Value::String(kind)) = field.get("type").filter(|_| !is_limited) {
        field["type"] = json!([kind, "null"]);
        return;
    }
    let description = field.as_object_mut().and_then(|field| field.shift_remove("description"));
    let schema = field.take();
    *field = json!({ "anyOf": [schema, { "type": "null" }] });
    if let (Some(description), Value::Object(field)) = (description, field) {
        field.shift_insert(0, "description".to_owned(), description);
    }
}
