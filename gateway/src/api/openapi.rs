//! The OpenAPI document, written from the table of routes and the types of requests and replies.

use std::{collections::BTreeSet, sync::LazyLock};

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use proto::{
    error::Code,
    id::{AgentName, AskId, JobId},
    workflow::WorkflowName,
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    SPECS,
    route::{Body, JSON, Parameter, Reply, Spec},
};
use crate::problem;

/// Place of the schemas in the document.
const SCHEMAS: &str = "/components/schemas";
/// Ending of the names of types whose requests differ from their replies.
const REQUEST: &str = "Request";

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document(&SPECS).to_string());

/// `GET /openapi.json`.
pub(super) async fn openapi() -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(JSON))];
    (kind, DOCUMENT.as_str()).into_response()
}

/// Schemas of what is read, and of what is written: a type with a default need not be sent whole,
/// but is always returned whole.
struct Schemas {
    requests: SchemaGenerator,
    replies: SchemaGenerator,
}

fn document(specs: &[Spec]) -> Value {
    let settings = || {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = SCHEMAS.into();
        settings.meta_schema = None;
        settings
    };
    let mut schemas = Schemas {
        requests: settings().for_deserialize().into_generator(),
        replies: settings().for_serialize().into_generator(),
    };
    let mut paths: Map<String, Value> = Map::new();
    for spec in specs {
        let operation = schemas.operation(spec);
        let path = paths.entry(spec.path).or_insert_with(|| json!({}));
        path[spec.method.as_str().to_ascii_lowercase()] = operation;
    }
    let mut replies = schemas.replies.take_definitions(true);
    let requests = schemas.requests.take_definitions(true);
    let others = others(&requests, &replies);
    let mut paths = Value::Object(paths);
    for (name, mut schema) in requests {
        refer(&mut schema, &others);
        let is_other = others.contains(&name);
        replies.entry(if is_other { format!("{name}{REQUEST}") } else { name }).or_insert(schema);
    }
    if let Some(paths) = paths.as_object_mut() {
        for operation in paths.values_mut().filter_map(Value::as_object_mut) {
            for operation in operation.values_mut() {
                for part in ["parameters", "requestBody"] {
                    if let Some(part) = operation.get_mut(part) {
                        refer(part, &others);
                    }
                }
            }
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Callboard",
            "version": env!("CARGO_PKG_VERSION"),
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": replies,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// Returns the names of types whose requests differ from their replies, directly or by a part.
fn others(requests: &Map<String, Value>, replies: &Map<String, Value>) -> BTreeSet<String> {
    let differs = |(name, schema): (&String, &Value)| {
        replies.get(name).is_some_and(|reply| reply != schema).then(|| name.clone())
    };
    let mut found: BTreeSet<String> = requests.iter().filter_map(differs).collect();
    loop {
        let refers = |schema: &Value| found.iter().any(|name| names(schema, name));
        let more = requests.iter().filter(|(name, schema)| {
            !found.contains(*name) && replies.contains_key(*name) && refers(schema)
        });
        let more: Vec<String> = more.map(|(name, _)| name.clone()).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// `true` if a schema refers to the type of a name.
fn names(schema: &Value, name: &str) -> bool {
    match schema {
        Value::Object(fields) => fields.iter().any(|(key, value)| {
            let is_it = |to: &str| to.strip_prefix(&format!("#{SCHEMAS}/")) == Some(name);
            (key == "$ref" && value.as_str().is_some_and(is_it)) || names(value, name)
        }),
        Value::Array(items) => items.iter().any(|item| names(item, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Makes references to types of the given names refer to their requests.
fn refer(schema: &mut Value, others: &BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                let to = value.as_str().filter(|_| key == "$ref");
                let name = to.and_then(|to| to.strip_prefix(&format!("#{SCHEMAS}/")));
                if name.is_some_and(|name| others.contains(name)) {
                    *value = format!("{}{REQUEST}", to.unwrap_or_default()).into();
                } else {
                    refer(value, others);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer(item, others)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

impl Schemas {
    fn operation(&mut self, spec: &Spec) -> Value {
        let words = spec.path.split(|c: char| !c.is_ascii_alphanumeric());
        let name: String =
            words.filter(|word| !word.is_empty() && *word != "v1").map(title).collect();
        let about: Vec<&str> = spec.verbs.iter().map(|verb| verb.spec().about).collect();
        let verbs: Vec<&str> = spec.verbs.iter().map(|verb| verb.name()).collect();
        let roles =
            spec.verbs.iter().map(|verb| verb.spec().roles).filter(|roles| !roles.is_empty());
        let roles: Vec<Vec<&str>> =
            roles.map(|roles| roles.iter().map(|role| role.as_str()).collect()).collect();
        let mut parameters: Vec<Value> = spec.places().map(|name| self.place(name)).collect();
        parameters.extend(spec.parameters.iter().map(|parameter| self.parameter(parameter)));
        let mut responses = Map::new();
        for reply in &spec.replies {
            let described = self.reply(reply);
            match responses.get_mut(reply.status.as_str()) {
                // A route may send several types with one status.
                Some(Value::Object(known)) => {
                    let content = known.get_mut("content").and_then(Value::as_object_mut);
                    if let (Some(content), Some(more)) = (content, described["content"].as_object())
                    {
                        content.extend(more.clone());
                    }
                }
                _ => drop(responses.insert(reply.status.as_str().to_owned(), described)),
            }
        }
        let problem = self.replies.subschema_for::<problem::Body>();
        responses.insert(
            "default".to_owned(),
            json!({"description": "An error.", "content": {problem::KIND: {"schema": problem}}}),
        );
        let mut operation = json!({
            "operationId": format!("{}{name}", spec.method.as_str().to_ascii_lowercase()),
            "parameters": parameters,
            "responses": responses,
        });
        if !about.is_empty() {
            operation["summary"] = about.join(" ").into();
            operation["x-verbs"] = json!(verbs);
        }
        if !roles.is_empty() {
            // An installation without people needs no token.
            operation["security"] = json!([{"token": []}, {}]);
            // A caller needs one role of each list.
            operation["x-roles"] = json!(roles);
        }
        if let Some(body) = &spec.body {
            operation["requestBody"] = self.body(spec, body);
        }
        operation
    }

    /// Returns a parameter of the path.
    fn place(&mut self, name: &str) -> Value {
        let (schema, example) = match name {
            "job" => (self.requests.subschema_for::<JobId>(), "report-7"),
            "ask" => (self.requests.subschema_for::<AskId>(), "q1"),
            "code" => (self.requests.subschema_for::<Code>(), "stale"),
            "agent" => (self.requests.subschema_for::<AgentName>(), "default"),
            "name" => (self.requests.subschema_for::<AgentName>(), "mine"),
            "workflow" => (self.requests.subschema_for::<WorkflowName>(), "greet"),
            _ => (String::json_schema(&mut self.requests), "x"),
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema, "example": example})
    }

    fn parameter(&mut self, parameter: &Parameter) -> Value {
        let one = (parameter.form)(&mut self.requests);
        let schema =
            if parameter.is_list { json!({"type": "array", "items": one}) } else { one.into() };
        json!({"name": parameter.name, "in": "query", "schema": schema})
    }

    fn body(&mut self, spec: &Spec, body: &Body) -> Value {
        let mut content = json!({"example": body.example});
        if let Some(form) = body.form {
            let mut schema: Value = form(&mut self.requests).into();
            let places: Vec<_> = spec.places().collect();
            if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
                required.retain(|name| name.as_str().is_none_or(|name| !places.contains(&name)));
            }
            if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
                fields.retain(|name, _| !places.contains(&name.as_str()));
                for (name, form) in &body.more {
                    fields.insert((*name).to_owned(), form(&mut self.requests).into());
                }
            }
            content["schema"] = schema;
        }
        json!({"required": true, "content": {body.kind: content}})
    }

    fn reply(&mut self, reply: &Reply) -> Value {
        let mut response =
            json!({"description": reply.status.canonical_reason().unwrap_or_default()});
        if let Some(kind) = reply.kind {
            let schema = reply.form.map(|form| json!({"schema": form(&mut self.replies)}));
            response["content"] = json!({kind: schema.unwrap_or_else(|| json!({}))});
        }
        response
    }
}

fn title(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
