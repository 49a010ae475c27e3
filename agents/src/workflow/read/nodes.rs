//! The nodes of a file, read to their internal form. Graph, names and templates are checked later.

use std::collections::BTreeMap;

use proto::{
    lang::Words,
    retry::RetryPolicy,
    workflow::{
        Expression, InvalidName, Key, Node, NodeId, Route, Target, TemplateValue, Work, WorkKind,
        WorkflowName,
    },
};
use serde_json::Value;

use super::{
    fields::{Fields, Reading},
    known::Known,
    pending::{Pending, Seen, Use},
    types::Typed,
    words::Text,
};
use crate::source::{
    Text as FileText, explained, meant,
    tree::{Kind, Node as Tree, Place},
};
use proto::id::ToolName;

/// The reader of nodes, with what it found besides them.
pub(super) struct Nodes<'t, 'r> {
    pub(super) reading: &'r mut Reading,
    pub(super) known: &'r Known,
    pub(super) pending: Vec<Pending<'t>>,
    /// Places of the names of nodes that nodes refer to.
    pub(super) references: Vec<Reference>,
}

/// A name of a node, with its place.
pub(super) struct Reference {
    pub(super) at: Place,
    pub(super) path: String,
    pub(super) to: NodeId,
}

impl<'t> Nodes<'t, '_> {
    /// Reads one node.
    pub(super) fn node(&mut self, id: &NodeId, tree: &'t Tree, path: &str) -> Option<Node> {
        let mut fields = self.reading.fields(tree, path)?;
        let work = self.work(id, &mut fields);
        let title = fields.text("title", self.reading).map(str::to_owned);
        let kind = work.as_ref().map(Work::kind);
        let writes = kind.is_none_or(WorkKind::writes);
        let write = match writes.then(|| fields.get("write")).flatten() {
            Some(node) => self.writes(id, node, &fields.below("write"), Seen::Own),
            None => BTreeMap::new(),
        };
        if kind == Some(WorkKind::Set) && write.is_empty() {
            self.reading.mistake(tree.at, path, FileText::Missing { field: &"write" });
        }
        let next =
            if kind == Some(WorkKind::End) { Vec::new() } else { self.routes(id, &mut fields) };
        if kind == Some(WorkKind::Branch) && next.len() < 2 {
            self.reading.mistake(tree.at, path, Text::NoChoice);
        }
        let fails = matches!(
            kind,
            Some(
                WorkKind::Model
                    | WorkKind::Tool
                    | WorkKind::Agent
                    | WorkKind::Human
                    | WorkKind::Parallel
                    | WorkKind::Map
            ) | None
        );
        let on_error = match fails.then(|| fields.get("on_error")).flatten() {
            Some(node) => self.target(node, &fields.below("on_error")),
            None => None,
        };
        let tries = matches!(kind, Some(WorkKind::Model | WorkKind::Tool | WorkKind::Agent) | None);
        let retry = match tries.then(|| fields.get("retry")).flatten() {
            Some(node) => self.retry(node, &fields.below("retry")),
            None => None,
        };
        fields.close(self.reading);
        Some(Node { title, work: work?, write, next, on_error, retry })
    }

    pub(super) fn work(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> Option<Work> {
        let node = fields.need("type", self.reading)?;
        let path = fields.below("type");
        let word = self.reading.text(node, &path)?;
        let Some(typed) = Typed::of(word) else {
            if let Some(work) = self.named(id, word, fields) {
                return Some(work);
            }
            let known: Vec<&str> = Typed::words().collect();
            let tools = self.known.tools.keys().map(ToolName::as_str);
            let flows = self.known.workflows.iter().map(WorkflowName::as_str);
            let all: Vec<&str> = known.iter().copied().chain(tools).chain(flows).collect();
            let why: Words = match meant(word, &all) {
                Some(meant) => FileText::NoValueNear { meant: &meant }.into(),
                None => FileText::NoValueOf { known: &known.join(", ") }.into(),
            };
            self.reading.mistake(node.at, &path, why);
            // The fields of an unknown type are unknown too; only the type is reported.
            for field in ["prompt", "args", "ask", "task", "branches", "over", "do", "event", "for"]
            {
                fields.get(field);
            }
            return None;
        };
        match typed {
            Typed::Kind(WorkKind::Model) => self.model(id, fields).map(Work::Model),
            Typed::Kind(WorkKind::Tool) => self.tool(id, fields).map(Work::Tool),
            Typed::Kind(WorkKind::Agent) => self.agent(id, fields).map(Work::Agent),
            Typed::Workflow => self.workflow(id, fields).map(Work::Agent),
            Typed::Kind(WorkKind::Human) => self.human(id, fields, false).map(Work::Human),
            Typed::Form => {
                if fields.node.field("form").is_none() {
                    let why = FileText::Missing { field: &"form" };
                    self.reading.mistake(fields.node.at, &fields.path, why);
                }
                self.human(id, fields, false).map(Work::Human)
            }
            Typed::Approval => self.human(id, fields, true).map(Work::Human),
            Typed::Kind(WorkKind::Branch) => Some(Work::Branch {}),
            Typed::Kind(WorkKind::Parallel) => self.parallel(fields).map(Work::Parallel),
            Typed::Kind(WorkKind::Map) => self.map(id, fields).map(Work::Map),
            Typed::Kind(WorkKind::Wait) => self.wait(id, fields).map(Work::Wait),
            Typed::Kind(WorkKind::Event) => self.event(id, fields).map(Work::Event),
            Typed::Kind(WorkKind::Set) => Some(Work::Set {}),
            Typed::Kind(WorkKind::End) => Some(Work::End(self.end(id, fields))),
        }
    }

    pub(super) fn retry(&mut self, node: &'t Tree, path: &str) -> Option<RetryPolicy> {
        self.reading.fields(node, path)?;
        let read: Result<RetryPolicy, _> = serde_path_to_error::deserialize(node.to_json());
        let policy = match read {
            Ok(policy) => policy,
            Err(error) => {
                let field = error.path().to_string();
                let at = node.field(&field).map_or(node.at, |field| field.at);
                let path = if field == "." { path.to_owned() } else { format!("{path}.{field}") };
                self.reading.mistake(at, &path, explained(&error.inner().to_string()));
                return None;
            }
        };
        if let Err((field, why)) = policy.check() {
            let at = node.field(field).map_or(node.at, |field| field.value.at);
            self.reading.mistake(at, &format!("{path}.{field}"), why);
        }
        Some(policy)
    }

    pub(super) fn routes(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> Vec<Route> {
        let Some(node) = fields.get("next") else {
            return vec![Route { when: None, to: Target::End }];
        };
        let path = fields.below("next");
        let Kind::List(items) = &node.kind else {
            let to = self.target(node, &path);
            return to.into_iter().map(|to| Route { when: None, to }).collect();
        };
        let mut routes = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let path = format!("{path}[{n}]");
            let Some(mut inner) = self.reading.fields(item, &path) else { continue };
            let when = match inner.get("when") {
                Some(node) => {
                    self.expression(id, node, &inner.below("when"), Use::Condition, Seen::Own)
                }
                None => None,
            };
            let is_last = n + 1 == items.len();
            let is_default = item.field("when").is_none();
            if is_last && !is_default {
                self.reading.mistake(item.at, &path, Text::LastWhen);
            } else if !is_last && is_default {
                self.reading.mistake(item.at, &path, Text::EarlyDefault);
            }
            let to = match inner.need("to", self.reading) {
                Some(node) => self.target(node, &inner.below("to")),
                None => None,
            };
            inner.close(self.reading);
            routes.extend(to.map(|to| Route { when, to }));
        }
        if items.is_empty() {
            self.reading.mistake(node.at, &path, Text::NoRoutes);
        }
        routes
    }

    pub(super) fn target(&mut self, node: &'t Tree, path: &str) -> Option<Target> {
        if node.kind == Kind::Scalar(Value::from("end")) {
            return Some(Target::End);
        }
        self.reference(node, path).map(Target::Node)
    }

    pub(super) fn reference(&mut self, node: &'t Tree, path: &str) -> Option<NodeId> {
        let text = self.reading.text(node, path)?;
        let id = self.name(NodeId::new(text), node.at, path)?;
        self.references.push(Reference { at: node.at, path: path.to_owned(), to: id.clone() });
        Some(id)
    }

    pub(super) fn writes(
        &mut self,
        id: &NodeId,
        node: &'t Tree,
        path: &str,
        seen: Seen,
    ) -> BTreeMap<Key, TemplateValue> {
        let Some(fields) = self.reading.fields(node, path) else { return BTreeMap::new() };
        let mut writes = BTreeMap::new();
        for field in fields.all() {
            let path = format!("{path}.{}", field.name);
            let Some(key) = self.name(Key::new(&field.name), field.at, &path) else { continue };
            let value = self.template(Some(id), &field.value, &path, seen);
            writes.insert(key, value);
        }
        writes
    }

    pub(super) fn name<T>(
        &mut self,
        name: Result<T, InvalidName>,
        at: Place,
        path: &str,
    ) -> Option<T> {
        name.map_err(|invalid| self.reading.mistake(at, path, invalid.words())).ok()
    }

    pub(super) fn unknown(&mut self, at: Place, path: &str, why: Words) {
        if self.known.is_complete {
            self.reading.mistake(at, path, why);
        } else {
            self.reading.warn(at, path, why);
        }
    }

    pub(super) fn needed_text(
        &mut self,
        id: &NodeId,
        fields: &mut Fields<'t>,
        name: &'static str,
    ) -> Option<TemplateValue> {
        let node = fields.need(name, self.reading)?;
        let path = fields.below(name);
        self.reading.text(node, &path)?;
        Some(self.template(Some(id), node, &path, Seen::Nothing))
    }

    pub(super) fn optional(
        &mut self,
        id: &NodeId,
        fields: &mut Fields<'t>,
        name: &'static str,
    ) -> Option<TemplateValue> {
        let node = fields.get(name)?;
        let path = fields.below(name);
        Some(self.template(Some(id), node, &path, Seen::Nothing))
    }

    pub(super) fn template(
        &mut self,
        id: Option<&NodeId>,
        node: &'t Tree,
        path: &str,
        seen: Seen,
    ) -> TemplateValue {
        let (path, of) = (path.to_owned(), id.cloned());
        self.pending.push(Pending { node, path, what: Use::Value, of, seen });
        TemplateValue::checked(node.to_json())
    }

    pub(super) fn expression(
        &mut self,
        id: &NodeId,
        node: &'t Tree,
        path: &str,
        what: Use,
        seen: Seen,
    ) -> Option<Expression> {
        // `when: true` is a boolean in YAML.
        if let Kind::Scalar(Value::Bool(flag)) = &node.kind {
            return Some(Expression::checked(flag.to_string()));
        }
        let text = self.reading.text(node, path)?;
        self.pending.push(Pending {
            node,
            path: path.to_owned(),
            what,
            of: Some(id.clone()),
            seen,
        });
        Some(Expression::checked(text))
    }
}

/// Returns whether a value has a template with an expression.
pub(super) fn has_template(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{"),
        Value::Array(items) => items.iter().any(has_template),
        Value::Object(fields) => fields.values().any(has_template),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
