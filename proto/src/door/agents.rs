//! The verbs about agents. The policies of an agent are defined in [`crate::agent`].

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{Agent, Layer},
    id::AgentName,
    refusal::Warnings,
};

/// The request for agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agents {
    /// Agent to describe in full, with its source and effective policies; all agents in brief when
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<AgentName>,
}

/// The reply with the agents that submissions may name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentList {
    /// Agents, sorted by name.
    pub agents: Vec<AgentEntry>,
}

/// The description of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentEntry {
    /// Name of the agent.
    pub name: AgentName,
    /// Layer that the agent comes from.
    pub layer: Layer,
    /// File or key of the agent's source.
    pub place: String,
    /// Agent that this one extends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<AgentName>,
    /// Purpose of the agent, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// YAML of the agent's source. Present when one agent was requested and it has a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Effective policies. Present when one agent was requested and it is usable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<Box<Agent>>,
    /// Revision of the bucket's value. Present when one agent was requested and the bucket has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// Mistakes of the agent; empty when it is usable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<String>,
    /// Mistakes of the bucket's value under this name, when that value is not an agent and is
    /// ignored. The agent described here is in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// The request to store an agent in the bucket, in place of a former one of that name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAgent {
    /// Name of the agent.
    pub name: AgentName,
    /// Source of the agent, in YAML.
    pub text: String,
    /// Revision that the bucket must still have, 0 for none; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u64>,
    /// `true` to check the agent without storing it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub check: bool,
    /// Name of the author. The server ignores it when a token identifies the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The request to remove an agent from the bucket. An agent of an earlier layer is then visible
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropAgent {
    /// Name of the agent.
    pub name: AgentName,
    /// Revision that the bucket must still have; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u64>,
    /// Name of the author. The server ignores it when a token identifies the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The reply to a change of an agent. Running jobs keep the policies of their submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentChanged {
    /// Name of the agent.
    pub name: AgentName,
    /// Revision that is in force now, or that of the removal. Absent after a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
    /// Warnings about probable errors: tools that the agent names and no worker announces, and a
    /// limit on money without a known price.
    #[serde(flatten)]
    pub warnings: Warnings,
}

/// The request for the revisions of an agent in the bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRevisions {
    /// Name of the agent.
    pub name: AgentName,
    /// Revision to return with its text; all of them without their texts when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
}

/// The reply with the revisions of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentHistory {
    /// Name of the agent.
    pub name: AgentName,
    /// Revision in force; absent when the bucket has no agent of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<u64>,
    /// Revisions, newest first. The oldest ones are dropped beyond
    /// [`crate::limits::AGENT_REVISIONS_MAX`].
    pub revisions: Vec<AgentRevision>,
}

/// One change of an agent in the bucket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRevision {
    /// Number of the revision. A later change of any agent has a greater one.
    pub revision: u64,
    /// Time of the change; absent when it was not recorded, as with earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Timestamp>,
    /// Author of the change, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// `true` if the change removed the agent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
    /// Source of the agent, in YAML. Present when one revision was requested and it has a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
