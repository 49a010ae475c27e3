//! The progress of a workflow as its log records it.
//!
//! An advance is a list of moves in the order in which they were chosen. Each move holds values, so a
//! fold applies it without evaluating an expression, and the log says why a way was taken.

use std::{collections::BTreeMap, fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Expression, Key, Limits, NodeId, Target, Workflow, WorkflowName};
use crate::{
    id::{AgentName, Generation, StepId, ToolName},
    interaction::Field,
    job::FailReason,
    tool::Binding,
};

/// Maximum number of moves in one advance. Further moves follow in the next one.
pub const MOVES_MAX: usize = 256;

/// Maximum number of workflows that one workflow runs as child jobs, directly or through others.
pub const SUB_WORKFLOWS_MAX: usize = 32;

/// Maximum number of events that a job keeps until a node receives them. Further ones are refused.
pub const EVENTS_MAX: usize = 64;

/// Maximum size of the content of an event, in bytes of JSON.
pub const EVENT_DATA_BYTES_MAX: usize = 16 * 1024;

/// Maximum nesting of map nodes.
pub const MAPS_DEEP_MAX: usize = 4;

/// A workflow as a submission holds it: the definition, the input, and the tools as they were
/// registered. A running job keeps all three, whatever changes later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkflowRun {
    /// Definition.
    pub definition: Workflow,
    /// Input of the job, an object.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub input: Value,
    /// Tools that the nodes of type `tool` call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<ToolName, Binding>,
    /// Workflows that the nodes run as child jobs, directly or through others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workflows: BTreeMap<WorkflowName, SubWorkflow>,
}

/// A workflow that a node of another one runs as a child job, as it was at the submission.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SubWorkflow {
    /// Definition.
    pub definition: Workflow,
    /// Tools that the nodes of type `tool` call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<ToolName, Binding>,
}

impl WorkflowRun {
    /// Returns a run that fails at its beginning: that of a child job whose workflow its parent no
    /// longer has, because a rollback undid the edit that brought it.
    ///
    /// # Panics
    /// Never panics: a word is an id.
    #[must_use]
    pub fn gone(name: WorkflowName, input: Value) -> Self {
        let definition = Workflow {
            name,
            version: 1,
            about: String::new(),
            input: None,
            state: BTreeMap::new(),
            output: None,
            limits: Limits::default(),
            start: NodeId::new("gone").expect("a word is an id"),
            nodes: BTreeMap::new(),
        };
        Self { definition, input, tools: BTreeMap::new(), workflows: BTreeMap::new() }
    }

    /// Returns the run of a sub-workflow with this input, or `None` for an unknown name. It holds
    /// only the workflows that it runs itself, directly or through others.
    #[must_use]
    pub fn below(&self, name: &WorkflowName, input: Value) -> Option<Self> {
        let SubWorkflow { definition, tools } = self.workflows.get(name)?.clone();
        let mut workflows = BTreeMap::new();
        let mut wanted: Vec<&WorkflowName> = definition.sub_workflows().collect();
        while let Some(name) = wanted.pop() {
            let Some((name, sub)) = self.workflows.get_key_value(name) else { continue };
            if !workflows.contains_key(name) {
                workflows.insert(name.clone(), sub.clone());
                wanted.extend(sub.definition.sub_workflows());
            }
        }
        Some(Self { definition, input, tools, workflows })
    }
}

/// A choice of the supervisor about the way of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Advance {
    /// Number of the advance within the job, from 1.
    pub n: u32,
    /// Moves, in order; at most [`MOVES_MAX`].
    pub moves: Vec<Move>,
    /// Generation in which this was decided.
    #[serde(default, skip_serializing_if = "Generation::is_first")]
    pub generation: Generation,
}

/// A visit of a node: the node, the number of the visit from 1, and the items of the maps around it.
///
/// Its text, which is also the id of its step, is `<node>--<number>` or, inside of maps,
/// `<node>--<number>--<item>`, with a `-` between the items of nested maps.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Visit {
    /// Node that is visited.
    pub node: NodeId,
    /// Number of the visit, from 1, among those of this node for these items.
    pub number: u32,
    /// Items of the maps around the node, from the outermost one; at most [`MAPS_DEEP_MAX`].
    pub items: Vec<u32>,
}

