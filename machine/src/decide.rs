//! The next decision that should exist and does not yet.

use jiff::Timestamp;
use proto::{
    decision::{AskWork, Decision, Finish, Note, StepTask, TurnWork, Wait},
    id::{Attempt, TimerName},
    limits,
    plan::Action,
    revision::Cause,
};

use super::{
    call::Call,
    names,
    outbox::Tell,
    state::{AskState, Job, Open, Stage},
    step::{Exec, StepRun},
    turn::{Turn, UnitKind},
};

/// A decision, and what must be done with timers for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    /// The decision to store after the last one.
    pub decision: Decision,
    /// Timers to arm *before* the decision is stored: should the process die in between, an orphan
    /// timer is harmless, while a missing one would be a job that never wakes up.
    pub arm: Vec<Arm>,
    /// What must be said to other jobs *before* the decision is stored: should the process die in
    /// between, it is said again, which changes nothing.
    pub tell: Vec<Tell>,
    /// Timers that nothing waits for any more. The first is canceled by the same write as the
    /// decision; canceling the others may be tried and may fail.
    pub disarm: Vec<TimerName>,
}

/// A timer to arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// Its name.
    pub timer: TimerName,
    /// When it fires.
    pub at: Timestamp,
}

impl Job {
    /// The next decision that should exist and does not yet, or nothing when the job has ended, is
    /// poisoned, or waits for a fact.
    #[must_use]
    pub fn decide(&self) -> Option<Next> {
        let open =
            self.open.as_ref().filter(|open| open.outcome().is_none() && self.can_follow())?;
        let decision = self.choose(open)?;
        let mut arm: Vec<Arm> = own_timer(&decision).into_iter().collect();
        if !open.lineage.has_decided() {
            arm.extend(self.deadline(open));
        }
        let mut disarm = open.timers.orphans().to_vec();
        if matches!(decision, Decision::Finish(_)) {
            disarm.extend(open.timers());
        }
        let tell = self.tells(open, &decision);
        Some(Next { decision, arm, tell, disarm })
    }

    fn choose(&self, open: &Open) -> Option<Decision> {
        let concluded = open.family.concluded().cloned();
        let ending = concluded.or_else(|| open.ending(self.records));
        if let Some(note) = closing_note(open, ending.is_some()) {
            return Some(note);
        }
        if let Some(note) = open.family_note(&self.id, ending.is_some()) {
            return Some(Decision::Note(note));
        }
        if let Some(outcome) = ending {
            if open.family.parent().is_some() && open.family.concluded().is_none() {
                return Some(Decision::Note(Note::Concluded {
                    outcome,
                    generation: open.generation(),
                }));
            }
            return Some(Decision::Finish(Finish {
                outcome,
                usage: open.spending.usage(),
                generation: open.generation(),
            }));
        }
        if open.steering.paused().is_some() {
            // Time goes on: a deadline is armed with the first decision, and there must be one.
            let held = !open.lineage.has_decided() && open.brief.agent.deadline_ms.is_some();
            let generation = open.generation();
            return held.then_some(Decision::Note(Note::Held { generation }));
        }
        match open.planning.stage() {
            Stage::Plan { attempts } => attempts
                .to_send()
                .map(|attempt| Decision::Plan(open.plan_work(attempt, self.age_ms())))
                .or_else(|| {
                    let work = open.planning.work(open.generation());
                    let policy = &open.brief.agent.tool.retry;
                    attempts
                        .to_wait(&work, policy, self.id.as_str(), open.timers.waits())
                        .map(Decision::Wait)
                }),
            Stage::Clarify { .. } | Stage::Confused { .. } | Stage::Check { .. } => open
                .stage_question(&self.id)
                .map(|wanted| Decision::Ask(open.ask_work(wanted, self.updated))),
            Stage::Execute => match open.replan_cause() {
                Some(cause) => Some(self.replan_or_stop(open, cause)),
                None => open.active_steps().into_iter().find_map(|step| self.for_step(open, step)),
            },
            Stage::Failing { .. } | Stage::Rejected { .. } => None,
        }
    }

    /// The command that ends the plan in force, unless a guard says that planning leads nowhere.
    fn replan_or_stop(&self, open: &Open, cause: Cause) -> Decision {
        if let Some(notice) = open.stalled_plans() {
            let work = open.planning.next_work(open.generation());
            return Decision::Note(Note::Stopped { work, notice });
        }
        let mut replanned = open.clone();
        replanned.replan(self.updated, cause);
        Decision::Plan(replanned.plan_work(Attempt::FIRST, self.age_ms()))
    }

    fn for_step(&self, open: &Open, step: &StepRun) -> Option<Decision> {
        let job = self.id.as_str();
        let command = match &step.exec {
            Exec::Tool(call) => self.for_call(open, step, call).or_else(|| {
                call.to_wait(&open.brief.agent, &self.id, open.timers.waits()).map(Decision::Wait)
            }),
            Exec::Turn(turn) => turn
                .attempts
                .to_send()
                .map(|attempt| self.turn_or_stop(open, step, turn, attempt))
                .or_else(|| {
                    let policy = &open.brief.agent.tool.retry;
                    turn.attempts
                        .to_wait(&turn.work, policy, job, open.timers.waits())
                        .map(Decision::Wait)
                }),
            Exec::Acting(acting) => acting.units.iter().find_map(|unit| match &unit.kind {
                UnitKind::Tool(call) => self.for_call(open, step, call).or_else(|| {
                    call.to_wait(&open.brief.agent, &self.id, open.timers.waits())
                        .map(Decision::Wait)
                }),
                UnitKind::Person { .. } | UnitKind::Noted(_) | UnitKind::Refused(_) => None,
            }),
            Exec::Rerun(attempts) => {
                let work = names::step(step.generation, step.revision, step.id());
                attempts
                    .to_wait(&work, &open.brief.agent.step.retry, job, open.timers.waits())
                    .map(Decision::Wait)
            }
            Exec::NotBegun | Exec::Ended => None,
        };
        command.or_else(|| {
            let asked = open.questions.open_in_order().count();
            let wanted = (asked < limits::OPEN_QUESTIONS_MAX)
                .then(|| open.step_question(&self.id, step))??;
            Some(Decision::Ask(open.ask_work(wanted, self.updated)))
        })
    }

