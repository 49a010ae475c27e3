//! Questions: which to ask, how to apply answers, and how to close them.

use jiff::Timestamp;
use proto::{
    decision::{AskWork, PlanTalk},
    fact::{Answered, AskedKind},
    id::{AskId, JobId, WorkId},
    interaction::{Answer, FinishedStep, Question, QuestionKind, Verdict, edited, plan_digest},
    job::FailReason,
    limits,
    plan::Plan,
};

use super::{
    asking::{QuestionRequest, TIMER_SLACK, reply_text},
    at::{At, Counted},
    call::{Agreement, Call, CallEnd},
    excerpt, names,
    state::{ActiveJob, AskedQuestion, Stage},
    step::{Exec, StepRun},
    text::{self, Text},
    turn::UnitKind,
};

/// Maximum number of finished steps in a plan check.
const FINISHED_SHOWN: usize = 100;

/// Maximum length of a finished step's label in a plan check, in characters.
const FINISHED_CHARS: usize = 80;

impl ActiveJob {
    /// Returns the question that the stage of planning needs answered.
    pub(super) fn stage_question(&self, job: &JobId) -> Option<QuestionRequest> {
        let wanted = |prompt, kind, default| QuestionRequest {
            work: self.planning.question(self.generation()),
            prompt,
            kind,
            step: None,
            default,
            within_ms: None,
        };
        match self.planning.stage() {
            Stage::Clarify { asked, ask: None } => {
                let asked = asked.clone();
                Some(wanted(self.put(&asked.prompt), kind_of(asked.kind), asked.default))
            }
            Stage::Confused { reply, error, ask: None } => {
                let prompt = text::confused(self.language(), reply, error);
                Some(wanted(prompt, QuestionKind::Question, None))
            }
            Stage::Check { plan, ask: None } => {
                let (language, rules) = (self.language(), self.brief.rules);
                let prompt = text::confirm_plan(language, rules, &plan.title, plan.steps.len());
                let digest = plan_digest(job, plan);
                let there = self.execution.completed().into_iter().chain(self.execution.kept());
                let (plan, completed) = (Plan::clone(plan), there.collect());
                let revision = self.execution.revision();
                let finished = self.finished_steps();
                let kind = QuestionKind::PlanCheck { plan, revision, digest, completed, finished };
                Some(wanted(prompt, kind, None))
            }
            Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Check { .. }
            | Stage::Plan { .. }
            | Stage::Execute
            | Stage::Failing { .. }
            | Stage::Rejected { .. } => None,
        }
    }

    /// Returns the newest completed steps, for the person who confirms what follows them.
    fn finished_steps(&self) -> Vec<FinishedStep> {
        let done: Vec<&StepRun> = self.execution.done().collect();
        let newest = done.len().saturating_sub(FINISHED_SHOWN);
        let finished = |run: &&StepRun| FinishedStep {
            id: run.id().clone(),
            label: excerpt::line(run.step.label(), FINISHED_CHARS),
        };
        done[newest..].iter().map(finished).collect()
    }

    /// Returns the first question that the step needs answered.
    pub(super) fn step_question(&self, job: &JobId, step: &StepRun) -> Option<QuestionRequest> {
        let approval = |call: &Call| {
            let cause = self.approval_cause(call)?;
            let kind = call.to_approve(job, &cause)?;
            let prompt = Text::ApproveCall { tool: &call.tool }.text(self.language());
            let prompt = cause.why.map_or(prompt.clone(), |because| format!("{prompt}\n{because}"));
            let work = names::approval(&call.work);
            Some(QuestionRequest {
                work,
                prompt,
                kind,
                step: Some(step.id().clone()),
                default: None,
                within_ms: None,
            })
        };
        match &step.exec {
            Exec::Tool(call) => approval(call),
            Exec::Acting(acting) => acting.units.iter().find_map(|unit| match &unit.kind {
                UnitKind::Tool(call) => approval(call),
                UnitKind::Person { work, asked, ask: None, reply: None } => Some(QuestionRequest {
                    work: work.clone(),
                    prompt: self.put(&asked.prompt),
                    kind: kind_of(asked.kind.clone()),
                    step: Some(step.id().clone()),
                    default: asked.default.clone(),
                    within_ms: None,
                }),
                UnitKind::Person { .. } | UnitKind::Noted(_) | UnitKind::Refused(_) => None,
            }),
            Exec::Asked(inquiry) => inquiry.to_ask(step.id()),
            Exec::NotBegun | Exec::Turn(_) | Exec::Rerun(_) | Exec::Sleep(_) | Exec::Ended => None,
        }
    }

