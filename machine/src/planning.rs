//! From a goal to a plan in force: rounds with the planner, and what its replies lead to.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proto::{
    agent::{OnUnparseable, StepExec},
    conversation::Exchange,
    decision::{ModelChoice, PlanTalk, PlanWork},
    fact::{PlanReply, Planned},
    file::{File, FileTold},
    id::{Attempt, StepId},
    job::FailReason,
    plan::{Action, Plan, Step},
    policy::PlanProtocol,
    step::StepState,
};

use super::{
    excerpt,
    fold::Counted,
    names,
    state::{Open, Stage},
    step::StepRun,
    text,
    tries::Tries,
};

impl Open {
    /// A planner answered.
    pub(super) fn planned(&mut self, at: Timestamp, planned: &Planned) -> Counted {
        let current = names::plan(self.generation, self.round) == planned.work;
        let Some(tries) =
            self.stage_tries().filter(|tries| current && tries.awaits(planned.attempt))
        else {
            return Counted::No;
        };
        match &planned.reply {
            PlanReply::Failed { error } => tries.broke(error.clone(), at),
            PlanReply::Plan { plan } => {
                self.heard_beside(planned);
                self.got_plan(plan.clone());
            }
            PlanReply::Question { question } => {
                self.heard_beside(planned);
                self.wants_to_ask(question);
            }
            PlanReply::Simple => {
                self.heard_beside(planned);
                self.found_simple();
            }
            PlanReply::Noted { note } => self.noted(note),
            PlanReply::Finished { response } => self.reached(response, &planned.outline),
            PlanReply::Unparseable { text, error } => {
                self.heard_beside(planned);
                self.unusable(text.clone(), error.clone());
            }
        }
        self.spent_on_planning(planned);
        Counted::Yes
    }

    fn got_plan(&mut self, plan: Plan) {
        let wrong = if plan.steps.is_empty() && !self.may_be_empty() {
            Some(proto::plan::PlanError::Empty)
        } else {
            plan.check_beside(&self.completed(), &self.kept()).err()
        };
        let wrong = wrong.map(|wrong| wrong.text(self.language));
        let wrong = wrong.or_else(|| self.misshapen(&plan)).or_else(|| self.misfit(&plan));
        if let Some(wrong) = wrong {
            let shown = serde_json::to_string(&plan).unwrap_or_default();
            return self
                .unusable(proto::excerpt::ends(&shown, proto::limits::EXCERPT_CHARS), wrong);
        }
        self.rejected = 0;
        if self.agent.confirm && !plan.steps.is_empty() {
            self.stage = Stage::Check { plan, ask: None };
        } else {
            self.adopt(plan);
        }
    }

    /// Why a plan cannot be carried out the way the agent says.
    pub(super) fn misfit(&self, plan: &Plan) -> Option<String> {
        let exec = self.agent.step.exec;
        let Some(step) = plan.steps.iter().find(|step| !exec.allows(&step.action)) else {
            return self.beyond_agent(plan);
        };
        let (language, step) = (self.language, step.id.as_str());
        Some(match exec {
            StepExec::MasterLoop => text::must_not_name_a_tool(language, step),
            StepExec::AsPlanned | StepExec::SingleAction | StepExec::DirectTool => {
                text::must_name_a_tool(language, step)
            }
        })
    }

    /// A reply that is no plan: shown to the planner again, then to a person or nobody.
    pub(super) fn unusable(&mut self, reply: String, error: String) {
        self.rejected = self.rejected.saturating_add(1);
        let said = PlanTalk::Rejected { reply: reply.clone(), error: error.clone() };
        self.dialogue.push(said);
        if self.rejected < self.agent.plan.attempts {
            return self.next_round();
        }
        self.stage = match self.agent.plan.on_unparseable {
            OnUnparseable::Ask => Stage::Confused { reply, error, ask: None },
            OnUnparseable::Fail => self.no_plan(&error),
        };
    }

