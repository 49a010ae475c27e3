//! The workflows that the nodes of a submitted workflow run as child jobs: their files, the bounds on
//! their nesting, and the definitions that the job keeps.

use std::collections::BTreeMap;

use agents::workflow::{
    read::{Known, read},
    shelf::Shelf,
};
use proto::{
    error::{Code, Failure},
    id::ToolName,
    refusal::Text,
    tool::{Binding, ToolSpec},
    workflow::{SUB_WORKFLOWS_MAX, SubWorkflow, Workflow, WorkflowName},
};

use super::wrong;
use crate::workflows::unknown;

/// The places in which a name is looked up, in this order.
#[derive(Clone, Copy)]
pub(super) struct Sources<'a> {
    /// Files of the request.
    pub(super) request: &'a BTreeMap<WorkflowName, String>,
    /// Workflows of the bucket and of the program.
    pub(super) shelf: &'a Shelf,
}

impl<'a> Sources<'a> {
    /// Returns the text of a workflow's file, or `None` for an unknown name.
    pub(super) fn text(&self, name: &WorkflowName) -> Option<&'a str> {
        let Self { request, shelf } = *self;
        request.get(name).map(String::as_str).or_else(|| shelf.text(name))
    }

    /// Returns all names; some of them may repeat.
    pub(super) fn names(&self) -> impl Iterator<Item = WorkflowName> {
        self.request.keys().cloned().chain(self.shelf.names())
    }
}

/// Workflows below a submitted one, by name.
pub(super) struct Below<'a> {
    sources: Sources<'a>,
    read: BTreeMap<WorkflowName, Workflow>,
}

impl<'a> Below<'a> {
    /// Reads every workflow that `definition` runs, directly or through others.
    ///
    /// # Errors
    /// Returns the mistakes of a file, a file with another name inside, and too many workflows.
    pub(super) fn of(
        definition: &Workflow,
        sources: Sources<'a>,
        known: &Known,
    ) -> Result<Self, Failure> {
        let mut below = Self { sources, read: BTreeMap::new() };
        let mut wanted: Vec<WorkflowName> = definition.sub_workflows().cloned().collect();
        while let Some(name) = wanted.pop() {
            if below.read.contains_key(&name) {
                continue;
            }
            let workflow = below.definition(&name, known)?;
            wanted.extend(workflow.sub_workflows().cloned());
            below.read.insert(name, workflow);
            if below.read.len() > SUB_WORKFLOWS_MAX {
                let why = Text::WorkflowsMany { max: &SUB_WORKFLOWS_MAX };
                return Err(Failure::about(Code::TooLarge, "workflow.workflows", why));
            }
        }
        Ok(below)
    }

    fn definition(&self, name: &WorkflowName, known: &Known) -> Result<Workflow, Failure> {
        let field = format!("workflow.workflows.{name}");
        let Some(source) = self.sources.text(name) else {
            return Err(unknown(self.sources.shelf, name, Code::InvalidRequest, &field));
        };
        let workflow =
            read(&field, source, known).map_err(|mistakes| wrong(&mistakes, &field))?.workflow;
        if workflow.name != *name {
            let why = Text::WorkflowNamed { name: &workflow.name };
            return Err(Failure::about(Code::InvalidRequest, &field, why));
        }
        Ok(workflow)
    }

    /// Checks that no workflow runs itself, and that the depth of the agent's budget allows the
    /// nesting.
    ///
    /// # Errors
    /// Returns the workflow that runs itself, or the nesting.
    pub(super) fn within_depth(&self, top: &Workflow, max: u32) -> Result<(), Failure> {
        let mut path = vec![&top.name];
        let depth = self.depth(top, &mut path)?;
        if depth > max {
            let why = Text::WorkflowDeep { depth: &depth, max: &max };
            return Err(Failure::about(Code::InvalidRequest, "workflow.source", why));
        }
        Ok(())
    }

    /// Returns the number of workflows below each other. The path bounds the recursion, because a
    /// workflow appears in it once.
    fn depth<'b>(
        &'b self,
        workflow: &'b Workflow,
        path: &mut Vec<&'b WorkflowName>,
    ) -> Result<u32, Failure> {
        let mut deepest = 0;
        for name in workflow.sub_workflows() {
            if path.contains(&name) {
                let names = path.iter().map(|name| name.as_str()).chain([name.as_str()]);
                let path = names.collect::<Vec<_>>().join(" → ");
                let why = Text::WorkflowCircle { path: &path };
                return Err(Failure::about(Code::InvalidRequest, "workflow.source", why));
            }
            let Some(below) = self.read.get(name) else { continue };
            path.push(name);
            deepest = deepest.max(self.depth(below, path)?.saturating_add(1));
            path.pop();
        }
        Ok(deepest)
    }

    /// Returns the known names with the schemas of the inputs.
    pub(super) fn known(&self, known: Known) -> Known {
        let inputs = self
            .read
            .iter()
            .filter_map(|(name, workflow)| Some((name.clone(), workflow.input.clone()?)));
        Known { inputs: inputs.collect(), ..known }
    }

    /// Returns the definitions, each checked against the inputs of the others.
    ///
    /// # Errors
    /// Returns the mistakes of a file.
    pub(super) fn frozen(
        &self,
        known: &Known,
        tools: &[&ToolSpec],
    ) -> Result<BTreeMap<WorkflowName, SubWorkflow>, Failure> {
        let each = self.read.keys().map(|name| {
            let definition = self.definition(name, known)?;
            let tools = bindings(&definition, tools);
            Ok((name.clone(), SubWorkflow { definition, tools }))
        });
        each.collect()
    }
}

/// Returns the tools that the nodes of a workflow call, as they are registered.
pub(super) fn bindings(definition: &Workflow, tools: &[&ToolSpec]) -> BTreeMap<ToolName, Binding> {
    let named = definition.nodes.values().filter_map(|node| node.work.as_tool());
    let called = named.filter_map(|tool| tools.iter().find(|spec| spec.name == tool.tool));
    called.map(|spec| (spec.name.clone(), spec.binding())).collect()
}