    /// Returns the number of questions that may still be opened. Questions that turns have asked
    /// for count as open. An approval that exceeds the limit waits until a question is answered.
    pub(super) fn room_for_questions(&self) -> usize {
        let coming = usize::try_from(self.execution.unasked()).unwrap_or(usize::MAX);
        let open = self.questions.open_in_order().count().saturating_add(coming);
        limits::OPEN_QUESTIONS_MAX.saturating_sub(open)
    }

    /// Returns the decision to ask, with the question's id and deadline.
    pub(super) fn ask_work(&self, wanted: QuestionRequest, now: Timestamp) -> AskWork {
        let within_ms = wanted.within_ms.or(self.brief.agent.ask.deadline_ms);
        let deadline = within_ms.and_then(|ms| {
            let wait = jiff::SignedDuration::from_millis(i64::try_from(ms).ok()?);
            now.checked_add(wait).ok()
        });
        let question = Question {
            id: self.questions.next_id(),
            prompt: wanted.prompt,
            kind: wanted.kind,
            step: wanted.step,
            deadline,
            default: wanted.default,
        };
        AskWork { work: wanted.work, question }
    }

    /// Records a stored question and returns `true` if it can follow.
    pub(super) fn asked(&mut self, at: Timestamp, job: &JobId, ask: &AskWork) -> bool {
        let question = &ask.question;
        let Some(by_agent) = self.attach(&ask.work, &question.id, at) else { return false };
        self.questions.ask(AskedQuestion::new(question.clone(), ask.work.clone(), at), by_agent);
        // A timer of this name may remain from a question that was never stored.
        let due = |deadline: Timestamp| deadline <= at.saturating_add(TIMER_SLACK).unwrap_or(at);
        let is_early = self.timers.take_early(&names::ask_timer(&question.id));
        if is_early && question.deadline.is_none_or(due) {
            self.expired(at, job, &question.id);
        }
        true
    }

    /// Links a stored question to the stage or step that needs it, and returns `true` if an agent
    /// asked it. `None` if nothing needs this question.
    fn attach(&mut self, work: &WorkId, id: &AskId, at: Timestamp) -> Option<bool> {
        if *work == self.planning.question(self.lineage.generation()) {
            return self.planning.attach(id);
        }
        let (step, by_agent) = self.execution.attach(work, id)?;
        step.asked_about(at);
        Some(by_agent)
    }

    /// Applies a person's answer.
    pub(super) fn answered(&mut self, at: At, job: &JobId, answered: &Answered) -> Counted {
        let is_canceled = self.steering.canceled().is_some();
        let Some(asking) = self.questions.answer(answered, at, is_canceled) else {
            return Counted::No;
        };
        self.timers.orphan(asking.timer());
        self.remember_approval(&asking, answered, at);
        self.deliver(at.time, job, &asking, &answered.answer);
        Counted::Yes
    }

    /// Applies the deadline of a question: its default answer counts, an approval is rejected, and
    /// any other question fails the job.
    pub(super) fn expired(&mut self, at: Timestamp, job: &JobId, ask: &AskId) {
        let Some((asking, default)) = self.questions.expire(ask, at) else { return };
        if let Some(answer) = default {
            return self.deliver(at, job, &asking, &answer);
        }
        let reason = Text::Expired.text(self.language());
        if self.visit_expired(&asking.work, &reason, at) {
            return;
        }
        match &asking.question.kind {
            QuestionKind::ToolApproval { .. } => {
                let no = Answer { text: Some(reason), ..Answer::of(Verdict::Reject) };
                self.deliver(at, job, &asking, &no);
            }
            QuestionKind::PlanCheck { .. }
            | QuestionKind::Question
            | QuestionKind::Choice { .. }
            | QuestionKind::Form { .. } => self.planning.fail(FailReason::QuestionExpired, reason),
        }
    }

