//! The way from a goal to a plan in force: rounds with the planner, and the handling of its
//! replies.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proto::{
    agent::{OnUnparseable, StepExec},
    budget::Spend,
    decision::PlanWork,
    fact::{PlanReply, Planned},
    id::{Attempt, StepId},
    job::FailReason,
    plan::{Action, Plan, PlanError, Step},
    policy::PlanProtocol,
};

use super::{
    at::Counted,
    excerpt,
    state::{ActiveJob, Stage},
    step::StepRun,
    text::{self, Text},
};

/// Id of the step whose task is the goal itself.
const GOAL: &str = "goal";

impl ActiveJob {
    /// Applies a planner's reply.
    pub(super) fn planned(&mut self, at: Timestamp, planned: &Planned) -> Counted {
        let current = self.planning.work(self.generation()) == planned.work;
        let attempts = self.planning.attempts_mut();
        let Some(attempts) =
            attempts.filter(|attempts| current && attempts.awaits(planned.attempt))
        else {
            return Counted::No;
        };
        match &planned.reply {
            PlanReply::Failed { error } => attempts.broke(error.clone(), at),
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
            PlanReply::Finished { response, language } => {
                self.planning.name_language(*language);
                self.reached(response, &planned.outline);
            }
            PlanReply::Unparseable { text, error, action } => {
                self.heard_beside(planned);
                if *action && self.brief.agent.plan.rounds > 1 {
                    self.planning.refuse_action(text.clone(), error.clone());
                    self.observe_failure();
                } else {
                    self.unusable(text.clone(), error.clone());
                }
            }
        }
        self.spent_on_planning(planned);
        Counted::Yes
    }

    fn got_plan(&mut self, plan: Plan) {
        let wrong = if plan.steps.is_empty() && !self.may_be_empty() {
            Some(PlanError::Empty)
        } else {
            plan.check_beside(&self.execution.completed(), &self.execution.kept()).err()
        };
        let wrong = wrong.map(|wrong| wrong.text(self.language()));
        let wrong = wrong.or_else(|| self.misshapen(&plan)).or_else(|| self.misfit(&plan));
        if let Some(wrong) = wrong {
            let shown = serde_json::to_string(&plan).unwrap_or_default();
            return self
                .unusable(proto::excerpt::ends(&shown, proto::limits::EXCERPT_CHARS), wrong);
        }
        self.planning.accept();
        self.planning.name_language(plan.language);
        if self.brief.agent.confirm && !plan.steps.is_empty() {
            self.planning.propose(plan);
        } else {
            self.adopt(plan);
        }
    }

    /// Returns the reason for which the agent's policy forbids the plan.
    pub(super) fn misfit(&self, plan: &Plan) -> Option<String> {
        let exec = self.brief.agent.step.exec;
        let Some(step) = plan.steps.iter().find(|step| !exec.allows(&step.action)) else {
            return self.beyond_agent(plan);
        };
        let step = &step.id;
        let text = match exec {
            StepExec::MasterLoop => Text::MustNotNameATool { step },
            StepExec::AsPlanned | StepExec::SingleAction | StepExec::DirectTool => {
                Text::MustNameATool { step }
            }
        };
        Some(text.text(self.language()))
    }

    /// Handles an unusable reply: the planner is asked again. After too many such replies the round
    /// has failed: the planner observes it, or after the last round a person is asked or the job
    /// fails.
    pub(super) fn unusable(&mut self, reply: String, error: String) {
        let plan = &self.brief.agent.plan;
        let (attempts, rounds, otherwise) = (plan.attempts, plan.rounds, plan.on_unparseable);
        if self.planning.rejected().saturating_add(1) < attempts {
            self.planning.reject(reply, error);
            return self.planning.next_round();
        }
        if self.planning.failed_rounds().saturating_add(1) < rounds {
            let seen = Text::RoundFailed { attempts: &attempts, error: &error };
            self.planning.fail_round(reply, seen.text(self.language()));
            return self.observe_failure();
        }
        self.planning.reject(reply.clone(), error.clone());
        match otherwise {
            OnUnparseable::Ask => {
                self.planning.enter(Stage::Confused { reply, error, ask: None });
            }
            OnUnparseable::Fail => self.no_plan(&error),
        }
    }

