//! The verbs about workflows by name. The form of a workflow is defined in [`crate::workflow`].

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    agent::Layer,
    refusal::Warnings,
    workflow::{Workflow, WorkflowName, WorkflowShape},
};

/// The request for workflows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Workflows {
    /// Workflow to describe in full, with its source and definition; all workflows in brief when
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<WorkflowName>,
    /// Stored version of the workflow `name`; that in force when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// The reply with the workflows that submissions, agents and nodes may name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkflowList {
    /// Workflows, sorted by name.
    pub workflows: Vec<WorkflowEntry>,
}

/// The description of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkflowEntry {
    /// Name of the workflow.
    pub name: WorkflowName,
    /// Layer that the workflow comes from: `preset` or `bucket`.
    pub layer: Layer,
    /// Revision of the bucket's value; absent for a built-in workflow, and for a version that is not
    /// in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// Version in the file; absent when the file cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Purpose of the workflow, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// SHA-256 of the definition, in hex; absent when the file cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// YAML of the workflow's file. Present when one workflow was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Definition. Present when one workflow was requested and its file can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Box<Workflow>>,
    /// Nodes and edges of the definition. Present with it, unless the reply would be too large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Box<WorkflowShape>>,
    /// Mistakes of a value that another program stored; empty when the workflow is usable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<String>,
    /// Versions that were stored, highest first. Present when one workflow was requested. The lowest
    /// ones are dropped beyond [`crate::limits::WORKFLOW_VERSIONS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<WorkflowVersion>,
}

/// A stored version of a workflow. A version has one definition: a changed one needs another number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkflowVersion {
    /// Version in the file.
    pub version: u32,
    /// SHA-256 of the definition, in hex.
    pub digest: String,
    /// Time at which the version was stored first; absent when it was not recorded, as with earlier
    /// releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// Author of the version, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The request to store a workflow in the bucket, in place of a former one of that name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetWorkflow {
    /// Name of the workflow, which is also that in its file.
    pub name: WorkflowName,
    /// File of the workflow, in YAML; at most 256 KiB.
    pub text: String,
    /// Revision that the bucket must still have, 0 for none; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u64>,
    /// `true` to check the workflow without storing it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
    /// Name of the author. The server ignores it when a token identifies the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The request to remove a workflow from the bucket. A built-in workflow of the name is then visible
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropWorkflow {
    /// Name of the workflow.
    pub name: WorkflowName,
    /// Revision that the bucket must still have; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u64>,
}

/// The reply to a change of a workflow. Running jobs keep the definition of their submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WorkflowChanged {
    /// Name of the workflow.
    pub name: WorkflowName,
    /// Revision that is in force now, or that of the removal. Absent after a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// Nodes and edges of the checked file. Present after a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Box<WorkflowShape>>,
    /// Warnings about probable errors: those of the check, and other workflows and agents that name
    /// a removed one.
    #[serde(flatten)]
    pub warnings: Warnings,
}
