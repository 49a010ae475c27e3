//! The types of nodes.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    BranchName, EventName, Expression, FormField, Key, NodeId, Target, TemplateValue, WorkflowName,
};
use crate::id::{AgentName, ToolName};

/// Maximum number of branches of one parallel node.
pub const BRANCHES_MAX: usize = 32;

/// Maximum number of items of one map node. A larger list goes to sub-workflows.
pub const ITEMS_MAX: u32 = 1_000;

/// The work of a node.
#[derive(
    Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema, strum::EnumDiscriminants,
)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[strum_discriminants(name(WorkKind))]
#[strum_discriminants(doc = "The type of a node: the word after `type` in a workflow file.")]
#[strum_discriminants(derive(strum::IntoStaticStr, strum::VariantArray))]
#[strum_discriminants(derive(Serialize, Deserialize, schemars::JsonSchema))]
#[strum_discriminants(serde(rename_all = "snake_case"))]
#[strum_discriminants(strum(serialize_all = "snake_case"))]
pub enum Work {
    /// One model turn without tools. Its scope has `reply`.
    Model(Model),
    /// One call of a tool. Its scope has `result`.
    Tool(Tool),
    /// An agent, here or in a job of its own, or another workflow. Its scope has `result`.
    Agent(Agent),
    /// A question to a person. Its scope has `answer`, an object.
    Human(Human),
    /// A choice of the way on.
    Branch {},
    /// Branches that run at the same time. `next` of this node is where they join.
    Parallel(Parallel),
    /// A body that runs for each item of a list. `next` of this node is where the items join.
    Map(Map),
    /// A pause.
    Wait(Wait),
    /// An event from outside. Its scope has `event`.
    Event(Event),
    /// Writes alone.
    Set {},
    /// The end of the workflow. It exists outside of branches and bodies alone.
    End(End),
}

impl Work {
    /// Returns the timeout, when the type of the node has one and the node sets it.
    #[must_use]
    pub fn timeout(&self) -> Option<&Timeout> {
        match self {
            Self::Human(human) => human.deadline.as_ref(),
            Self::Event(event) => event.timeout.as_ref(),
            Self::Model(_)
            | Self::Tool(_)
            | Self::Agent(_)
            | Self::Branch {}
            | Self::Parallel(_)
            | Self::Map(_)
            | Self::Wait(_)
            | Self::Set {}
            | Self::End(_) => None,
        }
    }

    /// Returns the paths that begin at the node: branches or items.
    #[must_use]
    pub fn paths(&self) -> Option<Paths<'_>> {
        match self {
            Self::Parallel(parallel) => Some(Paths::Branches(parallel)),
            Self::Map(map) => Some(Paths::Items(map)),
            Self::Model(_)
            | Self::Tool(_)
            | Self::Agent(_)
            | Self::Human(_)
            | Self::Branch {}
            | Self::Wait(_)
            | Self::Event(_)
            | Self::Set {}
            | Self::End(_) => None,
        }
    }

    /// Returns the tool call of the node.
    #[must_use]
    pub fn as_tool(&self) -> Option<&Tool> {
        if let Self::Tool(tool) = self { Some(tool) } else { None }
    }

    /// Returns the model turn of the node.
    #[must_use]
    pub fn as_model(&self) -> Option<&Model> {
        if let Self::Model(model) = self { Some(model) } else { None }
    }

    /// Returns the name of the workflow that the node runs as a child job.
    #[must_use]
    pub fn as_workflow(&self) -> Option<&WorkflowName> {
        let Self::Agent(Agent { does: AgentTask::Workflow { workflow, .. } }) = self else {
            return None;
        };
        Some(workflow)
    }

    /// Returns the event for which the node waits.
    #[must_use]
    pub fn as_event(&self) -> Option<&Event> {
        if let Self::Event(event) = self { Some(event) } else { None }
    }

    /// Returns the type of the node.
    #[must_use]
    pub fn kind(&self) -> WorkKind {
        self.into()
    }

    /// Returns the tool, the agent, the workflow or the event that the node names.
    #[must_use]
    pub fn names(&self) -> Option<&str> {
        match self {
            Self::Tool(tool) => Some(tool.tool.as_str()),
            Self::Event(event) => Some(event.event.as_str()),
            Self::Agent(Agent { does }) => match does {
                AgentTask::Here { .. } => None,
                AgentTask::Named { agent, .. } => Some(agent.as_str()),
                AgentTask::Workflow { workflow, .. } => Some(workflow.as_str()),
            },
            Self::Model(_)
            | Self::Human(_)
            | Self::Branch {}
            | Self::Parallel(_)
            | Self::Map(_)
            | Self::Wait(_)
            | Self::Set {}
            | Self::End(_) => None,
        }
    }
}

/// The variable of a node's outcome in expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Yield {
    /// Reply of a model.
    Reply,
    /// Result of a tool, an agent or a sub-workflow.
    Result,
    /// Answer of a person.
    Answer,
    /// Event from outside: `name` and `data`.
    Event,
}

impl Yield {
    /// Returns the name of the variable.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl WorkKind {
    /// Returns the variable that `write` and `next` of such a node may read, or `None` for a node
    /// without an outcome.
    #[must_use]
    pub fn yields(self) -> Option<Yield> {
        match self {
            Self::Model => Some(Yield::Reply),
            Self::Tool | Self::Agent => Some(Yield::Result),
            Self::Human => Some(Yield::Answer),
            Self::Event => Some(Yield::Event),
            Self::Branch | Self::Parallel | Self::Map | Self::Wait | Self::Set | Self::End => None,
        }
    }