/// A path of a workflow: one token that follows the routes.
#[derive(
    Debug,
    Clone,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Path {
    /// The path that begins at the workflow's `start`.
    #[default]
    Main,
    /// A path of a parallel node, or of an item of a map.
    Of {
        /// Visit of the parallel or map node.
        split: Visit,
        /// Number of the branch or of the item, from 0.
        slot: u32,
    },
}

impl Path {
    fn is_main(&self) -> bool {
        *self == Self::Main
    }

    /// Returns whether the path began at this visit of a parallel or map node.
    #[must_use]
    pub fn is_of(&self, visit: &Visit) -> bool {
        match self {
            Self::Main => false,
            Self::Of { split, slot: _ } => split == visit,
        }
    }
}

/// A move of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "move", rename_all = "snake_case")]
pub enum Move {
    /// A path enters a node, whose work begins.
    Enter {
        /// Visit of the node.
        visit: Visit,
        /// Path that enters.
        #[serde(default, skip_serializing_if = "Path::is_main")]
        path: Path,
        /// Work with the evaluated values.
        #[serde(flatten)]
        work: Entered,
    },
    /// A value is written to the state. Its reducer combines it with the present one.
    Write {
        /// Key of the state.
        key: Key,
        /// Written value.
        value: Value,
    },
    /// A visit receives an event, which ends its work. The job keeps the event no longer.
    Receive {
        /// Visit of an `event` node.
        visit: Visit,
        /// Number of the event among those that the job counted, from 1.
        event: u32,
    },
    /// The work of a visit is over, and its path leaves.
    Leave {
        /// Visit that is left.
        visit: Visit,
        /// Way on.
        to: Target,
        /// Condition that was true; absent for a way without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        when: Option<Expression>,
        /// Error that sent the path on its way; absent when the work succeeded or its time was up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Paths begin at a parallel or map node.
    Split {
        /// Visit of the node.
        visit: Visit,
        /// Number of the paths.
        paths: u32,
        /// Items of a map, one for each path.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        items: Vec<Value>,
    },
    /// A path ended at its join.
    Arrive {
        /// Path that ended.
        path: Path,
        /// Error that ended it; absent when it succeeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Values that the item of a map contributes, by key of the state.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        collected: BTreeMap<Key, Value>,
    },
    /// A split is over. Paths that have not ended are cancelled, and the values that the items of a
    /// map contributed are written in the order of the items.
    Join {
        /// Visit of the parallel or map node.
        visit: Visit,
        /// `true` if the join cannot have what it waits for. Nothing is written then.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
    },
    /// The workflow ends.
    End {
        /// End of the workflow.
        #[serde(flatten)]
        end: WorkflowEnd,
    },
}

/// The work of a visited node, with evaluated values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum Entered {
    /// A model turn without tools.
    Model {
        /// Prompt.
        prompt: String,
        /// System prompt; the agent's when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system: Option<String>,
    },
    /// A call of a tool.
    Tool {
        /// Arguments, an object.
        args: Value,
    },
    /// Model turns and tools in this job.
    Agent {
        /// Task.
        task: String,
    },
    /// A child job.
    Child {
        /// Agent of the child job.
        agent: AgentName,
        /// Task of the child job.
        task: String,
    },
    /// A child job that runs a workflow.
    Workflow {
        /// Workflow of the child job.
        workflow: WorkflowName,
        /// Input, an object.
        input: Value,
    },
    /// A question to a person.
    Human {
        /// Question.
        ask: String,
        /// Fields of the form; none for a question that takes a text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        form: Vec<Field>,
    },
    /// A pause.
    Wait {
        /// End of the pause.
        until: Timestamp,
    },
    /// A wait for an event.
    Event {
        /// End of the wait; absent when it has none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// Nothing outside of the workflow: a branch, writes, a split or an end.
    Passed,
}

/// The end of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum WorkflowEnd {
    /// The workflow succeeded.
    Completed {
        /// Output.
        output: Value,
    },
    /// The workflow failed.
    Failed {
        /// Reason for programs.
        reason: FailReason,
        /// Reason for users.
        message: String,
    },
}

