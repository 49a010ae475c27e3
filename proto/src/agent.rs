//! An agent: the policies by which one engine behaves like many. A job carries the agent it was
//! submitted with, so that editing an agent never changes a job that runs.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AgentName, ToolName},
    limits,
    retry::RetryPolicy,
};

/// The policies of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// Its name.
    pub name: AgentName,
    /// The model, or the configured one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sampling temperature, or the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Words put before every prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// Tools it may use; all registered ones when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolName>>,
    /// Whether and how a plan is made.
    pub plan: Planning,
    /// Whether a person confirms the plan before anything runs.
    pub confirm: bool,
    /// Questions to people.
    pub ask: Asking,
    /// In which order steps run.
    pub dispatch: Dispatch,
    /// How steps are carried out.
    pub step: Stepping,
    /// How tool calls are retried.
    pub tool: Calling,
    /// When the rest of the plan is made anew.
    pub replan: Replanning,
    /// Longest life of a job, in milliseconds from its submission; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// Whether and how a plan is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Planning {
    /// When there is a plan.
    pub when: PlanWhen,
    /// Tries at a reply that can be understood; the error is shown to the model each time.
    pub attempts: u32,
    /// What follows when no try gave a plan.
    pub on_unparseable: OnUnparseable,
    /// Whether a plan without steps completes the job instead of being an error.
    pub allow_empty: bool,
}

/// When there is a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanWhen {
    /// Every goal is planned.
    Always,
    /// The goal is one step, carried out by a loop of model turns.
    Never,
}

/// What follows when the planner's reply cannot be understood, after all tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnUnparseable {
    /// A person is shown the reply and asked what to do.
    Ask,
    /// The job fails.
    Fail,
}

/// Questions to people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Asking {
    /// Questions in the life of the job, confirmations not counted; unlimited when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// How long a question stays open, in milliseconds; for ever when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// In which order steps run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dispatch {
    /// Every step whose dependencies have completed runs at once.
    Parallel,
    /// One step at a time, in the plan's order.
    Sequential,
}

/// How steps are carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Stepping {
    /// How often a failed step is run again before it counts as failed.
    pub retry: RetryPolicy,
    /// What a failed step means for the job.
    pub on_failure: OnFailure,
    /// Model turns of one run of a step (1 to 100).
    pub max_turns: u32,
}

/// What a failed step means for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// Nothing new is started and the job fails.
    Stop,
    /// Steps that do not need it go on.
    Continue,
    /// The rest of the plan is made anew.
    Replan,
}

/// How tool calls are retried.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Calling {
    /// For faults that may pass (timeouts, unavailable services, lost workers).
    pub retry: RetryPolicy,
    /// What follows when no attempt is left after such a fault, of a call, a model turn or a round
    /// of planning.
    #[serde(skip_serializing_if = "OnGivenUp::is_fail")]
    pub on_given_up: OnGivenUp,
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

impl OnGivenUp {
    fn is_fail(&self) -> bool {
        *self == Self::Fail
    }
}

/// When the rest of the plan is made anew.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Replanning {
    /// Replans in the life of the job.
    pub max: u32,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            name: AgentName::new("default").expect("`default` is an id"),
            model: None,
            temperature: None,
            system: String::new(),
            tools: None,
            plan: Planning::default(),
            confirm: true,
            ask: Asking::default(),
            dispatch: Dispatch::Parallel,
            step: Stepping::default(),
            tool: Calling::default(),
            replan: Replanning::default(),
            deadline_ms: None,
        }
    }
}

impl Default for Planning {
    fn default() -> Self {
        Self {
            when: PlanWhen::Always,
            attempts: 3,
            on_unparseable: OnUnparseable::Fail,
            allow_empty: false,
        }
    }
}

impl Default for Asking {
    fn default() -> Self {
        Self { limit: Some(3), deadline_ms: None }
    }
}

impl Default for Stepping {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::never(),
            on_failure: OnFailure::Stop,
            max_turns: limits::TURNS_MAX,
        }
    }
}

impl Default for Replanning {
    fn default() -> Self {
        Self { max: 3 }
    }
}

/// A policy is out of its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("agent.{field} {why}")]
pub struct InvalidAgent {
    /// The field, dotted.
    pub field: String,
    /// What it must be.
    pub why: &'static str,
}

impl Agent {
    /// Checks every bound.
    ///
    /// # Errors
    /// The first field that is out of bounds.
    pub fn check(&self) -> Result<(), InvalidAgent> {
        let fail = |field: &str, why| Err(InvalidAgent { field: field.to_owned(), why });
        for (at, policy) in [("step.retry", &self.step.retry), ("tool.retry", &self.tool.retry)] {
            if let Err((field, why)) = policy.check() {
                return Err(InvalidAgent { field: format!("{at}.{field}"), why });
            }
        }
        if !(1..=limits::TURNS_MAX).contains(&self.step.max_turns) {
            return fail("step.max_turns", "must be 1 to 100");
        }
        if !(1..=limits::ATTEMPTS_MAX).contains(&self.plan.attempts) {
            return fail("plan.attempts", "must be 1 to 100");
        }
        if self.replan.max > limits::ATTEMPTS_MAX {
            return fail("replan.max", "must be at most 100");
        }
        if self.ask.limit.is_some_and(|n| n > 1000) {
            return fail("ask.limit", "must be at most 1000");
        }
        let out_of_range =
            |ms: Option<u64>| ms.is_some_and(|ms| ms == 0 || ms > limits::WAIT_MS_MAX);
        if out_of_range(self.deadline_ms) {
            return fail("deadline_ms", "must be 1 ms to one year");
        }
        if out_of_range(self.ask.deadline_ms) {
            return fail("ask.deadline_ms", "must be 1 ms to one year");
        }
        if self.temperature.is_some_and(|t| !(0.0..=2.0).contains(&t)) {
            return fail("temperature", "must be 0.0 to 2.0");
        }
        if self.system.len() > limits::DESCRIPTION_BYTES_MAX {
            return fail("system", "must be at most 32 KiB");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_out_of_bounds_is_named() {
        let check = |json: &str| {
            let agent: Agent = serde_json::from_str(json).unwrap();
            agent.check().map_err(|e| e.field)
        };
        assert_eq!(check("{}"), Ok(()));
        assert_eq!(check(r#"{"step":{"max_turns":0}}"#), Err("step.max_turns".into()));
        assert_eq!(
            check(r#"{"tool":{"retry":{"max_attempts":1000000000}}}"#),
            Err("tool.retry.max_attempts".into())
        );
        assert_eq!(check(r#"{"deadline_ms":0}"#), Err("deadline_ms".into()));
    }

    #[test]
    fn a_misspelt_policy_is_refused() {
        let err =
            serde_json::from_str::<Agent>(r#"{"step":{"retires":{}}}"#).unwrap_err().to_string();
        assert!(err.contains("unknown field `retires`"), "{err}");
    }
}
