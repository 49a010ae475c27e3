//! The verbs about the installation: the caller's rights and the live processes.

use serde::{Deserialize, Serialize};

use super::Role;
use crate::{decision::DecisionKind, id::Pool, wire::Presence};

/// The request for the caller's rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetAbout {}

/// The caller's rights at the front door, and the size of the installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct About {
    /// Name of the caller; absent in an installation that does not know its callers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Roles of the caller.
    pub roles: Vec<Role>,
    /// Verbs that the caller may use.
    pub may: Vec<String>,
    /// Number of shards.
    pub shards: u16,
}

/// The request for the live processes.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
pub struct GetCrew {
    /// `true` to receive the depths of the queues, too, which the broker has to be asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queues: bool,
}

/// The reply with the running processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Crew {
    /// Presence messages, sorted by worker id.
    pub workers: Vec<Presence>,
    /// Queues of commands, sorted by kind and pool. Absent without `queues` in the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<Vec<PoolQueue>>,
}

/// The queue of a pool, over all shards whose queues could be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PoolQueue {
    /// Kind of the commands.
    pub kind: DecisionKind,
    /// Pool whose workers take them.
    pub pool: Pool,
    /// Number of commands that no worker has received.
    pub waiting: u64,
}