/// A text that is not the name of a visit or a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no visit of a node and no path")]
pub struct InvalidVisit(String);

impl Visit {
    /// Returns the id of the visit's step.
    ///
    /// # Panics
    /// Never panics: a node id, a number and four items fit a step id.
    #[must_use]
    pub fn step(&self) -> StepId {
        StepId::new(self.to_string()).expect("a node id, a number and four items fit a step id")
    }
}

impl fmt::Display for Visit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}--{}", self.node, self.number)?;
        for (place, item) in self.items.iter().enumerate() {
            write!(f, "{}{item}", if place == 0 { "--" } else { "-" })?;
        }
        Ok(())
    }
}

impl FromStr for Visit {
    type Err = InvalidVisit;

    fn from_str(text: &str) -> Result<Self, InvalidVisit> {
        let wrong = || InvalidVisit(crate::excerpt::ends(text, 80));
        let mut parts = text.split("--");
        let node = parts.next().and_then(|node| NodeId::new(node).ok()).ok_or_else(wrong)?;
        let number = parts.next().and_then(canonical).filter(|n| *n > 0).ok_or_else(wrong)?;
        let items = match parts.next() {
            None => Some(Vec::new()),
            Some(items) => items.split('-').map(canonical).collect(),
        };
        let items = items.filter(|items: &Vec<u32>| items.len() <= MAPS_DEEP_MAX);
        match (items, parts.next()) {
            (Some(items), None) => Ok(Self { node, number, items }),
            (_, _) => Err(wrong()),
        }
    }
}

/// Parses a number in its only form, so that a visit has one name.
fn canonical(text: &str) -> Option<u32> {
    let number = text.parse::<u32>().ok()?;
    (number.to_string() == text).then_some(number)
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main"),
            Self::Of { split, slot } => write!(f, "{split}/{slot}"),
        }
    }
}

impl FromStr for Path {
    type Err = InvalidVisit;

    fn from_str(text: &str) -> Result<Self, InvalidVisit> {
        match text.split_once('/') {
            None if text == "main" => Ok(Self::Main),
            None => Err(InvalidVisit(crate::excerpt::ends(text, 80))),
            Some((split, slot)) => {
                let wrong = || InvalidVisit(crate::excerpt::ends(text, 80));
                Ok(Self::Of { split: split.parse()?, slot: canonical(slot).ok_or_else(wrong)? })
            }
        }
    }
}

macro_rules! as_text {
    ($($name:ident),*) => {$(
        impl From<$name> for String {
            fn from(it: $name) -> Self {
                it.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidVisit;
            fn try_from(text: String) -> Result<Self, InvalidVisit> {
                text.parse()
            }
        }
    )*};
}

as_text!(Visit, Path);

#[cfg(test)]
mod tests {
    use super::{Path, Visit};

    #[test]
    fn a_visit_has_one_name() {
        for text in ["check--1", "a-b_c--12", "judge--1--0", "judge--3--2-5-0"] {
            let visit: Visit = text.parse().unwrap();
            assert_eq!(visit.to_string(), text);
            assert_eq!(visit.step().as_str(), text);
            let path = format!("{text}/3");
            assert_eq!(path.parse::<Path>().unwrap().to_string(), path);
        }
    }

    #[test]
    fn other_texts_name_no_visit() {
        let wrong = ["check", "check--0", "check--01", "a--1--1-2-3-4-5", "a--1--1--1", "--1"];
        for text in wrong {
            assert!(text.parse::<Visit>().is_err(), "{text}");
            assert!(format!("{text}/0").parse::<Path>().is_err(), "{text}");
        }
    }
}