    pub(super) fn no_plan(&self, error: &str) -> Stage {
        Stage::Failing {
            reason: FailReason::PlanFailed,
            message: text::plan_failed(self.language, error),
        }
    }

    pub(super) fn next_round(&mut self) {
        self.round = self.round.saturating_add(1);
        self.stage = Stage::Plan { tries: Tries::Idle };
    }

    /// Without a planner the goal itself is the only step.
    pub(super) fn adopt_goal_as_plan(&mut self) {
        let step = Step {
            id: StepId::new("goal").expect("`goal` is an id"),
            title: String::new(),
            description: self.goal.clone(),
            depends_on: Vec::new(),
            action: Action::Agent,
        };
        let title = excerpt::line(&self.goal, 120);
        self.adopt(Plan { title, steps: vec![step], replan: Vec::new() });
        if self.agent.plan.protocol == PlanProtocol::InlineTools {
            self.steps.iter_mut().for_each(|step| step.outline = Some(Vec::new()));
        }
    }

    /// A plan that the job was submitted with is in force at once: whoever gave it has agreed to it.
    pub(super) fn adopt_given(&mut self, plan: &Plan) {
        let wrong = plan.check(&BTreeSet::new()).err().map(|wrong| wrong.text(self.language));
        match wrong.or_else(|| self.beyond_agent(plan)) {
            None => self.adopt(plan.clone()),
            // The door checks plans; another writer of this one to the log did not go through it.
            Some(wrong) => self.stage = self.no_plan(&wrong),
        }
    }

    pub(super) fn plan_in_force(&self) -> Plan {
        Plan {
            title: self.plan_title.clone(),
            steps: self.steps.iter().map(|run| Step::clone(&run.step)).collect(),
            replan: self.listed.clone(),
        }
    }

    /// Steps that have completed, of every plan so far.
    pub(super) fn completed(&self) -> BTreeSet<StepId> {
        let done = |run: &&StepRun| run.state == StepState::Completed;
        self.past.iter().chain(&self.steps).filter(done).map(|run| run.id().clone()).collect()
    }

    /// The command of a round.
    pub(super) fn plan_work(&self, attempt: Attempt, age_ms: u64) -> PlanWork {
        PlanWork {
            work: names::plan(self.generation, self.round),
            attempt,
            goal: self.goal.clone(),
            language: self.language,
            model: self.plan_model(),
            may_ask: self.may_ask_in_planning(),
            ask_kinds: self.agent.ask.kinds.clone(),
            protocol: self.agent.plan.protocol,
            output: self.agent.plan.output,
            may_be_empty: self.may_answer_at_once(),
            detect: self.detect(),
            dialogue: self.dialogue.clone(),
            earlier: self.earlier(),
            files: self.files_told(),
            notices: self.notices.iter().cloned().chain(self.budget_notices(age_ms)).collect(),
            window: self.agent.observe.window(),
        }
    }

    /// What agents are told of the conversation the job belongs to.
    pub(super) fn earlier(&self) -> Vec<Exchange> {
        self.conversation.as_ref().map(|c| c.earlier.clone()).unwrap_or_default()
    }

    /// What agents are told of the files that came with the job.
    pub(super) fn files_told(&self) -> Vec<FileTold> {
        self.files.iter().map(File::told).collect()
    }

    /// The model that plans, where the agent names another one.
    fn plan_model(&self) -> ModelChoice {
        let (usual, plan) = (self.model_choice(), &self.agent.plan);
        ModelChoice {
            model: plan.model.clone().or(usual.model),
            temperature: plan.temperature.or(usual.temperature),
            top_p: plan.top_p.or(usual.top_p),
            ..usual
        }
    }

    pub(super) fn model_choice(&self) -> ModelChoice {
        ModelChoice {
            model: self.agent.model.clone(),
            temperature: self.agent.temperature,
            top_p: self.agent.top_p,
            system: self.agent.system.clone(),
            tools: self.agent.tools.clone(),
            presets: self.agent.tool.presets.clone(),
            agents: self.offered(),
        }
    }
}
