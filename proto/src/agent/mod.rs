//! An agent: the policies by which one engine behaves like many. A job carries the agent it was
//! submitted with, so that editing an agent never changes a job that runs.
//!
//! One file for each axis; [`clash`] has the table of what does not go together. A word stands here
//! together with what it does elsewhere: none is accepted and ignored.

mod ask;
pub mod catalogue;
pub mod clash;
mod plan;
mod replan;
pub mod source;
mod step;
mod sub;
mod tool;
pub mod words;

use serde::{Deserialize, Serialize};

pub use self::{
    ask::Asking,
    plan::{OnUnparseable, PlanWhen, Planning},
    replan::{Listed, ReplanApply, ReplanWhen, Replanning},
    step::{Dispatch, OnBlocked, OnFailure, OnUnsuccessful, StepExec, Stepping},
    sub::{SubAgent, called_like_a_tool},
    tool::{Calling, OnGivenUp},
};
use crate::{
    budget::Budget,
    conversation::Memory,
    guard::Guard,
    id::{AgentName, ToolName},
    lang::Language,
    limits,
    observe::Observe,
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
    /// Nucleus sampling, or the provider's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// The language of jobs whose submission names none; that of the goal when absent. Of a sub-agent:
    /// in place of the language of the job it works for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Words put before every prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// Tools it may use; all registered ones when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolName>>,
    /// Agents it may hand tasks to, each of which is then a job of its own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<SubAgent>,
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
    /// When the rest of the plan is replanned.
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

impl Default for Agent {
    fn default() -> Self {
        Self {
            name: AgentName::new("default").expect("`default` is an id"),
            model: None,
            temperature: None,
            top_p: None,
            language: None,
            system: String::new(),
            tools: None,
            agents: Vec::new(),
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

/// A policy is out of its bounds, or two do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("agent.{field} {why}")]
pub struct InvalidAgent {
    /// The field, dotted.
    pub field: String,
    /// What it must be.
    pub why: &'static str,
}

/// Whether a part of an agent is as it must be.
pub(crate) type Checked = Result<(), InvalidAgent>;

fn refuse(field: &str, why: &'static str) -> Checked {
    Err(InvalidAgent { field: field.to_owned(), why })
}

fn out_of_scale(temperature: Option<f64>) -> bool {
    temperature.is_some_and(|t| !(0.0..=2.0).contains(&t))
}

fn out_of_share(top_p: Option<f64>) -> bool {
    top_p.is_some_and(|p| !(p > 0.0 && p <= 1.0))
}

fn out_of_time(ms: Option<u64>) -> bool {
    ms.is_some_and(|ms| ms == 0 || ms > limits::WAIT_MS_MAX)
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
        self.calls_per_turn() == step::calls_max()
    }

    /// Whether a planner makes its plans, so that it can replan.
    #[must_use]
    pub fn has_planner(&self) -> bool {
        match self.plan.when {
            PlanWhen::Never => false,
            PlanWhen::Always | PlanWhen::Auto => {
                self.plan.protocol != crate::policy::PlanProtocol::InlineTools
            }
        }
    }

    /// Checks every bound, and that no two policies contradict each other.
    ///
    /// # Errors
    /// The first field that is out of bounds, or cannot be with another one.
    pub fn check(&self) -> Result<(), InvalidAgent> {
        self.check_bounds()?;
        clash::contradiction(self).map_or(Ok(()), |clash| refuse(clash.fields[0], clash.why))
    }

    /// Checks every bound.
    pub(crate) fn check_bounds(&self) -> Result<(), InvalidAgent> {
        self.check_agents()?;
        self.plan.check()?;
        self.ask.check()?;
        self.step.check()?;
        self.tool.check()?;
        self.tool.check_tools(self)?;
        self.replan.check()?;
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
        if out_of_time(self.deadline_ms) {
            return refuse("deadline_ms", "must be 1 ms to one year");
        }
        if out_of_scale(self.temperature) {
            return refuse("temperature", "must be 0.0 to 2.0");
        }
        if out_of_share(self.top_p) {
            return refuse("top_p", "must be above 0.0 and at most 1.0");
        }
        if self.system.len() > limits::DESCRIPTION_BYTES_MAX {
            return refuse("system", "must be at most 32 KiB");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
