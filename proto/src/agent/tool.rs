//! The policy of tool calls.

use serde::{Deserialize, Serialize};

use super::{
    Hosts,
    checked::{Checked, InvalidAgent},
};
use crate::{preset::Presets, retry::RetryPolicy};

/// The policy of tool calls.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Calling {
    /// Retry policy of transient faults (timeouts, unavailable services, lost workers).
    pub retry: RetryPolicy,
    /// Consequence when no attempt is left after a transient fault of a call, a model turn or a
    /// round of planning.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub on_given_up: OnGivenUp,
    /// The only hosts that built-in tools may send requests to. `None` for every host that the
    /// operator permits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// Fixed arguments of tools. Models do not see them, and every call has them.
    #[serde(skip_serializing_if = "Presets::is_empty")]
    pub presets: Presets,
}

/// The consequence when work with transient faults has no attempt left.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OnGivenUp {
    /// The work fails. The policies of the step or the job, or the model, decide what follows.
    #[default]
    Fail,
    /// The work becomes a dead letter: an operator retries it or ends the job.
    Park,
}

impl Calling {
    pub(super) fn check(&self) -> Checked {
        let wrong = self.retry.check();
        wrong.map_err(|(field, why)| InvalidAgent { field: format!("tool.retry.{field}"), why })?;
        let hosts = self.hosts.as_ref().map_or(Ok(()), Hosts::check);
        hosts.map_err(|why| InvalidAgent { field: "tool.hosts".to_owned(), why })?;
        self.presets.check().map_err(|(tool, why)| match tool {
            Some(tool) => InvalidAgent { field: format!("tool.presets.{tool}"), why },
            None => InvalidAgent { field: "tool.presets".to_owned(), why },
        })
    }
}
