//! The nodes that call a model, a tool, an agent or another workflow.

use proto::{
    id::{AgentName, ToolName},
    lang::Words,
    workflow::{Agent, AgentTask, Model, NodeId, TemplateValue, Tool, Work, WorkflowName},
};
use serde_json::{Value, json};

use super::{
    fields::Fields,
    nodes::{Nodes, has_template},
    schema,
    words::Text,
};
use crate::source::{
    Text as FileText, meant,
    tree::{Node as Tree, Place},
};

impl<'t> Nodes<'t, '_> {
    /// Reads a node whose type is the name of a tool or a workflow.
    pub(super) fn named(
        &mut self,
        id: &NodeId,
        word: &str,
        fields: &mut Fields<'t>,
    ) -> Option<Work> {
        if let Ok(tool) = ToolName::new(word)
            && self.known.tools.contains_key(&tool)
        {
            let args = self.args(id, &tool, fields);
            return Some(Work::Tool(Tool { tool, args }));
        }
        let workflow = WorkflowName::new(word).ok().filter(|w| self.known.workflows.contains(w))?;
        let input = self.optional(id, fields, "input");
        let input = input.unwrap_or_else(|| TemplateValue::checked(json!({})));
        self.fits_input(&workflow, &input, fields);
        Some(Work::Agent(Agent { does: AgentTask::Workflow { workflow, input } }))
    }

    pub(super) fn model(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> Option<Model> {
        let prompt = self.needed_text(id, fields, "prompt");
        let system = self.optional(id, fields, "system");
        let model = fields.text("model", self.reading).map(str::to_owned);
        let reply = match fields.get("reply") {
            Some(node) => {
                let path = fields.below("reply");
                let reply = schema::schema(self.reading, node, &path);
                if reply
                    .as_ref()
                    .is_some_and(|reply| schema::misfits(reply, &Value::Null).is_empty())
                {
                    self.reading.mistake(node.at, &path, Text::NullReply);
                }
                reply
            }
            None => None,
        };
        Some(Model { prompt: prompt?, system, model, reply })
    }

    pub(super) fn tool(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> Option<Tool> {
        let node = fields.need("tool", self.reading);
        let path = fields.below("tool");
        let tool = match node {
            Some(node) => self.tool_name(node, &path),
            None => None,
        };
        let Some(tool) = tool else {
            fields.get("args");
            return None;
        };
        let args = self.args(id, &tool, fields);
        Some(Tool { tool, args })
    }

    pub(super) fn tool_name(&mut self, node: &'t Tree, path: &str) -> Option<ToolName> {
        let text = self.reading.text(node, path)?;
        let tool = match ToolName::new(text) {
            Ok(tool) => tool,
            Err(invalid) => {
                self.reading.mistake(node.at, path, invalid.words());
                return None;
            }
        };
        let names: Vec<&str> = self.known.tools.keys().map(ToolName::as_str).collect();
        // Without any known tool, the caller does not say which tools exist.
        let is_open = self.known.tools.is_empty() && !self.known.is_complete;
        if !is_open && !self.known.tools.contains_key(&tool) {
            let why = match meant(text, &names) {
                Some(meant) => Text::NoToolNear { name: &text, meant: &meant }.into(),
                None => Text::NoTool { name: &text }.into(),
            };
            self.unknown(node.at, path, why);
        }
        Some(tool)
    }

    pub(super) fn args(
        &mut self,
        id: &NodeId,
        tool: &ToolName,
        fields: &mut Fields<'t>,
    ) -> TemplateValue {
        let args = self.optional(id, fields, "args");
        let node = fields.node.field("args").map(|field| &field.value);
        let value = args.as_ref().map_or_else(|| json!({}), |args| args.as_value().clone());
        let at = node.map_or(fields.node.at, |node| node.at);
        if !value.is_object() {
            let path = fields.below("args");
            self.reading.mistake(
                at,
                &path,
                FileText::Unfit {
                    wanted: &FileText::Mapping.text(proto::lang::Language::En),
                    got: &value,
                },
            );
        } else if let Some(known) = self.known.tools.get(tool) {
            let (schema, node) = (known.schema.clone(), node.unwrap_or(fields.node));
            self.arguments(&schema, &value, node, at, &fields.below("args"));
        }
        TemplateValue::checked(if value.is_object() { value } else { json!({}) })
    }

    /// Checks the literal arguments of a tool or a sub-workflow, and the names and presence of all.
    pub(super) fn arguments(
        &mut self,
        schema: &Value,
        args: &Value,
        node: &Tree,
        at: Place,
        base: &str,
    ) {
        let Some(args) = args.as_object() else { return };
        let properties = schema.get("properties").and_then(Value::as_object);
        let is_open = schema.get("additionalProperties") != Some(&Value::Bool(false));
        for (name, value) in args {
            let path = format!("{base}.{name}");
            let place = node.field(name).map_or(at, |field| field.at);
            let of = properties.and_then(|properties| properties.get(name));
            match of {
                None if properties.is_some() && !is_open => {
                    let known: Vec<&str> =
                        properties.into_iter().flat_map(|p| p.keys()).map(String::as_str).collect();
                    let why: Words = match meant(name, &known) {
                        Some(meant) => FileText::NoFieldNear { meant: &meant }.into(),
                        None => FileText::NoFieldOf { known: &known.join(", ") }.into(),
                    };
                    self.reading.mistake(place, &path, why);
                }
                Some(of) if !has_template(value) => {
                    for (below, why) in schema::misfits(of, value) {
                        let path = super::fields::below(&path, &below);
                        self.reading.mistake(place, &path, Text::Misfit { why: &why });
                    }
                }
                Some(_) | None => {}
            }
        }
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
            if let Some(name) = name.as_str().filter(|name| !args.contains_key(*name)) {
                self.reading.mistake(at, base, FileText::Missing { field: &name });
            }
        }
    }

    pub(super) fn agent(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> Option<Agent> {
        let named = fields.get("agent");
        let path = fields.below("agent");
        let task = self.needed_text(id, fields, "task");
        let Some(node) = named else {
            let tools = match fields.get("tools") {
                Some(node) => {
                    let path = fields.below("tools");
                    let items = self.reading.items(node, &path).unwrap_or_default();
                    let each = items.iter().enumerate();
                    let names =
                        each.filter_map(|(n, item)| self.tool_name(item, &format!("{path}[{n}]")));
                    Some(names.collect())
                }
                None => None,
            };
            return Some(Agent { does: AgentTask::Here { task: task?, tools } });
        };
        let text = self.reading.text(node, &path)?;
        let agent = match AgentName::new(text) {
            Ok(agent) => agent,
            Err(invalid) => {
                self.reading.mistake(node.at, &path, invalid.words());
                return None;
            }
        };
        if !self.known.agents.contains(&agent) {
            let names: Vec<&str> = self.known.agents.iter().map(AgentName::as_str).collect();
            let why = match meant(text, &names) {
                Some(meant) => FileText::NoAgentNear { name: &text, meant: &meant }.into(),
                None => FileText::NoAgent { name: &text }.into(),
            };
            self.unknown(node.at, &path, why);
        }
        Some(Agent { does: AgentTask::Named { agent, task: task? } })
    }

    pub(super) fn workflow(&mut self, id: &NodeId, fields: &mut Fields<'t>) -> Option<Agent> {
        let node = fields.need("workflow", self.reading);
        let input = self.optional(id, fields, "input");
        let path = fields.below("workflow");
        let (node, text) = (node?, self.reading.text(node?, &path)?);
        let workflow = self.name(WorkflowName::new(text), node.at, &path)?;
        if !self.known.workflows.contains(&workflow) {
            let names: Vec<&str> = self.known.workflows.iter().map(WorkflowName::as_str).collect();
            let why = match meant(text, &names) {
                Some(meant) => Text::NoWorkflowNear { name: &text, meant: &meant }.into(),
                None => Text::NoWorkflow { name: &text }.into(),
            };
            self.unknown(node.at, &path, why);
        }
        let input = input.unwrap_or_else(|| TemplateValue::checked(json!({})));
        self.fits_input(&workflow, &input, fields);
        Some(Agent { does: AgentTask::Workflow { workflow, input } })
    }

    /// Checks the literal input of a sub-workflow whose schema is known.
    fn fits_input(&mut self, workflow: &WorkflowName, input: &TemplateValue, fields: &Fields<'t>) {
        let Some(schema) = self.known.inputs.get(workflow).cloned() else { return };
        let given = fields.node.field("input").map_or(fields.node, |field| &field.value);
        self.arguments(&schema, input.as_value(), given, given.at, &fields.below("input"));
    }
}
