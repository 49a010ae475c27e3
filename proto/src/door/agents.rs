//! The verbs about agents. The policies of an agent are defined in [`crate::agent`].

use serde::{Deserialize, Serialize};

use crate::{
    agent::{Agent, Layer},
    id::AgentName,
    refusal::Warnings,
};

/// The request for agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Agents {
    /// Agent to describe in full, with its source and effective policies; all agents in brief when
    /// absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<AgentName>,
}

/// The reply with the agents that submissions may name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentList {
    /// Agents, sorted by name.
    pub agents: Vec<AgentEntry>,
}

/// The description of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// Mistakes of the agent; empty when it is usable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<String>,
    /// Mistakes of the bucket's value under this name, when that value is not an agent and is
    /// ignored. The agent described here is in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// The request to store an agent in the bucket, in place of a former one of that name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetAgent {
    /// Name of the agent.
    pub name: AgentName,
    /// Source of the agent, in YAML.
    pub text: String,
}

/// The request to remove an agent from the bucket. An agent of an earlier layer is then visible
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropAgent {
    /// Name of the agent.
    pub name: AgentName,
}

/// The reply to a change of an agent. Running jobs keep the policies of their submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AgentChanged {
    /// Name of the agent.
    pub name: AgentName,
    /// Warnings about probable errors: tools that the agent names and no worker announces.
    #[serde(flatten)]
    pub warnings: Warnings,
}
