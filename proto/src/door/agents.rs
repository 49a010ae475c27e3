//! The verbs about agents: what submissions may name. Types alone; what an agent is stands in
//! [`crate::agent`].

use serde::{Deserialize, Serialize};

use crate::{
    agent::{Agent, Layer},
    id::AgentName,
};

/// Asks for the agents there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agents {
    /// Only this one, with its text and its effective values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<AgentName>,
}

/// Agents that submissions may name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentList {
    /// By name.
    pub agents: Vec<AgentEntry>,
}

/// One agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentEntry {
    /// Its name.
    pub name: AgentName,
    /// Where it comes from.
    pub layer: Layer,
    /// The file or key that has its text.
    pub place: String,
    /// What it extends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<AgentName>,
    /// What it is for, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Its text, when one agent was asked for and it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its effective values, when one agent was asked for and it can be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<Box<Agent>>,
    /// Why it cannot be used; empty when it can.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<String>,
    /// Why the bucket's value of this name is no agent, when it is left out for that; the agent shown
    /// here holds in spite of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
}

/// Puts an agent into the bucket of agents, in the place of one of that name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetAgent {
    /// Its name.
    pub name: AgentName,
    /// YAML.
    pub text: String,
}

/// Takes an agent out of the bucket of agents; what it hid is there again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropAgent {
    /// Its name.
    pub name: AgentName,
}

/// An agent was changed. Jobs that run keep the policies they were submitted with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentChanged {
    /// Its name.
    pub name: AgentName,
    /// What may not be meant: tools it names that no worker announces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