    /// Returns whether such a node may have `write`. Branches and bodies write inside parallel
    /// parts, and `collect` writes after a map.
    #[must_use]
    pub fn writes(self) -> bool {
        self.yields().is_some() || self == Self::Set
    }

    /// Returns the word in workflow files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One model turn without tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Prompt, a text.
    pub prompt: TemplateValue,
    /// System prompt, a text; the agent's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<TemplateValue>,
    /// Name of the model; the agent's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// JSON Schema of the reply. Without it, the reply is a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Value>,
}

/// One call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Tool that is called.
    pub tool: ToolName,
    /// Arguments, an object.
    pub args: TemplateValue,
}

/// An agent or a sub-workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Task, and the place where it is carried out.
    pub does: AgentTask,
}

/// The task of an `agent` node, and the place where it is carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentTask {
    /// Model turns and tools in this job.
    Here {
        /// Task, a text.
        task: TemplateValue,
        /// Tools that the model may call; the agent's when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<ToolName>>,
    },
    /// A child job of an agent.
    Named {
        /// Agent of the child job.
        agent: AgentName,
        /// Task, a text.
        task: TemplateValue,
    },
    /// A child job of a workflow.
    Workflow {
        /// Workflow of the child job.
        workflow: WorkflowName,
        /// Input of the workflow, an object.
        input: TemplateValue,
    },
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Human {
    /// Question, a text.
    pub ask: TemplateValue,
    /// Fields of the form; `answer` has their values by key. A question without fields takes a text,
    /// which is `answer.text`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub form: Vec<FormField>,
    /// Way on when no answer arrives in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timeout>,
}

/// A bound on a wait, and the way on at the bound.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timeout {
    /// Length of the wait, in milliseconds.
    pub after_ms: u64,
    /// Target at the bound. Nothing is written then.
    pub then: Target,
}

/// Branches that run at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parallel {
    /// Branches, in the order of the file; 1 to 32.
    pub branches: Vec<Branch>,
    /// Branches that the join waits for.
    pub join: Join,
}

/// A branch of a parallel node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Name of the branch.
    pub name: BranchName,
    /// First node of the branch.
    pub start: NodeId,
    /// Nodes of the branch, without those of parallel parts inside it.
    pub nodes: BTreeSet<NodeId>,
}

/// The branches or items that a join waits for.
///
/// A path has arrived when it ends, also when it failed. A join that can no longer have as many
/// successful paths as it needs fails: the way on is then `on_error` of its parallel or map node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// All of them; each must succeed.
    All,
    /// The first that succeeds. The others are cancelled.
    Any,
    /// The first successful ones, in this number. The others are cancelled.
    AtLeast(u32),
}

impl Join {
    /// Returns the number of successful paths that the join needs, of this many.
    #[must_use]
    pub fn needed(self, paths: usize) -> usize {
        match self {
            Self::All => paths,
            Self::Any => 1,
            Self::AtLeast(n) => usize::try_from(n).unwrap_or(usize::MAX),
        }
    }
}

/// The paths that begin at a parallel or map node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Paths<'a> {
    /// Branches that run at the same time.
    Branches(&'a Parallel),
    /// A body that runs for each item.
    Items(&'a Map),
}

impl<'a> Paths<'a> {
    /// Returns the paths that the join waits for.
    #[must_use]
    pub fn join(self) -> Join {
        match self {
            Self::Branches(parallel) => parallel.join,
            Self::Items(map) => map.join,
        }
    }

    /// Returns the first nodes: one of each branch, or that of the body.
    pub fn starts(self) -> impl Iterator<Item = &'a NodeId> {
        let (branches, body) = match self {
            Self::Branches(parallel) => (parallel.branches.as_slice(), None),
            Self::Items(map) => ([].as_slice(), Some(&map.start)),
        };
        branches.iter().map(|branch| &branch.start).chain(body)
    }
}

/// A body that runs for each item of a list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Map {
    /// List of the items.
    pub over: Expression,
    /// Name of the item in the scope of the body; its number, from 0, is `index`.
    pub item: Key,
    /// Maximum number of items that run at the same time.
    pub max_parallel: u32,
    /// Maximum number of items, at most [`ITEMS_MAX`]. A longer list fails the node.
    pub max_items: u32,
    /// First node of the body.
    pub start: NodeId,
    /// Nodes of the body, without those of parallel parts inside it.
    pub nodes: BTreeSet<NodeId>,
    /// Values that are written after the join, by key, once for each successful item in the order of
    /// the items. Each is evaluated when the item ends, with the scope of the item's last node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub collect: BTreeMap<Key, TemplateValue>,
    /// Items that the join waits for. A list without items satisfies `all` alone.
    pub join: Join,
}

/// A pause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Length or end of the pause.
    pub pause: Pause,
}

/// The length or the end of a pause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// A length in milliseconds.
    ForMs(u64),
    /// A time in the form of RFC 3339, a text. A time in the past ends the pause at once.
    Until(TemplateValue),
}

/// A wait for an event from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Name of the event.
    pub event: EventName,
    /// Condition on the event, with `event.name` and `event.data` in its scope. Events for which it
    /// is false are passed over.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<Expression>,
    /// Way on when no event arrives in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Timeout>,
}

/// The end of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The workflow succeeds. The value is its output; the `output` of the workflow when absent.
    Output(Option<TemplateValue>),
    /// The workflow fails with this reason, a text.
    Fail(TemplateValue),
}
