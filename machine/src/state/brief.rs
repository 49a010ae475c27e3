//! The task as it was submitted. Nothing changes it, so copies of a job share it.

use proto::{
    agent::{Agent, PlanWhen},
    conversation::{Conversation, Exchange},
    decision::ModelChoice,
    fact::Submitted,
    family::Offered,
    file::{File, FileTold},
    lang::Language,
    policy::PlanProtocol,
    rules::Rules,
};

/// What the submission says.
#[derive(Debug)]
pub(crate) struct Brief {
    pub(crate) goal: String,
    pub(crate) agent: Agent,
    pub(crate) language: Language,
    /// The rules by which the log is folded.
    pub(crate) rules: Rules,
    pub(crate) conversation: Option<Conversation>,
    pub(crate) files: Vec<File>,
}

impl Brief {
    pub(super) fn of(submitted: Submitted) -> Self {
        let Submitted { goal, agent, language, rules, conversation, files, .. } = submitted;
        Self { goal, agent, language, rules, conversation, files }
    }

    /// Whether the goal is carried out without asking a planner.
    pub(crate) fn needs_no_planner(&self) -> bool {
        match self.agent.plan.when {
            PlanWhen::Never => true,
            PlanWhen::Always => self.agent.plan.protocol == PlanProtocol::InlineTools,
            PlanWhen::Auto => false,
        }
    }

    /// The part of the conversation that agents are told.
    pub(crate) fn earlier(&self) -> Vec<Exchange> {
        self.conversation.as_ref().map(|c| c.earlier.clone()).unwrap_or_default()
    }

    /// The files that came with the job, as agents are told of them.
    pub(crate) fn files_told(&self) -> Vec<FileTold> {
        self.files.iter().map(File::told).collect()
    }

    /// The model that carries out steps.
    pub(crate) fn model_choice(&self, agents: Vec<Offered>) -> ModelChoice {
        ModelChoice {
            model: self.agent.model.clone(),
            temperature: self.agent.temperature,
            top_p: self.agent.top_p,
            system: self.agent.system.clone(),
            tools: self.agent.tools.clone(),
            presets: self.agent.tool.presets.clone(),
            agents,
        }
    }

    /// The model that plans, where the agent names another one.
    pub(crate) fn plan_model(&self, agents: Vec<Offered>) -> ModelChoice {
        let (usual, plan) = (self.model_choice(agents), &self.agent.plan);
        ModelChoice {
            model: plan.model.clone().or(usual.model),
            temperature: plan.temperature.or(usual.temperature),
            top_p: plan.top_p.or(usual.top_p),
            ..usual
        }
    }
}
