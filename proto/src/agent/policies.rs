//! The policies of an agent, and what follows from several of them together.

use serde::{Deserialize, Serialize};

use super::{
    Asking, Calling, Dispatch, OnFailure, PlanWhen, Planning, ReplanWhen, Replanning, StepExec,
    Stepping, SubAgent,
    checked::{Checked, InvalidAgent, out_of_scale, out_of_share, out_of_time, refuse},
    step,
};
use crate::{
    budget::Budget,
    conversation::Memory,
    guard::Guard,
    id::{AgentName, ToolName},
    lang::Language,
    limits,
    observe::Observe,
    policy::PlanProtocol,
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
    #[serde(skip_serializing_if = "crate::is_default")]
    pub budget: Budget,
    /// Guards against loops that lead nowhere.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub guard: Guard,
    /// How much of results and conversations models are shown.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub observe: Observe,
    /// What is carried over between the jobs of a conversation.
    #[serde(skip_serializing_if = "crate::is_default")]
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
            PlanWhen::Always | PlanWhen::Auto => self.plan.protocol != PlanProtocol::InlineTools,
        }
    }

    /// Checks every bound.
    pub(crate) fn check_bounds(&self) -> Result<(), InvalidAgent> {
        self.check_agents()?;
        self.plan.check()?;
        self.ask.check()?;
        self.step.check()?;
        self.tool.check()?;
        self.check_presets()?;
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

    /// The sub-agent of a name.
    #[must_use]
    pub fn sub_agent(&self, name: &str) -> Option<&SubAgent> {
        self.agents.iter().find(|sub| sub.name.as_str() == name)
    }

    /// Whether arguments are fixed of nothing but tools that the agent may use.
    fn check_presets(&self) -> Checked {
        for (tool, _) in self.tool.presets.iter() {
            let field = format!("tool.presets.{tool}");
            if self.sub_agent(tool.as_str()).is_some() {
                return refuse(&field, "must be a tool; arguments of agents cannot be fixed");
            }
            if self.tools.as_ref().is_some_and(|tools| !tools.contains(tool)) {
                return refuse(&field, "is not among the tools of this agent");
            }
        }
        Ok(())
    }

    /// When the rest of the plan is replanned: as stated, or as the protocol implies.
    #[must_use]
    pub fn replan_when(&self) -> ReplanWhen {
        match (self.replan.when, self.plan.protocol) {
            (_, PlanProtocol::Decision) => ReplanWhen::EveryTurn,
            (_, PlanProtocol::Phased) => ReplanWhen::AfterEachItem,
            (Some(when), _) => when,
            (
                None,
                PlanProtocol::Steps
                | PlanProtocol::TaskSteps
                | PlanProtocol::TitleSteps
                | PlanProtocol::ActionSteps
                | PlanProtocol::InlineTools,
            ) => match self.step.on_failure {
                OnFailure::Replan => ReplanWhen::OnFailure,
                OnFailure::Stop | OnFailure::Continue | OnFailure::FailRun => ReplanWhen::Never,
            },
        }
    }
}
