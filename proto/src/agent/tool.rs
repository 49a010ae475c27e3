//! How tool calls are retried.

use serde::{Deserialize, Serialize};

use super::checked::{Checked, InvalidAgent};
use crate::{preset::Presets, retry::RetryPolicy};

/// How tool calls are retried.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Calling {
    /// For faults that may pass (timeouts, unavailable services, lost workers).
    pub retry: RetryPolicy,
    /// What follows when no attempt is left after such a fault, of a call, a model turn or a round
    /// of planning.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub on_given_up: OnGivenUp,
    /// Arguments of tools that no model is shown and every call has.
    #[serde(skip_serializing_if = "Presets::is_empty")]
    pub presets: Presets,
}

/// What follows when no attempt is left of work whose faults may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnGivenUp {
    /// It has failed, and what that means is for the step, the model or the job to say.
    #[default]
    Fail,
    /// It is dead-lettered: it waits for an operator, who has it tried again or ends the job.
    Park,
}

impl Calling {
    pub(super) fn check(&self) -> Checked {
        let wrong = self.retry.check();
        wrong.map_err(|(field, why)| InvalidAgent { field: format!("tool.retry.{field}"), why })?;
        self.presets.check().map_err(|(tool, why)| match tool {
            Some(tool) => InvalidAgent { field: format!("tool.presets.{tool}"), why },
            None => InvalidAgent { field: "tool.presets".to_owned(), why },
        })
    }
}
