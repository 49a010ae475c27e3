//! The internal form of a workflow: a graph of nodes that has passed the checker, with its state,
//! its bounds and the pairing of its parallel parts.
//!
//! Both spellings of a workflow file are read to this form, and logs hold it. Expressions and
//! templates are texts here. The evaluator reads them when a job takes a decision; a fold never
//! does, because decisions record the values.
//!
//! Architecture invariant: this module evaluates nothing and checks no graph.

mod advance;
mod edges;
mod edit;
mod form;
mod name;
mod node;
mod progress;
mod reduce;
mod region;
mod shape;
mod target;
mod template;
mod whole;
mod work;

pub use self::{
    advance::{
        Advance, EVENT_DATA_BYTES_MAX, EVENTS_MAX, Entered, InvalidVisit, MAPS_DEEP_MAX, MOVES_MAX,
        Move, Path, SUB_WORKFLOWS_MAX, SubWorkflow, Visit, WorkflowEnd, WorkflowRun,
    },
    edges::{Edge, EdgeKind, Place},
    edit::{EDITS_MAX, GraphChanges, GraphEdit},
    form::FormField,
    name::{
        BranchName, EVENT_NAME_BYTES_MAX, EventName, InvalidName, Key, NAME_BYTES_MAX, NodeId,
        WORKFLOW_NAME_BYTES_MAX, WorkflowName,
    },
    node::{Node, Route},
    progress::{
        GraphEdge, GraphNode, NodeView, SHOWN_BYTES_MAX, VisitView, WorkflowFiles, WorkflowGraph,
        WorkflowView, shown,
    },
    reduce::{ReduceError, Reducer, apply},
    region::Region,
    shape::{ShapeNode, WorkflowShape},
    target::Target,
    template::{Expression, TemplateValue},
    whole::{
        DEADLINE_MS_MAX, Limits, NODES_MAX, STATE_BYTES_MAX, STATE_KEYS_MAX, STEPS_MAX, StateSlot,
        VISITS_MAX, Workflow,
    },
    work::{
        Agent, AgentTask, BRANCHES_MAX, Branch, End, Event, Human, ITEMS_MAX, Join, Map, Model,
        Parallel, Paths, Pause, Timeout, Tool, Wait, Work, WorkKind, Yield,
    },
};

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests;
