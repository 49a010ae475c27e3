//! An agent: the policies by which one engine behaves like many. A job carries the agent it was
//! submitted with, so that editing an agent never changes a job that runs.

use serde::{Deserialize, Serialize};

use crate::{
    budget::Budget,
    conversation::Memory,
    guard::Guard,
    id::{AgentName, ToolName},
    limits,
    observe::Observe,
    policy::{AskLimit, Detector, PlanOutput, PlanProtocol},
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
    /// What it may spend.
    #[serde(skip_serializing_if = "Budget::is_default")]
    pub budget: Budget,
    /// Guards against loops that lead nowhere.
    #[serde(skip_serializing_if = "Guard::is_default")]
    pub guard: Guard,
    /// How much of results and conversations models are shown.
    #[serde(skip_serializing_if = "Observe::is_default")]
    pub observe: Observe,
    /// What is carried over between the jobs of a conversation.
    #[serde(skip_serializing_if = "Memory::is_default")]
    pub memory: Memory,
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
    /// What finds out whether there is one, with [`PlanWhen::Auto`].
    #[serde(skip_serializing_if = "Detector::is_usual")]
    pub detect: Detector,
    /// The model that is asked whether a goal needs a plan; the one that plans when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detect_model: Option<String>,
    /// The shape a model is asked to plan in.
    #[serde(skip_serializing_if = "PlanProtocol::is_usual")]
    pub protocol: PlanProtocol,
    /// How a model hands the plan over.
    #[serde(skip_serializing_if = "PlanOutput::is_usual")]
    pub output: PlanOutput,
    /// The model that plans; the agent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its sampling temperature; the agent's when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
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
    /// Goals that need it are planned, the others are one step. See [`Planning::detect`].
    Auto,
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
    /// Questions in the life of the job, confirmations not counted. Where it is reached, the tool
    /// to ask with is not offered any more.
    pub limit: AskLimit,
    /// Questions in the life of the job after which one more ends it; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    /// How often a question may be asked that has been answered before: the agent is told the
    /// answer, and at this number the job ends. Not looked at when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat_limit: Option<u32>,
    /// Whether agents' questions begin with fixed words that say that an answer is waited for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub prefix: bool,
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
    /// How a step is carried out.
    #[serde(skip_serializing_if = "StepExec::is_as_planned")]
    pub exec: StepExec,
    /// Tool calls and questions of one turn (1 to 64); the model is told of those that are too many.
    #[serde(default = "calls_max", skip_serializing_if = "is_calls_max")]
    pub max_calls: u32,
}

/// How a step is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepExec {
    /// As the planner says: a step that names a tool is one call of it, any other is a loop of model
    /// turns and tool calls.
    AsPlanned,
    /// Every step is one tool call. A plan with another step is refused, and the planner told.
    DirectTool,
    /// Every step is a loop. A plan with a step that names a tool is refused, and the planner told.
    MasterLoop,
    /// Steps without a tool are one model turn: the one call it asks for is the step, and what it
    /// says instead is its result.
    SingleAction,
}

impl StepExec {
    /// Whether a step may be carried out so.
    #[must_use]
    pub fn allows(self, action: &crate::plan::Action) -> bool {
        use crate::plan::Action;
        match (self, action) {
            (Self::AsPlanned | Self::SingleAction, Action::Tool { .. } | Action::Agent)
            | (Self::DirectTool, Action::Tool { .. })
            | (Self::MasterLoop, Action::Agent) => true,
            (Self::DirectTool, Action::Agent) | (Self::MasterLoop, Action::Tool { .. }) => false,
        }
    }

    /// Whether it is the default: that is not written down.
    #[must_use]
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub fn is_as_planned(&self) -> bool {
        *self == Self::AsPlanned
    }
}

/// [`limits::CALLS_PER_TURN_MAX`] as policies count.
const fn calls_max() -> u32 {
    limits::CALLS_PER_TURN_MAX as u32
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_calls_max(calls: &u32) -> bool {
    *calls == calls_max()
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
            budget: Budget::default(),
            guard: Guard::default(),
            observe: Observe::default(),
            memory: Memory::default(),
            deadline_ms: None,
        }
    }
}

impl Default for Planning {
    fn default() -> Self {
        Self {
            when: PlanWhen::Always,
            detect: Detector::default(),
            detect_model: None,
            protocol: PlanProtocol::default(),
            output: PlanOutput::default(),
            model: None,
            temperature: None,
            attempts: 3,
            on_unparseable: OnUnparseable::Fail,
            allow_empty: false,
        }
    }
}

