//! The choice of the next decision, with the timers and messages that it needs.

use jiff::Timestamp;
use proto::{
    decision::{AskWork, Decision, Finish, Note, StepTask, TurnWork, Wait},
    id::{Attempt, TimerName},
    limits,
    plan::Action,
    revision::Cause,
};

use super::{
    attempts::{Attempts, Retries},
    call::{Agreement, Call, Submission},
    names,
    outbox::Tell,
    state::{ActiveJob, AskState, Job, Stage},
    step::{Exec, StepRun},
    trust::Ruling,
    turn::{Turn, UnitKind},
};

/// A decision, and the effects that must surround its write.
#[derive(Debug, Clone, PartialEq)]
pub struct Next {
    /// The decision, to be stored right after the last one.
    pub decision: Decision,
    /// Timers to arm *before* the decision is stored. If the process dies in between, an orphaned
    /// timer is harmless; a missing timer would leave a job that never wakes up.
    pub arm: Vec<Arm>,
    /// Messages to other jobs, to be sent *before* the decision is stored. If the process dies in
    /// between they are sent again, which changes nothing.
    pub tell: Vec<Tell>,
    /// Timers that are no longer needed. The write of the decision cancels the first one; canceling
    /// the others is best effort.
    pub disarm: Vec<TimerName>,
}

/// A timer to arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arm {
    /// Name of the timer, unique within the job.
    pub timer: TimerName,
    /// Time at which the timer fires.
    pub at: Timestamp,
}

impl Job {
    /// Returns the next decision that the job's state calls for, or `None` if the job has ended, must
    /// be refolded, or waits for a fact. A poisoned job waits for a cancellation or its deadline.
    #[must_use]
    pub fn decide(&self) -> Option<Next> {
        let open =
            self.open.as_ref().filter(|open| open.outcome().is_none() && self.may_decide(open))?;
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

    fn choose(&self, open: &ActiveJob) -> Option<Decision> {
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
                usage: open.account().usage,
                generation: open.generation(),
            }));
        }
        if let Some(note) = open.edit_note() {
            return Some(Decision::Note(note));
        }
        if open.steering.paused().is_some() {
            // The deadline runs while the job is paused. It is armed with the first decision, so
            // there must be one.
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
                    let retries = Retries::of_work(&open.brief.agent);
                    attempts
                        .to_wait(&work, retries, &self.id, open.timers.waits())
                        .map(Decision::Wait)
                }),
            Stage::Clarify { .. } | Stage::Confused { .. } | Stage::Check { .. } => open
                .stage_question(&self.id)
                .map(|wanted| Decision::Ask(open.ask_work(wanted, self.updated))),
            Stage::Execute if open.has_workflow() => self.for_workflow(open),
            Stage::Execute => match open.replan_cause() {
                Some(cause) => Some(self.replan_or_stop(open, cause)),
                None => open.active_steps().into_iter().find_map(|step| self.for_step(open, step)),
            },
            Stage::Failing { .. } | Stage::Rejected { .. } => None,
        }
    }

    /// Returns the next decision of a workflow: its moves, or a command of a step.
    fn for_workflow(&self, open: &ActiveJob) -> Option<Decision> {
        let moves = open.advance(self.updated).map(Decision::Note);
        moves.or_else(|| open.active_steps().into_iter().find_map(|step| self.for_step(open, step)))
    }

    /// Returns the command that ends the plan in force, or the note that a guard stops planning.
    fn replan_or_stop(&self, open: &ActiveJob, cause: Cause) -> Decision {
        if let Some(notice) = open.stalled_plans() {
            let work = open.planning.next_work(open.generation());
            return Decision::Note(Note::Stopped { work, notice });
        }
        let mut replanned = open.clone();
        replanned.replan(self.updated, cause);
        Decision::Plan(replanned.plan_work(Attempt::FIRST, self.age_ms()))
    }

    fn for_step(&self, open: &ActiveJob, step: &StepRun) -> Option<Decision> {
        if step.attempts().any(Attempts::is_broken_by_outage) && !open.may_probe() {
            return None;
        }
        let command = match &step.exec {
            Exec::Tool(call) => self.for_call(open, step, call).or_else(|| {
                call.to_wait(&open.brief.agent, &self.id, open.timers.waits()).map(Decision::Wait)
            }),
            Exec::Turn(turn) => turn
                .attempts
                .to_send()
                .map(|attempt| self.turn_or_stop(open, step, turn, attempt))
                .or_else(|| {
                    let retries = step.retries_of_turn(&open.brief.agent);
                    turn.attempts
                        .to_wait(&turn.work, retries, &self.id, open.timers.waits())
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
                let retries = Retries::of_step(&open.brief.agent);
                attempts.to_wait(&work, retries, &self.id, open.timers.waits()).map(Decision::Wait)
            }
            Exec::Sleep(sleep) => {
                let timer = open.timers.next_retry(open.generation());
                sleep.to_wait(timer, open.language()).map(Decision::Wait)
            }
            Exec::NotBegun | Exec::Asked(_) | Exec::Ended => None,
        };
        command.or_else(|| {
            let asked = open.questions.open_in_order().count();
            let wanted = (asked < limits::OPEN_QUESTIONS_MAX)
                .then(|| open.step_question(&self.id, step))??;
            Some(Decision::Ask(open.ask_work(wanted, self.updated)))
        })
    }

    /// Returns the command of a call: a task for a tool's worker, or the spawn of a child job.
    fn for_call(&self, open: &ActiveJob, step: &StepRun, call: &Call) -> Option<Decision> {
        let (language, hosts) = (open.language(), open.brief.agent.tool.hosts.as_ref());
        let (job, seq, at) = (&self.id, self.first, self.created);
        let submission = Submission { job, seq, at, language, hosts };
        let call = open.cleared(call, &self.id);
        match open.ruling(&call) {
            Ruling::Run => {}
            Ruling::Ask { .. } if call.agreement == Agreement::NotNeeded => return None,
            Ruling::Ask { .. } => {}
            Ruling::Deny(why) => {
                let refused = || call.to_refuse(&submission, step.id(), why).map(Decision::Call);
                return open.withdrawal(&call).or_else(refused);
            }
        }
        if call.is_agent() {
            let work = self.spawn(open, step, &call)?;
            return match open.callee_misfit(&work) {
                Some(why) => call.to_refuse(&submission, step.id(), why).map(Decision::Call),
                None => Some(Decision::Spawn(Box::new(work))),
            };
        }
        call.to_send(&submission, step.id()).map(Decision::Call)
    }

    /// Returns the command of a turn, or the note that a guard stops the run. Guards do not stop a
    /// turn that has already been sent: it is retried.
    fn turn_or_stop(
        &self,
        open: &ActiveJob,
        step: &StepRun,
        turn: &Turn,
        attempt: Attempt,
    ) -> Decision {
        let watch = step.watch.as_deref().filter(|_| !turn.was_begun(attempt));
        match watch.and_then(|watch| watch.stops(&open.brief.agent.guard)) {
            Some(notice) => Decision::Note(Note::Stopped { work: turn.work.clone(), notice }),
            None => Decision::Turn(turn_work(open, self.age_ms(), step, turn, attempt)),
        }
    }

    /// Returns the timer of the job's deadline, which is armed with the first decision of a
    /// generation.
    pub(super) fn deadline(&self, open: &ActiveJob) -> Option<Arm> {
        let left = open.brief.agent.deadline_ms?.saturating_sub(self.lived_ms);
        let wait = jiff::SignedDuration::from_millis(i64::try_from(left).ok()?);
        let timer = names::deadline_timer(open.generation());
        Some(Arm { timer, at: self.since.checked_add(wait).ok()? })
    }
}