    /// Delivers an answer to the stage or the step that asked.
    fn deliver(&mut self, at: Timestamp, job: &JobId, asking: &AskedQuestion, answer: &Answer) {
        if asking.work == self.planning.question(self.generation()) {
            return self.deliver_to_stage(asking, answer);
        }
        let language = self.language();
        let mut answered = Vec::new();
        for step in self.execution.steps_mut() {
            let call = step.call_mut(|call| names::approval(&call.work) == asking.work);
            if let Some((call, _)) = call {
                agree(call, job, answer);
            } else if step.is_asked(&asking.work) {
                step.answered(answer, language, at);
                continue;
            } else if let Exec::Acting(acting) = &mut step.exec {
                for unit in &mut acting.units {
                    if let UnitKind::Person { work, asked, reply, .. } = &mut unit.kind
                        && *work == asking.work
                    {
                        let text = reply_text(answer, language);
                        answered.push((asked.prompt.clone(), text.clone()));
                        *reply = Some(text);
                    }
                }
            } else {
                continue;
            }
            step.asked_about(at);
        }
        for (prompt, answer) in answered {
            self.remember_answer(&prompt, &answer);
        }
    }

    fn deliver_to_stage(&mut self, asking: &AskedQuestion, answer: &Answer) {
        let words = answer.text.clone().unwrap_or_default();
        match (self.planning.stage(), answer.decision) {
            (Stage::Check { plan, .. }, Verdict::Approve) => self.adopt(Plan::clone(plan)),
            (Stage::Check { plan, .. }, Verdict::Respond) => {
                let plan = Plan::clone(plan);
                self.planning.say(PlanTalk::Revised { plan, words });
                self.planning.next_round();
            }
            (Stage::Check { plan, .. }, Verdict::Edit) => {
                self.edited(Plan::clone(plan), asking, answer);
            }
            (Stage::Check { .. }, Verdict::Reject) => {
                self.planning.enter(Stage::Rejected { reason: answer.text.clone() });
            }
            (Stage::Confused { error, .. }, Verdict::Reject) => self.no_plan(&error.clone()),
            (Stage::Clarify { asked, .. }, _) => {
                let kind = Some(asked.kind.clone()).filter(|kind| *kind != AskedKind::Query);
                self.answer_planner(asked.prompt.clone(), kind, answer);
            }
            (Stage::Confused { .. }, _) => {
                self.answer_planner(asking.question.prompt.clone(), None, answer);
            }
            (
                Stage::Plan { .. }
                | Stage::Execute
                | Stage::Failing { .. }
                | Stage::Rejected { .. },
                _,
            ) => {}
        }
    }

    /// Passes an answer to the planner and begins the next round.
    fn answer_planner(&mut self, question: String, kind: Option<AskedKind>, answer: &Answer) {
        let answer = reply_text(answer, self.language());
        self.remember_answer(&question, &answer);
        self.planning.say(PlanTalk::Asked { question, kind, answer });
        self.planning.accept();
        self.planning.next_round();
    }

    /// Applies a person's edit of the plan. The edited plan is shown for confirmation, so that only
    /// a plan that was confirmed as it is runs.
    fn edited(&mut self, shown: Plan, asking: &AskedQuestion, answer: &Answer) {
        let completed = asking.question.kind.completed();
        // The edit was checked before it became a fact. If it still does not fit, the unedited plan
        // is shown again.
        let fits = |plan: &Plan| self.misfit(plan).is_none();
        let plan = edited(answer, completed).ok().filter(fits).unwrap_or(shown);
        self.planning.name_language(plan.language);
        self.planning.show_again(plan);
    }
}

fn agree(call: &mut Call, job: &JobId, answer: &Answer) {
    match answer.decision {
        Verdict::Approve => {
            call.agreement = Agreement::Given(call.digest(job));
            call.remembered = None;
        }
        Verdict::Reject | Verdict::Respond | Verdict::Edit => {
            call.end = Some(CallEnd::Refused(answer.text.clone().unwrap_or_default()));
        }
    }
}

fn kind_of(asked: AskedKind) -> QuestionKind {
    match asked {
        AskedKind::Query => QuestionKind::Question,
        AskedKind::Select { options, multiple } => QuestionKind::Choice { options, multiple },
        AskedKind::Form { fields } => QuestionKind::Form { fields },
    }
}
