//! Questions: which should be asked, what their answers lead to, and how they close.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use proto::{
    decision::{AskWork, Closed, PlanTalk},
    fact::{Answered, AskedKind},
    id::{AskId, JobId, StepId, WorkId},
    interaction::{Answer, Question, QuestionKind, Verdict, edited, plan_digest},
    job::FailReason,
    limits,
    plan::Plan,
};
use serde_json::Value;

use super::{
    call::{Agreement, Call, CallEnd},
    fold::{At, Counted},
    names,
    state::{AskState, Asking, Open, Stage},
    step::{Exec, StepRun},
    text,
    turn::UnitKind,
};

/// How much sooner than its time a timer may fire. Timers and records have one clock, the server's.
const TIMER_SLACK: SignedDuration = SignedDuration::from_secs(5);

/// A question that should be asked.
pub(super) struct Wanted {
    pub(super) work: WorkId,
    pub(super) prompt: String,
    pub(super) kind: QuestionKind,
    pub(super) step: Option<StepId>,
    pub(super) default: Option<Value>,
}

impl Open {
    /// The question the stage wants asked.
    pub(super) fn stage_question(&self, job: &JobId) -> Option<Wanted> {
        let wanted = |prompt, kind, default| Wanted {
            work: names::plan_question(self.generation, self.round),
            prompt,
            kind,
            step: None,
            default,
        };
        match &self.stage {
            Stage::Clarify { asked, ask: None } => {
                let asked = asked.clone();
                Some(wanted(self.put(&asked.prompt), kind_of(asked.kind), asked.default))
            }
            Stage::Confused { reply, error, ask: None } => {
                let prompt = text::confused(self.language, reply, error);
                Some(wanted(prompt, QuestionKind::Question, None))
            }
            Stage::Check { plan, ask: None } => {
                let prompt = text::confirm_plan(self.language, &plan.title, plan.steps.len());
                let digest = plan_digest(job, plan);
                let there = self.completed().into_iter().chain(self.kept());
                let (plan, completed) = (plan.clone(), there.collect());
                let revision = self.revision;
                let kind = QuestionKind::PlanCheck { plan, revision, digest, completed };
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

    /// The first question a step wants asked.
    pub(super) fn step_question(&self, job: &JobId, step: &StepRun) -> Option<Wanted> {
        let approval = |call: &Call| {
            let kind = call.to_approve(job)?;
            let prompt = text::approve_call(self.language, call.tool.as_str());
            let work = names::approval(&call.work);
            Some(Wanted { work, prompt, kind, step: Some(step.id().clone()), default: None })
        };
        match &step.exec {
            Exec::Tool(call) => approval(call),
            Exec::Acting(acting) => acting.units.iter().find_map(|unit| match &unit.kind {
                UnitKind::Tool(call) => approval(call),
                UnitKind::Person { work, asked, ask: None, reply: None } => Some(Wanted {
                    work: work.clone(),
                    prompt: self.put(&asked.prompt),
                    kind: kind_of(asked.kind.clone()),
                    step: Some(step.id().clone()),
                    default: asked.default.clone(),
                }),
                UnitKind::Person { .. } | UnitKind::Noted(_) | UnitKind::Refused(_) => None,
            }),
            Exec::NotBegun | Exec::Turn(_) | Exec::Rerun(_) | Exec::Ended => None,
        }
    }

    /// How many more questions may be open beside those that are, and those that turns have asked for.
    /// An approval that finds no room waits until a question is answered.
    pub(super) fn room_for_questions(&self) -> usize {
        let open = self.questions.values().filter(|a| a.state == AskState::Open).count();
        let coming = usize::try_from(self.coming_questions()).unwrap_or(usize::MAX);
        limits::OPEN_QUESTIONS_MAX.saturating_sub(open.saturating_add(coming))
    }

    /// The question as it is stored, with its id and deadline.
    pub(super) fn ask_work(&self, wanted: Wanted, now: Timestamp) -> AskWork {
        let deadline = self.agent.ask.deadline_ms.and_then(|ms| {
            let wait = jiff::SignedDuration::from_millis(i64::try_from(ms).ok()?);
            now.checked_add(wait).ok()
        });
        let question = Question {
            id: names::ask(self.asks.saturating_add(1)),
            prompt: wanted.prompt,
            kind: wanted.kind,
            step: wanted.step,
            deadline,
            default: wanted.default,
        };
        AskWork { work: wanted.work, question }
    }

    /// A question was stored.
    pub(super) fn asked(&mut self, at: Timestamp, job: &JobId, ask: &AskWork) -> bool {
        let id = ask.question.id.clone();
        let by_agent = match self.attach(&ask.work, &id, at) {
            None => return false,
            Some(by_agent) => by_agent,
        };
        self.asks = self.asks.saturating_add(1);
        self.agent_asks = self.agent_asks.saturating_add(u32::from(by_agent));
        let asking = Asking {
            question: ask.question.clone(),
            work: ask.work.clone(),
            asked: at,
            state: AskState::Open,
        };
        self.questions.insert(id.clone(), asking);
        // A timer of the same name may be left of a question that was never stored.
        let due = |deadline: Timestamp| deadline <= at.saturating_add(TIMER_SLACK).unwrap_or(at);
        if self.early.remove(&names::ask_timer(&id)) && ask.question.deadline.is_none_or(due) {
            self.expired(at, job, &id);
        }
        true
    }

    /// Notes at whoever wanted a question that it was asked; says whether an agent did.
    fn attach(&mut self, work: &WorkId, id: &AskId, at: Timestamp) -> Option<bool> {
        if *work == names::plan_question(self.generation, self.round) {
            return match &mut self.stage {
                Stage::Clarify { ask: ask @ None, .. } => {
                    *ask = Some(id.clone());
                    Some(true)
                }
                Stage::Confused { ask: ask @ None, .. } | Stage::Check { ask: ask @ None, .. } => {
                    *ask = Some(id.clone());
                    Some(false)
                }
                Stage::Clarify { .. }
                | Stage::Confused { .. }
                | Stage::Check { .. }
                | Stage::Plan { .. }
                | Stage::Execute
                | Stage::Failing { .. }
                | Stage::Rejected { .. } => None,
            };
        }
        let rules = self.rules;
        self.steps.iter_mut().find_map(|step| {
            let by_agent = attach_to_step(step, work, id)?;
            step.asked_about(at, rules);
            Some(by_agent)
        })
    }

    /// A person answered.
    pub(super) fn answered(&mut self, at: At, job: &JobId, answered: &Answered) -> Counted {
        let (ask, answer) = (&answered.ask, &answered.answer);
        let is_canceled = self.cancel.is_some();
        let Some(asking) = self.questions.get_mut(ask).filter(|a| a.state == AskState::Open) else {
            return Counted::No;
        };
        // The interaction actor checked this before it became a fact; a fact is only data, so what
        // is being approved is checked again where it counts.
        if asking.question.check(answer).is_err() {
            return Counted::No;
        }
        asking.state = if is_canceled {
            AskState::Closed(Closed::JobEnded)
        } else {
            AskState::Answered { winner: Arc::new(answered.clone()), seq: at.seq }
        };
        let asking = asking.clone();
        if asking.question.deadline.is_some() {
            self.orphans.push(names::ask_timer(ask));
        }
        self.deliver(at.time, job, &asking, answer);
        Counted::Yes
    }

    /// A question's deadline passed.
    pub(super) fn expired(&mut self, at: Timestamp, job: &JobId, ask: &AskId) {
        let Some(asking) = self.questions.get_mut(ask) else { return };
        asking.state = AskState::ToClose(Closed::Expired);
        let asking = asking.clone();
        if let Some(value) = asking.question.default.clone() {
            return self.deliver(at, job, &asking, &Answer::respond(value));
        }
        let reason = text::expired(self.language).to_owned();
        match &asking.question.kind {
            QuestionKind::ToolApproval { .. } => {
                let no = Answer {
                    decision: Verdict::Reject,
                    value: None,
                    text: Some(reason),
                    digest: None,
                };
                self.deliver(at, job, &asking, &no);
            }
            QuestionKind::PlanCheck { .. }
            | QuestionKind::Question
            | QuestionKind::Choice { .. }
            | QuestionKind::Form { .. } => {
                self.stage =
                    Stage::Failing { reason: FailReason::QuestionExpired, message: reason };
            }
        }
    }

    /// Hands an answer to whoever asked.
    fn deliver(&mut self, at: Timestamp, job: &JobId, asking: &Asking, answer: &Answer) {
        if asking.work == names::plan_question(self.generation, self.round) {
            return self.deliver_to_stage(asking, answer);
        }
        let (language, rules) = (self.language, self.rules);
        let mut answered = Vec::new();
        for step in &mut self.steps {
            let call = step.call_mut(|call| names::approval(&call.work) == asking.work);
            if let Some((call, _)) = call {
                agree(call, job, answer);
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
            step.asked_about(at, rules);
        }
        for (prompt, answer) in answered {
            self.remember_answer(&prompt, &answer);
        }
    }

    fn deliver_to_stage(&mut self, asking: &Asking, answer: &Answer) {
        let words = answer.text.clone().unwrap_or_default();
        match (&mut self.stage, answer.decision) {
            (Stage::Check { plan, .. }, Verdict::Approve) => {
                let plan = std::mem::take(plan);
                self.adopt(plan);
            }
            (Stage::Check { plan, .. }, Verdict::Respond) => {
                let talk = PlanTalk::Revised { plan: plan.clone(), words };
                self.dialogue.push(talk);
                self.next_round();
            }
            (Stage::Check { plan, .. }, Verdict::Edit) => {
                let shown = plan.clone();
                self.edited(shown, asking, answer);
            }
            (Stage::Check { .. }, Verdict::Reject) => {
                self.stage = Stage::Rejected { reason: answer.text.clone() };
            }
            (Stage::Confused { error, .. }, Verdict::Reject) => {
                let error = error.clone();
                self.stage = self.no_plan(&error);
            }
            (stage @ (Stage::Clarify { .. } | Stage::Confused { .. }), _) => {
                let question = match stage {
                    Stage::Clarify { asked, .. } => asked.prompt.clone(),
                    Stage::Confused { .. }
                    | Stage::Plan { .. }
                    | Stage::Check { .. }
                    | Stage::Execute
                    | Stage::Failing { .. }
                    | Stage::Rejected { .. } => asking.question.prompt.clone(),
                };
                let answer = reply_text(answer, self.language);
                self.remember_answer(&question, &answer);
                self.dialogue.push(PlanTalk::Asked { question, answer });
                self.rejected = 0;
                self.next_round();
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

    /// A person changed the plan itself. What they wrote is shown in turn, so that nothing runs that
    /// was not confirmed as it runs.
    fn edited(&mut self, shown: Plan, asking: &Asking, answer: &Answer) {
        let completed = match &asking.question.kind {
            QuestionKind::PlanCheck { completed, .. } => completed.as_slice(),
            QuestionKind::Question
            | QuestionKind::Choice { .. }
            | QuestionKind::Form { .. }
            | QuestionKind::ToolApproval { .. } => &[],
        };
        // It was checked before it became a fact; should it not fit all the same, the plan is asked
        // about once more as it was.
        let fits = |plan: &Plan| self.misfit(plan).is_none();
        let plan = edited(answer, completed).ok().filter(fits).unwrap_or(shown);
        // Names the question about it.
        self.round = self.round.saturating_add(1);
        self.stage = Stage::Check { plan, ask: None };
    }

    /// The inbox was told that a question is closed.
    pub(super) fn noted_closed(&mut self, ask: &AskId, because: Closed) -> bool {
        let Some(asking) = self.questions.get_mut(ask) else { return false };
        match asking.state {
            AskState::Open | AskState::ToClose(_) => asking.state = AskState::Closed(because),
            AskState::Answered { .. } | AskState::Closed(_) => {}
        }
        true
    }
}

fn attach_to_step(step: &mut StepRun, work: &WorkId, id: &AskId) -> Option<bool> {
    let approved = step.call_mut(|call| names::approval(&call.work) == *work);
    if let Some((call, _)) = approved {
        let wanted = call.agreement == Agreement::Wanted;
        call.agreement = Agreement::Asked(id.clone());
        return wanted.then_some(false);
    }
    let Exec::Acting(acting) = &mut step.exec else { return None };
    acting.units.iter_mut().find_map(|unit| match &mut unit.kind {
        UnitKind::Person { work: own, ask: ask @ None, .. } if own == work => {
            *ask = Some(id.clone());
            Some(true)
        }
        UnitKind::Person { .. } | UnitKind::Tool(_) | UnitKind::Noted(_) | UnitKind::Refused(_) => {
            None
        }
    })
}

fn agree(call: &mut Call, job: &JobId, answer: &Answer) {
    match answer.decision {
        Verdict::Approve => call.agreement = Agreement::Given(call.digest(job)),
        Verdict::Reject | Verdict::Respond | Verdict::Edit => {
            call.end = Some(CallEnd::Refused(answer.text.clone().unwrap_or_default()));
        }
    }
}

/// Questions that a step's turn has asked for and that are not stored yet.
pub(super) fn unasked(step: &StepRun) -> u32 {
    let Exec::Acting(acting) = &step.exec else { return 0 };
    let waiting =
        acting.units.iter().filter(|unit| matches!(&unit.kind, UnitKind::Person { ask: None, .. }));
    u32::try_from(waiting.count()).unwrap_or(u32::MAX)
}

fn kind_of(asked: AskedKind) -> QuestionKind {
    match asked {
        AskedKind::Query => QuestionKind::Question,
        AskedKind::Select { options, multiple } => QuestionKind::Choice { options, multiple },
        AskedKind::Form { fields } => QuestionKind::Form { fields },
    }
}

/// An answer as an agent is told it: the text itself, or JSON of anything else.
fn reply_text(answer: &Answer, language: proto::lang::Language) -> String {
    match (answer.decision, &answer.value) {
        (Verdict::Reject, _) => {
            text::declined(language, answer.text.as_deref().unwrap_or_default())
        }
        (Verdict::Respond | Verdict::Approve | Verdict::Edit, Some(Value::String(text))) => {
            text.clone()
        }
        (Verdict::Respond | Verdict::Approve | Verdict::Edit, Some(value)) => value.to_string(),
        (Verdict::Respond | Verdict::Approve | Verdict::Edit, None) => {
            answer.text.clone().unwrap_or_default()
        }
    }
}