/// Maximum number of a job's units of work that are attempted again during an outage. Each attempt
/// takes four records of the log, so hundreds of units would fill it within minutes. The others
/// follow as soon as one of these succeeds.
const PROBES_MAX: usize = 8;

impl ActiveJob {
    /// Returns `true` if one more unit of work that an outage broke may be attempted again.
    fn may_probe(&self) -> bool {
        let attempts = self.execution.steps().iter().flat_map(StepRun::attempts);
        attempts.filter(|attempts| attempts.is_probing()).take(PROBES_MAX).count() < PROBES_MAX
    }

    /// Returns the timers of running work and the deadline's, which are canceled when the job ends
    /// or is rolled back.
    pub(super) fn timers(&self) -> Vec<TimerName> {
        let has_deadline =
            self.brief.agent.deadline_ms.is_some() && !self.timers.has_deadline_passed();
        let deadline = has_deadline.then(|| names::deadline_timer(self.generation()));
        let planning =
            self.planning.stage().attempts().and_then(|attempts| attempts.timer().cloned());
        let sleeping = self.execution.steps().iter().filter_map(StepRun::sleep_timer).cloned();
        let execution = self.execution.timers().chain(sleeping);
        deadline.into_iter().chain(planning).chain(execution).collect()
    }
}

/// Returns the note that a question closed without an answer, so that the inbox removes it. Such
/// notes precede every other decision.
fn closing_note(open: &ActiveJob, ends: bool) -> Option<Decision> {
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

/// Returns the timer that the decision itself waits for.
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
        | Decision::Done(_)
        | Decision::Finish(_) => None,
    }
}

fn turn_work(
    open: &ActiveJob,
    age_ms: u64,
    step: &StepRun,
    turn: &Turn,
    attempt: Attempt,
) -> TurnWork {
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
        max_turns: step.max_turns(&open.brief.agent),
        language: open.language(),
        model: step.model_choice(open.brief.model_choice(open.offered())),
        may_ask: open.may_ask_in_steps() && !step.is_last_word(),
        ask_kinds: open.brief.agent.ask.kinds.clone(),
        task,
        outline: step.outline.clone(),
        after: turn.after,
        replies: turn.replies.clone(),
        notices: [turn.notices.as_slice(), &open.budget_notices(age_ms)].concat(),
        instructions: open.steering.after(turn.told),
        must_answer: turn.must_answer || step.is_last_word(),
        max_calls: (!open.brief.agent.has_all_calls()).then(|| open.brief.agent.calls_per_turn()),
        window: open.brief.agent.observe.window(),
        summarise: turn.may_be_summarised(&open.brief.agent) && !step.is_last_word(),
        summary: turn.summary.clone(),
        node: step.is_one_turn(),
        output: step.reply_schema(&open.brief.agent),
    }
}
