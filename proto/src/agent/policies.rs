//! The policies of an agent, and the consequences of their combinations.

use serde::{Deserialize, Serialize};

use super::{
    Approving, Asking, Calling, Dispatch, OnFailure, PlanWhen, Planning, ReplanWhen, Replanning,
    StepExec, Stepping, SubAgent,
    checked::{Checked, InvalidAgent, out_of_scale, out_of_share, out_of_time, refuse},
    step,
};
use crate::{
    bounds::Text,
    budget::Budget,
    conversation::Memory,
    effort::Effort,
    fallback::{self, Fallback},
    guard::Guard,
    id::{AgentName, ToolName},
    lang::Language,
    limits,
    observe::Observe,
    output::OutputSchema,
    policy::PlanProtocol,
    retry::OutagePolicy,
    workflow::WorkflowName,
};

/// The policies of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// Name of the agent.
    pub name: AgentName,
    /// Model; the configured one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models to ask, in this order, if the model does not answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<Fallback>,
    /// Sampling temperature (0.0 to 2.0); the provider's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling (above 0.0, at most 1.0); the provider's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Effort of the model's reasoning; the provider's default when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Language of jobs whose submission names none; the language of the goal when absent. A
    /// sub-agent's language replaces that of the parent job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// Text before every prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// Tools that the agent may use; all registered tools when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolName>>,
    /// Agents that this one may delegate to. Each task becomes a child job.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<SubAgent>,
    /// Policy of planning.
    pub plan: Planning,
    /// `true` if a user must confirm the plan before any step runs.
    pub confirm: bool,
    /// Policy of approvals.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub approval: Approving,
    /// Policy of questions to users.
    pub ask: Asking,
    /// Order of the steps.
    pub dispatch: Dispatch,
    /// Policy of carrying out steps.
    pub step: Stepping,
    /// Policy of tool calls.
    pub tool: Calling,
    /// Policy for models and tool services that cannot be reached.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub outage: OutagePolicy,
    /// Policy of replanning.
    pub replan: Replanning,
    /// Limits on spending.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub budget: Budget,
    /// Guards against loops without progress.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub guard: Guard,
    /// Bounds on the results and conversations that prompts include.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub observe: Observe,
    /// Context that passes between the jobs of a conversation.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub memory: Memory,
    /// Deadline of a job, in milliseconds from its submission; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// JSON Schema of the result; the result is a text alone when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSchema>,
    /// Workflow that jobs of the agent run in place of a plan, by name; none when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowName>,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            name: AgentName::new("default").expect("`default` is an id"),
            model: None,
            fallback: Vec::new(),
            temperature: None,
            top_p: None,
            effort: None,
            language: None,
            system: String::new(),
            tools: None,
            agents: Vec::new(),
            plan: Planning::default(),
            confirm: true,
            approval: Approving::default(),
            ask: Asking::default(),
            dispatch: Dispatch::Parallel,
            step: Stepping::default(),
            tool: Calling::default(),
            outage: OutagePolicy::default(),
            replan: Replanning::default(),
            budget: Budget::default(),
            guard: Guard::default(),
            observe: Observe::default(),
            memory: Memory::default(),
            deadline_ms: None,
            output: None,
            workflow: None,
        }
    }
}

impl Agent {
    /// Returns the bound on the calls of one turn that run.
    #[must_use]
    pub fn calls_per_turn(&self) -> u32 {
        match self.step.exec {
            StepExec::SingleAction => 1,
            StepExec::AsPlanned | StepExec::DirectTool | StepExec::MasterLoop => {
                self.step.max_calls
            }
        }
    }

    /// Returns whether a turn may have the maximum number of calls.
    #[must_use]
    pub fn has_all_calls(&self) -> bool {
        self.calls_per_turn() == step::calls_max()
    }

    /// Returns whether a planner makes the plans, and so can replan.
    #[must_use]
    pub fn has_planner(&self) -> bool {
        match self.plan.when {
            PlanWhen::Never => false,
            PlanWhen::Always | PlanWhen::Auto => self.plan.protocol != PlanProtocol::InlineTools,
        }
    }

    /// Checks every bound, without conflicts between policies.
    ///
    /// # Errors
    /// Returns the first field that is out of bounds.
    pub fn check_bounds(&self) -> Result<(), InvalidAgent> {
        self.check_agents()?;
        self.plan.check()?;
        self.ask.check()?;
        self.step.check()?;
        self.tool.check()?;
        self.approval.check()?;
        self.check_presets()?;
        self.replan.check()?;
        for (axis, checked) in [
            ("budget", self.budget.check()),
            ("guard", self.guard.check()),
            ("observe", self.observe.check()),
            ("memory", self.memory.check()),
            ("outage", self.outage.check()),
        ] {
            if let Err((field, why)) = checked {
                return Err(InvalidAgent { field: format!("{axis}.{field}"), why });
            }
        }
        if out_of_time(self.deadline_ms) {
            return refuse("deadline_ms", Text::ToOneYear);
        }
        if out_of_scale(self.temperature) {
            return refuse("temperature", Text::Between { low: &"0.0", high: &"2.0" });
        }
        if out_of_share(self.top_p) {
            return refuse("top_p", Text::AboveUpTo { low: &"0.0", high: &"1.0" });
        }
        if self.system.len() > limits::DESCRIPTION_BYTES_MAX {
            return refuse("system", Text::System);
        }
        if let Err((place, why)) = fallback::check(&self.fallback) {
            return Err(InvalidAgent { field: format!("fallback{place}"), why });
        }
        if let Some(Err((place, why))) = self.output.as_ref().map(OutputSchema::check) {
            let field = if place.is_empty() { "output".into() } else { format!("output.{place}") };
            return Err(InvalidAgent { field, why });
        }
        Ok(())
    }

    /// Returns the sub-agent of a name.
    #[must_use]
    pub fn sub_agent(&self, name: &str) -> Option<&SubAgent> {
        self.agents.iter().find(|sub| sub.name.as_str() == name)
    }

    /// Checks that every tool with preset arguments is one that the agent may use.
    fn check_presets(&self) -> Checked {
        for (tool, _) in self.tool.presets.iter() {
            let field = format!("tool.presets.{tool}");
            if self.sub_agent(tool.as_str()).is_some() {
                return refuse(&field, Text::NoTool);
            }
            if self.tools.as_ref().is_some_and(|tools| !tools.contains(tool)) {
                return refuse(&field, Text::ForeignTool);
            }
        }
        Ok(())
    }

    /// Returns the effective condition for replanning: the one that the protocol requires, else the
    /// explicit one, else the one that `step.on_failure` implies.
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
