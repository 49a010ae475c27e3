//! The task as it was submitted. It never changes, so clones of a job share it.

use proto::{
    agent::{Agent, PlanWhen},
    conversation::{Conversation, Exchange},
    decision::ModelChoice,
    fact::Submitted,
    family::Offered,
    file::{File, FileName, FileTold},
    label::Labels,
    lang::Language,
    policy::PlanProtocol,
    rules::Rules,
};

/// The parts of a submission that the rules read.
#[derive(Debug)]
pub(crate) struct Brief {
    pub(crate) goal: String,
    pub(crate) agent: Agent,
    pub(super) language: JobLanguage,
    /// Version of the rules by which the log is folded.
    pub(crate) rules: Rules,
    pub(crate) conversation: Option<Conversation>,
    pub(crate) files: Vec<File>,
    pub(crate) labels: Labels,
}

/// The language of a submission.
#[derive(Debug, Clone, Copy)]
pub(super) enum JobLanguage {
    /// The request or the agent named it.
    Named(Language),
    /// The door detected it, and a plan may name another.
    Detected(Language),
}

impl Brief {
    pub(super) fn of(submitted: Submitted) -> Self {
        let Submitted { goal, agent, rules, conversation, files, labels, .. } = submitted;
        let language = match submitted.language_detected {
            true => JobLanguage::Detected(submitted.language),
            false => JobLanguage::Named(submitted.language),
        };
        Self { goal, agent, language, rules, conversation, files, labels }
    }

    /// Returns `true` if the goal becomes a one-step plan without a planner.
    pub(crate) fn needs_no_planner(&self) -> bool {
        match self.agent.plan.when {
            PlanWhen::Never => true,
            PlanWhen::Always => self.agent.plan.protocol == PlanProtocol::InlineTools,
            PlanWhen::Auto => false,
        }
    }

    /// Returns the earlier exchanges of the conversation, which agents are told.
    pub(crate) fn earlier(&self) -> Vec<Exchange> {
        self.conversation.as_ref().map(|c| c.earlier.clone()).unwrap_or_default()
    }

    /// Returns `true` if the job came with a file of the name.
    pub(crate) fn has_file(&self, name: &FileName) -> bool {
        self.files.iter().any(|file| file.name == *name)
    }

    /// Returns the job's files in the form that agents are told.
    pub(crate) fn files_told(&self) -> Vec<FileTold> {
        self.files.iter().map(File::told).collect()
    }

    /// Returns the model and the tools with which steps are carried out.
    pub(crate) fn model_choice(&self, agents: Vec<Offered>) -> ModelChoice {
        ModelChoice {
            model: self.agent.model.clone(),
            fallback: self.agent.fallback.clone(),
            temperature: self.agent.temperature,
            top_p: self.agent.top_p,
            effort: self.agent.effort,
            system: self.agent.system.clone(),
            tools: self.agent.tools.clone(),
            presets: self.agent.tool.presets.clone(),
            agents,
        }
    }

    /// Returns the model and the tools with which the planner works: the agent's `plan` overrides,
    /// then its defaults.
    pub(crate) fn plan_model(&self, agents: Vec<Offered>) -> ModelChoice {
        let (usual, plan) = (self.model_choice(agents), &self.agent.plan);
        ModelChoice {
            model: plan.model.clone().or(usual.model),
            temperature: plan.temperature.or(usual.temperature),
            top_p: plan.top_p.or(usual.top_p),
            effort: plan.effort.or(usual.effort),
            ..usual
        }
    }
}