    /// Counts a failure that the planner observes as an action, and begins the next round. The job
    /// fails if it may take no more actions.
    fn observe_failure(&mut self) {
        if let Some(gauge) = self.no_more_actions() {
            let message = text::used_up(self.language(), &gauge);
            return self.planning.fail(FailReason::BudgetExceeded, message);
        }
        self.spending.count(Spend::Tool);
        self.plan_on();
    }

    /// Fails the job because it has no plan.
    pub(super) fn no_plan(&mut self, error: &str) {
        let message = Text::PlanFailed { error: &error }.text(self.language());
        self.planning.fail(FailReason::PlanFailed, message);
    }

    /// Returns `true` if a job without a plan ends with a report.
    pub(super) fn reports_planner(&self) -> bool {
        self.brief.agent.plan.rounds > 1
    }

    pub(super) fn adopt(&mut self, plan: Plan) {
        self.execution.adopt(plan, self.lineage.generation(), self.brief.agent.dispatch);
        self.planning.enter(Stage::Execute);
    }

    /// Returns `true` if a plan may have no steps.
    fn may_be_empty(&self) -> bool {
        self.brief.agent.plan.allow_empty || self.execution.may_end_empty()
    }

    /// Puts a one-step plan in force whose step is the goal itself.
    pub(super) fn adopt_goal_as_plan(&mut self) {
        let step = Step {
            id: StepId::new(GOAL).expect("`goal` is an id"),
            title: String::new(),
            description: self.brief.goal.clone(),
            depends_on: Vec::new(),
            action: Action::Agent,
        };
        let title = excerpt::line(&self.brief.goal, 120);
        self.adopt(Plan { title, steps: vec![step], ..Plan::default() });
        if self.brief.agent.plan.protocol == PlanProtocol::InlineTools {
            self.execution.keep_outlines();
        }
    }

    /// Returns the only step of a job whose plan is the goal itself.
    pub(super) fn goal_step(&self) -> Option<&StepRun> {
        let mut planned = self.execution.planned();
        let run = planned.next().filter(|_| planned.next().is_none())?;
        let is_goal = run.id().as_str() == GOAL && run.step.description == self.brief.goal;
        (is_goal && self.execution.revision() == 1).then_some(run)
    }

    /// Puts a submitted plan in force at once: the submitter has agreed to it.
    pub(super) fn adopt_given(&mut self, plan: &Plan) {
        let wrong = plan.check(&BTreeSet::new()).err().map(|wrong| wrong.text(self.language()));
        match wrong.or_else(|| self.beyond_agent(plan)) {
            None => {
                self.planning.name_language(plan.language);
                self.adopt(plan.clone());
            }
            // The door checks plans; this submission was written to the log directly.
            Some(wrong) => self.no_plan(&wrong),
        }
    }

    /// Returns the command of the current round.
    pub(super) fn plan_work(&self, attempt: Attempt, age_ms: u64) -> PlanWork {
        PlanWork {
            work: self.planning.work(self.generation()),
            attempt,
            goal: self.brief.goal.clone(),
            language: self.language(),
            model: self.brief.plan_model(self.offered()),
            may_ask: self.may_ask_in_planning(),
            ask_kinds: self.brief.agent.ask.kinds.clone(),
            protocol: self.brief.agent.plan.protocol,
            output: self.brief.agent.plan.output,
            may_be_empty: self.may_answer_at_once(),
            detect: self.detect(),
            dialogue: self.planning.dialogue().to_vec(),
            earlier: self.brief.earlier(),
            files: self.brief.files_told(),
            notices: [self.planning.notices(), &self.budget_notices(age_ms)].concat(),
            window: self.brief.agent.observe.window(),
        }
    }
}
