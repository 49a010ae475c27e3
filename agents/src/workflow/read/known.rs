//! The tools, agents and workflows that a file may name.

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    id::{AgentName, ToolName},
    tool::{Effect, ToolSpec},
    workflow::WorkflowName,
};
use serde_json::Value;

/// The tools, agents and workflows that a file may name, given by the caller: those of the program
/// for a check without an installation, and those of the registry at the front door.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Tools by name. Without any, names of tools are not compared, unless the set is complete.
    pub tools: BTreeMap<ToolName, KnownTool>,
    /// Agents by name.
    pub agents: BTreeSet<AgentName>,
    /// Workflows by name.
    pub workflows: BTreeSet<WorkflowName>,
    /// JSON Schemas of the inputs of workflows, by name. The inputs of others are not compared.
    pub inputs: BTreeMap<WorkflowName, Value>,
    /// `true` if there are no others, so that an unknown name is a mistake. Otherwise it is a
    /// warning.
    pub is_complete: bool,
}

/// A tool that a file may name.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownTool {
    /// JSON Schema of the arguments.
    pub schema: Value,
    /// `true` if a call must not be repeated.
    pub once: bool,
}

impl Known {
    /// Creates the set of these tools, agents and workflows.
    #[must_use]
    pub fn of<'a>(
        tools: impl IntoIterator<Item = &'a ToolSpec>,
        agents: impl IntoIterator<Item = AgentName>,
        workflows: impl IntoIterator<Item = WorkflowName>,
    ) -> Self {
        let tool = |spec: &ToolSpec| {
            let once = spec.effect == Effect::Once;
            (spec.name.clone(), KnownTool { schema: spec.schema.clone(), once })
        };
        Self {
            tools: tools.into_iter().map(tool).collect(),
            agents: agents.into_iter().collect(),
            workflows: workflows.into_iter().collect(),
            inputs: BTreeMap::new(),
            is_complete: false,
        }
    }

    /// Returns the set with the statement that there are no others.
    #[must_use]
    pub fn complete(self) -> Self {
        Self { is_complete: true, ..self }
    }
}