    /// The command of a call: to a tool's worker, or to another agent.
    fn for_call(&self, open: &Open, step: &StepRun, call: &Call) -> Option<Decision> {
        if call.is_agent() {
            return self.spawn(open, step, call).map(|work| Decision::Spawn(Box::new(work)));
        }
        call.to_send(&self.id, step.id(), open.brief.language).map(Decision::Call)
    }

    /// The command of a turn, unless a guard says that the run leads nowhere. A turn that was begun
    /// is tried again whatever the guards say.
    fn turn_or_stop(&self, open: &Open, step: &StepRun, turn: &Turn, attempt: Attempt) -> Decision {
        let watch = step.watch.as_deref().filter(|_| !turn.was_begun(attempt));
        match watch.and_then(|watch| watch.stops(&open.brief.agent.guard)) {
            Some(notice) => Decision::Note(Note::Stopped { work: turn.work.clone(), notice }),
            None => Decision::Turn(turn_work(open, self.age_ms(), step, turn, attempt)),
        }
    }

    /// The job's own deadline: armed with its first decision.
    fn deadline(&self, open: &Open) -> Option<Arm> {
        let left = open.brief.agent.deadline_ms?.saturating_sub(self.lived_ms);
        let wait = jiff::SignedDuration::from_millis(i64::try_from(left).ok()?);
        let timer = names::deadline_timer(open.generation());
        Some(Arm { timer, at: self.since.checked_add(wait).ok()? })
    }
}

impl Open {
    /// Timers of what is under way, and the deadline: nothing waits for them once the job ends.
    pub(super) fn timers(&self) -> Vec<TimerName> {
        let has_deadline =
            self.brief.agent.deadline_ms.is_some() && !self.timers.has_deadline_passed();
        let deadline = has_deadline.then(|| names::deadline_timer(self.generation()));
        let planning =
            self.planning.stage().attempts().and_then(|attempts| attempts.timer().cloned());
        deadline.into_iter().chain(planning).chain(self.execution.timers()).collect()
    }
}

/// The inbox is told of questions that closed without an answer, before anything else.
fn closing_note(open: &Open, ends: bool) -> Option<Decision> {
    open.questions.all().find_map(|asking| {
        let because = match asking.state() {
            AskState::ToClose(because) => *because,
            AskState::Open if ends => proto::decision::Closed::JobEnded,
            AskState::Open | AskState::Answered { .. } | AskState::Closed(_) => return None,
        };
        Some(Decision::Note(Note::QuestionClosed {
            ask: asking.question.id.clone(),
            because,
            generation: open.generation(),
        }))
    })
}

/// The timer that a decision itself needs.
fn own_timer(decision: &Decision) -> Option<Arm> {
    match decision {
        Decision::Wait(Wait { timer, until, .. }) => Some(Arm { timer: timer.clone(), at: *until }),
        Decision::Ask(AskWork { question, .. }) => {
            question.deadline.map(|at| Arm { timer: names::ask_timer(&question.id), at })
        }
        Decision::Plan(_)
        | Decision::Turn(_)
        | Decision::Call(_)
        | Decision::Spawn(_)
        | Decision::Note(_)
        | Decision::Finish(_) => None,
    }
}

fn turn_work(open: &Open, age_ms: u64, step: &StepRun, turn: &Turn, attempt: Attempt) -> TurnWork {
    let task = (turn.number == 1).then(|| StepTask {
        goal: open.brief.goal.clone(),
        title: step.step.title.clone(),
        description: step.step.description.clone(),
        dependencies: open.execution.dependencies(step, &open.brief.agent.observe),
        earlier: open.brief.earlier(),
        files: open.brief.files_told(),
        previous_error: turn.previous_error.clone(),
    });
    debug_assert!(matches!(step.step.action, Action::Agent), "only agent steps have turns");
    TurnWork {
        work: turn.work.clone(),
        attempt,
        step: step.id().clone(),
        turn: turn.number,
        max_turns: open.brief.agent.step.max_turns,
        language: open.brief.language,
        model: open.brief.model_choice(open.offered()),
        may_ask: open.may_ask_in_steps(),
        ask_kinds: open.brief.agent.ask.kinds.clone(),
        task,
        outline: step.outline.clone(),
        after: turn.after,
        replies: turn.replies.clone(),
        notices: [turn.notices.as_slice(), &open.budget_notices(age_ms)].concat(),
        instructions: open.steering.after(turn.told),
        must_answer: turn.must_answer,
        max_calls: (!open.brief.agent.has_all_calls()).then(|| open.brief.agent.calls_per_turn()),
        window: open.brief.agent.observe.window(),
        summarise: turn.may_be_summarised(&open.brief.agent),
        summary: turn.summary.clone(),
    }
}
