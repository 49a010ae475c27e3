//! A route: its handler, and what the router and the OpenAPI document need to know about it.

use axum::{
    extract::DefaultBodyLimit,
    handler::Handler,
    http::{Method, StatusCode},
    routing::{MethodFilter, MethodRouter, on},
};
use jiff::Timestamp;
use proto::{
    door::{SearchText, Verb},
    id::{AgentName, ConversationId, JobId},
    job::{FailReason, JobState},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::{Desk, params::Switch};

/// A route with its handler.
pub(super) struct Route {
    pub(super) spec: Spec,
    pub(super) methods: MethodRouter<Desk>,
}

/// The description of a route.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) method: Method,
    /// Path, with the names of its parameters in braces.
    pub(super) path: &'static str,
    /// Verbs of the front door that the request needs. A route without one needs no role.
    pub(super) verbs: Vec<Verb>,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Option<Body>,
    pub(super) replies: Vec<Reply>,
    /// `true` if the request honours `If-Match`.
    pub(super) is_conditional: bool,
}

/// Writes the schema of a type.
pub(super) type Form = fn(&mut SchemaGenerator) -> Schema;

/// A parameter of the query.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// `true` if it may occur several times.
    pub(super) is_list: bool,
}

/// The body of a request.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) kind: &'static str,
    /// Schema of JSON, with the fields that are in the path.
    pub(super) form: Option<Form>,
    /// Optional fields that the gateway adds to the type.
    pub(super) more: Vec<(&'static str, Form)>,
    pub(super) example: Value,
}

/// A response that is no error.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    /// Media type; `None` for a response without a body.
    pub(super) kind: Option<&'static str>,
    /// Schema of JSON.
    pub(super) form: Option<Form>,
}

pub(super) const JSON: &str = "application/json";

fn form<T: JsonSchema>() -> Form {
    |schemas| schemas.subschema_for::<T>()
}

impl Route {
    /// Creates a route that reads.
    pub(super) fn get<T: 'static>(path: &'static str, handler: impl Handler<T, Desk>) -> Self {
        Self::new(Method::GET, path, on(MethodFilter::GET, handler))
    }

    /// Creates a route that adds something.
    pub(super) fn post<T: 'static>(path: &'static str, handler: impl Handler<T, Desk>) -> Self {
        Self::new(Method::POST, path, on(MethodFilter::POST, handler))
    }

    /// Creates a route that sets something.
    pub(super) fn put<T: 'static>(path: &'static str, handler: impl Handler<T, Desk>) -> Self {
        Self::new(Method::PUT, path, on(MethodFilter::PUT, handler))
    }

    /// Creates a route that removes something.
    pub(super) fn delete<T: 'static>(path: &'static str, handler: impl Handler<T, Desk>) -> Self {
        Self::new(Method::DELETE, path, on(MethodFilter::DELETE, handler))
    }

    fn new(method: Method, path: &'static str, methods: MethodRouter<Desk>) -> Self {
        let (verbs, parameters, replies) = (Vec::new(), Vec::new(), Vec::new());
        let (body, is_conditional) = (None, false);
        let spec = Spec { method, path, verbs, parameters, body, replies, is_conditional };
        Self { spec, methods }
    }

    /// Adds a verb that the request needs.
    pub(super) fn verb(mut self, verb: Verb) -> Self {
        self.spec.verbs.push(verb);
        self
    }

    /// Adds a parameter of the query.
    pub(super) fn param<T: JsonSchema>(mut self, name: &'static str) -> Self {
        self.spec.parameters.push(Parameter { name, form: form::<T>(), is_list: false });
        self
    }

    /// Adds a parameter of the query that may occur several times.
    pub(super) fn params<T: JsonSchema>(mut self, name: &'static str) -> Self {
        self.spec.parameters.push(Parameter { name, form: form::<T>(), is_list: true });
        self
    }

    /// Adds the parameters of a filter of jobs.
    pub(super) fn filtered(self) -> Self {
        self.params::<JobState>("state")
            .param::<AgentName>("agent")
            .params::<String>("label")
            .param::<SearchText>("q")
            .param::<ConversationId>("conversation")
            .param::<JobId>("parent")
            .param::<Timestamp>("since")
            .param::<Timestamp>("until")
            .param::<Timestamp>("updated_since")
            .param::<FailReason>("failure")
            .param::<Switch>("attention")
    }

    /// Sets the JSON of the request. Fields whose names the path has are not in the body.
    pub(super) fn body<T: JsonSchema>(mut self, example: Value) -> Self {
        let form: Form = |schemas| T::json_schema(schemas);
        self.spec.body = Some(Body { kind: JSON, form: Some(form), more: Vec::new(), example });
        self
    }

    /// Adds an optional field to the JSON of the request.
    pub(super) fn and<T: JsonSchema>(mut self, field: &'static str) -> Self {
        if let Some(body) = &mut self.spec.body {
            body.more.push((field, form::<T>()));
        }
        self
    }

    /// Sets a body that is no JSON.
    pub(super) fn bytes(mut self, kind: &'static str, example: &str) -> Self {
        let (form, more, example) = (None, Vec::new(), example.into());
        self.spec.body = Some(Body { kind, form, more, example });
        self
    }

    /// Adds a response of JSON.
    pub(super) fn replies<T: JsonSchema>(mut self, status: StatusCode) -> Self {
        let form = Some(form::<T>());
        self.spec.replies.push(Reply { status, kind: Some(JSON), form });
        self
    }

    /// Adds a response of JSON that has one of two types.
    pub(super) fn replies_either<T: JsonSchema, U: JsonSchema>(
        mut self,
        status: StatusCode,
    ) -> Self {
        let form: Form = |schemas| {
            let (one, other) = (schemas.subschema_for::<T>(), schemas.subschema_for::<U>());
            json_schema!({"anyOf": [one, other]})
        };
        self.spec.replies.push(Reply { status, kind: Some(JSON), form: Some(form) });
        self
    }

    /// Adds a response of another type, or without a body.
    pub(super) fn sends(mut self, status: StatusCode, kind: Option<&'static str>) -> Self {
        self.spec.replies.push(Reply { status, kind, form: None });
        self
    }

    /// Accepts larger bodies than other routes do.
    pub(super) fn up_to(mut self, bytes: usize) -> Self {
        self.methods = self.methods.layer(DefaultBodyLimit::max(bytes));
        self
    }

    /// Lets the request name the revision that it changes.
    pub(super) fn conditional(mut self) -> Self {
        self.spec.is_conditional = true;
        self
    }
}

impl Spec {
    /// `true` for the route of a request. `HEAD` has the route of `GET`.
    pub(super) fn is(&self, method: &Method, path: &str) -> bool {
        let method = if method == Method::HEAD { &Method::GET } else { method };
        self.method == *method && self.path == path
    }

    /// Returns the names of the path's parameters.
    pub(super) fn places(&self) -> impl Iterator<Item = &'static str> {
        let ends = |rest: &'static str| rest.split_once('}').map(|(name, _)| name);
        self.path.split('{').skip(1).filter_map(ends)
    }
}