impl Default for Asking {
    fn default() -> Self {
        Self {
            limit: AskLimit::AtMost(3),
            rounds: None,
            repeat_limit: None,
            prefix: false,
            deadline_ms: None,
        }
    }
}

impl Default for Stepping {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::never(),
            on_failure: OnFailure::Stop,
            max_turns: limits::TURNS_MAX,
            exec: StepExec::AsPlanned,
            max_calls: calls_max(),
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
    /// Calls of one turn that are carried out.
    #[must_use]
    pub fn calls_per_turn(&self) -> u32 {
        match self.step.exec {
            StepExec::SingleAction => 1,
            StepExec::AsPlanned | StepExec::DirectTool | StepExec::MasterLoop => {
                self.step.max_calls
            }
        }
    }

    /// Whether a turn may have as many calls as there can be.
    #[must_use]
    pub fn has_all_calls(&self) -> bool {
        self.calls_per_turn() == calls_max()
    }

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
        if !(1..=calls_max()).contains(&self.step.max_calls) {
            return fail("step.max_calls", "must be 1 to 64");
        }
        for (axis, checked) in [
            ("budget", self.budget.check()),
            ("guard", self.guard.check()),
            ("observe", self.observe.check()),
            ("memory", self.memory.check()),
        ] {
            if let Err((field, why)) = checked {
                return Err(InvalidAgent { field: format!("{axis}.{field}"), why });
            }
        }
        if self.replan.max > limits::ATTEMPTS_MAX {
            return fail("replan.max", "must be at most 100");
        }
        self.plan.check().and_then(|()| self.ask.check())?;
        self.check_inline()?;
        let out_of_range =
            |ms: Option<u64>| ms.is_some_and(|ms| ms == 0 || ms > limits::WAIT_MS_MAX);
        if out_of_range(self.deadline_ms) {
            return fail("deadline_ms", "must be 1 ms to one year");
        }
        if out_of_range(self.ask.deadline_ms) {
            return fail("ask.deadline_ms", "must be 1 ms to one year");
        }
        if out_of_scale(self.temperature) {
            return fail("temperature", "must be 0.0 to 2.0");
        }
        if self.system.len() > limits::DESCRIPTION_BYTES_MAX {
            return fail("system", "must be at most 32 KiB");
        }
        Ok(())
    }

    /// A plan that the executor keeps itself has no planner that could make it anew.
    fn check_inline(&self) -> Result<(), InvalidAgent> {
        if self.plan.protocol != PlanProtocol::InlineTools {
            return Ok(());
        }
        if self.plan.when != PlanWhen::Always {
            return refuse("plan.when", "must be always with inline_tools, which has no planner");
        }
        if self.step.on_failure == OnFailure::Replan {
            return refuse(
                "step.on_failure",
                "must not be replan with inline_tools, which has no planner",
            );
        }
        Ok(())
    }
}

fn refuse(field: &str, why: &'static str) -> Result<(), InvalidAgent> {
    Err(InvalidAgent { field: field.to_owned(), why })
}

fn out_of_scale(temperature: Option<f64>) -> bool {
    temperature.is_some_and(|t| !(0.0..=2.0).contains(&t))
}

impl Planning {
    fn check(&self) -> Result<(), InvalidAgent> {
        if !(1..=limits::ATTEMPTS_MAX).contains(&self.attempts) {
            return refuse("plan.attempts", "must be 1 to 100");
        }
        if out_of_scale(self.temperature) {
            return refuse("plan.temperature", "must be 0.0 to 2.0");
        }
        if self.detect == Detector::Model && self.when != PlanWhen::Auto {
            return refuse("plan.detect", "is looked at only where plan.when is auto");
        }
        if self.detect_model.is_some() && self.detect != Detector::Model {
            return refuse("plan.detect_model", "is asked only where plan.detect is model");
        }
        Ok(())
    }
}

impl Asking {
    fn check(&self) -> Result<(), InvalidAgent> {
        if let AskLimit::AtMost(limit) = self.limit {
            if limit > 1000 {
                return refuse("ask.limit", "must be at most 1000, or \"unlimited\"");
            }
            if self.rounds.is_some_and(|rounds| rounds >= limit) {
                return refuse(
                    "ask.rounds",
                    "must be below ask.limit, at which agents cannot ask any more",
                );
            }
        }
        let out_of_range = |n: Option<u32>| n.is_some_and(|n| !(1..=1000).contains(&n));
        if out_of_range(self.rounds) {
            return refuse("ask.rounds", "must be 1 to 1000");
        }
        if out_of_range(self.repeat_limit) {
            return refuse("ask.repeat_limit", "must be 1 to 1000");
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
