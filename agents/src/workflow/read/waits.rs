//! The nodes that ask, wait, run paths at the same time, or end.

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    interaction::Input,
    lang::Words,
    workflow::{
        BRANCHES_MAX, Branch, BranchName, End, Event, EventName, FormField, Human, ITEMS_MAX, Join,
        Key, Map, NodeId, Parallel, Pause, TemplateValue, Timeout, Wait,
    },
};
use serde_json::{Value, json};

use super::{
    fields::{Fields, Reading},
    nodes::{Nodes, has_template},
    pending::{Seen, Use},
    values::duration,
    words::Text,
};
use crate::source::{
    Text as FileText, explained, meant,
    tree::{Kind, Node as Tree, Place},
};

impl<'t> Nodes<'t, '_> {
    pub(super) fn human(
        &mut self,
        id: &NodeId,
        fields: &mut Fields<'t>,
        approval: bool,
    ) -> Option<Human> {
        let ask = self.needed_text(id, fields, "ask");
        let form = if approval {
            approval_form()
        } else if let Some(node) = fields.get("form") {
            self.form(id, node, &fields.below("form"))
        } else {
            Vec::new()
        };
        let deadline = self.timeout(fields, "deadline");
        if deadline.is_none() && fields.node.field("deadline").is_none() {
            self.reading.warn(fields.node.at, &fields.path, Text::NoDeadline);
        }
        Some(Human { ask: ask?, form, deadline })
    }

    pub(super) fn form(&mut self, id: &NodeId, node: &'t Tree, path: &str) -> Vec<FormField> {
        let items = self.reading.items(node, path).unwrap_or_default();
        let mut form: Vec<FormField> = Vec::new();
        for (n, item) in items.iter().enumerate() {
            let path = format!("{path}[{n}]");
            let Some(field) = self.form_field(id, item, &path) else { continue };
            if form.iter().any(|other| other.key == field.key) {
                let why = FileText::Twice { field: &field.key };
                self.reading.mistake(item.at, &path, why);
            }
            form.push(field);
        }
        if items.len() > proto::limits::FIELDS_MAX {
            let why = Text::TooMany { max: &proto::limits::FIELDS_MAX };
            self.reading.mistake(node.at, path, why);
        }
        form
    }

    pub(super) fn form_field(
        &mut self,
        id: &NodeId,
        item: &'t Tree,
        path: &str,
    ) -> Option<FormField> {
        let mut fields = self.reading.fields(item, path)?;
        let key_node = fields.need("key", self.reading)?;
        let text = self.reading.text(key_node, &fields.below("key"))?;
        let key = self.name(Key::new(text), key_node.at, &fields.below("key"))?;
        let label = fields.text("label", self.reading).unwrap_or(text).to_owned();
        let required = match fields.get("required") {
            Some(node) => self.reading.flag(node, &fields.below("required")).unwrap_or_default(),
            None => false,
        };
        let description = fields.text("description", self.reading).map(str::to_owned);
        let default = self.optional(id, &mut fields, "default");
        fields.need("type", self.reading)?;
        let mut input = serde_json::Map::new();
        for field in fields.all() {
            let own = ["key", "label", "required", "description", "default"];
            if !own.contains(&field.name.as_str()) {
                input.insert(field.name.clone(), field.value.to_json());
            }
        }
        let given: Vec<String> = input.keys().cloned().collect();
        let read: Result<Input, _> = serde_json::from_value(Value::Object(input));
        let input = match read {
            Ok(input) => input,
            Err(error) => {
                let at = item.field("type").map_or(item.at, |field| field.value.at);
                self.reading.mistake(at, &fields.below("type"), explained(&error.to_string()));
                return None;
            }
        };
        let taken = serde_json::to_value(&input).unwrap_or_default();
        for name in given {
            if taken.get(&name).is_none() {
                let at = item.field(&name).map_or(item.at, |field| field.at);
                let known = "key, label, type, required, description, default, min_length, max_length, multiline, min, max, integer, options, multiple";
                let all: Vec<&str> = known.split(", ").collect();
                let why: Words = match meant(&name, &all) {
                    Some(meant) if meant != name => FileText::NoFieldNear { meant: &meant }.into(),
                    Some(_) | None => FileText::NoField.into(),
                };
                self.reading.mistake(at, &fields.below(&name), why);
            }
        }
        if let Some(value) = default.as_ref().map(TemplateValue::as_value)
            && !has_template(value)
            && !input.takes(value)
        {
            let at = item.field("default").map_or(item.at, |field| field.value.at);
            self.reading.mistake(at, &fields.below("default"), Text::DefaultMisfit);
        }
        Some(FormField { key, label, input, required, description, default })
    }

    pub(super) fn parallel(&mut self, fields: &mut Fields<'t>) -> Option<Parallel> {
        let join = self.join(fields);
        let node = fields.need("branches", self.reading)?;
        let path = fields.below("branches");
        let named = self.reading.fields(node, &path)?;
        let mut branches = Vec::new();
        for field in named.all() {
            let path = format!("{path}.{}", field.name);
            let name = self.name(BranchName::new(&field.name), field.at, &path);
            let start = self.reference(&field.value, &path);
            if let (Some(name), Some(start)) = (name, start) {
                branches.push(Branch { name, nodes: BTreeSet::from([start.clone()]), start });
            }
        }
        if branches.len() > BRANCHES_MAX {
            self.reading.mistake(node.at, &path, Text::TooMany { max: &BRANCHES_MAX });
        }
        if named.all().is_empty() {
            self.reading.mistake(node.at, &path, Text::NoBranches);
        }
        self.enough(join, branches.len(), node.at, &fields.below("join"));
        Some(Parallel { branches, join })
    }

    pub(super) fn enough(&mut self, join: Join, paths: usize, at: Place, path: &str) {
        if let Join::AtLeast(n) = join
            && usize::try_from(n).is_ok_and(|n| n > paths)
        {
            self.reading.mistake(at, path, Text::TooFewBranches { n: &n, paths: &paths });
        }
    }

    pub(super) fn join(&mut self, fields: &mut Fields<'t>) -> Join {
        let Some(node) = fields.get("join") else { return Join::All };
        let path = fields.below("join");
        match &node.kind {
            Kind::Scalar(Value::String(word)) if word == "all" => Join::All,
            Kind::Scalar(Value::String(word)) if word == "any" => Join::Any,
            Kind::Fields(_) => {
                let mut inner = match self.reading.fields(node, &path) {
                    Some(inner) => inner,
                    None => return Join::All,
                };
                let least = inner.need("at_least", self.reading);
                let below = inner.below("at_least");
                let n = least.and_then(|node| self.reading.number(node, &below, 1, ITEMS_MAX));
                inner.close(self.reading);
                n.map_or(Join::All, Join::AtLeast)
            }
            Kind::Scalar(_) | Kind::List(_) => {
                self.reading.mistake(node.at, &path, Text::NoJoin);
                Join::All
            }
        }
    }

    pub(super) fn map(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> Option<Map> {
        let over = fields.need("over", self.reading);
        let over = match over {
            Some(node) => {
                self.expression(id, node, &fields.below("over"), Use::Items, Seen::Nothing)
            }
            None => None,
        };
        let item = match fields.get("as") {
            Some(node) => {
                let path = fields.below("as");
                let text = self.reading.text(node, &path);
                let key = text.and_then(|text| self.name(Key::new(text), node.at, &path));
                const TAKEN: [&str; 8] =
                    ["input", "state", "visits", "index", "reply", "result", "answer", "event"];
                if let Some(name) = text.filter(|text| TAKEN.contains(text)) {
                    self.reading.mistake(node.at, &path, Text::Taken { name: &name });
                }
                key
            }
            None => Key::new("item").ok(),
        };
        let mut number = |name: &'static str, default: u32, reading: &mut Reading| {
            let node = fields.get(name);
            let path = fields.below(name);
            node.map_or(Some(default), |node| reading.number(node, &path, 1, ITEMS_MAX))
        };
        let max_parallel = number("max_parallel", 4, self.reading);
        let max_items = number("max_items", 50, self.reading);
        let start = match fields.need("do", self.reading) {
            Some(node) => self.reference(node, &fields.below("do")),
            None => None,
        };
        let collect = match fields.get("collect") {
            Some(node) => self.writes(id, node, &fields.below("collect"), Seen::Last),
            None => BTreeMap::new(),
        };
        let join = self.join(fields);
        let start = start?;
        Some(Map {
            over: over?,
            item: item?,
            max_parallel: max_parallel?,
            max_items: max_items?,
            nodes: BTreeSet::from([start.clone()]),
            start,
            collect,
            join,
        })
    }

    pub(super) fn wait(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> Option<Wait> {
        let length = fields.get("for");
        let until = self.optional(id, fields, "until");
        let until_at = fields.node.field("until").map(|field| field.value.at);
        let pause = match (length, until) {
            (Some(node), None) => Pause::ForMs(duration(self.reading, node, &fields.below("for"))?),
            (None, Some(at)) => {
                let literal = at.as_value().as_str().filter(|text| !text.contains("{{"));
                if literal.is_none_or(|text| text.parse::<jiff::Timestamp>().is_err())
                    && !has_template(at.as_value())
                {
                    let place = until_at.unwrap_or(fields.node.at);
                    self.reading.mistake(place, &fields.below("until"), Text::NoTime);
                }
                Pause::Until(at)
            }
            (Some(_), Some(_)) | (None, None) => {
                self.reading.mistake(fields.node.at, &fields.path, Text::NoPause);
                return None;
            }
        };
        Some(Wait { pause })
    }

    pub(super) fn event(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> Option<Event> {
        let node = fields.need("event", self.reading);
        let path = fields.below("event");
        let matches = match fields.get("match") {
            Some(node) => {
                self.expression(id, node, &fields.below("match"), Use::Condition, Seen::Own)
            }
            None => None,
        };
        let timeout = self.timeout(fields, "timeout");
        let text = self.reading.text(node?, &path)?;
        let event = self.name(EventName::new(text), node?.at, &path)?;
        Some(Event { event, matches, timeout })
    }

    pub(super) fn end(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> End {
        let output = self.optional(id, fields, "output");
        let fail = self.optional(id, fields, "fail");
        if output.is_some() && fail.is_some() {
            self.reading.mistake(fields.node.at, &fields.path, Text::TwoEnds);
        }
        fail.map_or(End::Output(output), End::Fail)
    }

    pub(super) fn timeout(
        &mut self,
        fields: &mut Fields<'t>,
        name: &'static str,
    ) -> Option<Timeout> {
        let node = fields.get(name)?;
        let path = fields.below(name);
        let mut inner = self.reading.fields(node, &path)?;
        let after = inner.need("after", self.reading);
        let then = inner.need("then", self.reading);
        let after_ms = after.and_then(|node| duration(self.reading, node, &inner.below("after")));
        let then = match then {
            Some(node) => self.target(node, &inner.below("then")),
            None => None,
        };
        inner.close(self.reading);
        Some(Timeout { after_ms: after_ms?, then: then? })
    }
}

/// Returns the form of a question with yes or no and a reason.
fn approval_form() -> Vec<FormField> {
    let field = |key: &str, label: &str, input: Value, required| {
        let input = serde_json::from_value(input).ok()?;
        let key = Key::new(key).ok()?;
        Some(FormField {
            key,
            label: label.to_owned(),
            input,
            required,
            description: None,
            default: None,
        })
    };
    let approved = field("approved", "approved", json!({"type": "boolean"}), true);
    let text = field("text", "text", json!({"type": "text", "multiline": true}), false);
    approved.into_iter().chain(text).collect()
}
