//! The events that a job waits for, by name, so that maintenance can check whether each can still
//! arrive; and an operator's retry, which ends some of those waits.

use jiff::Timestamp;
use proto::{
    id::{self, AskId, Attempt, JobId, ToolName, WorkId},
    limits,
    view::RetryView,
};

use super::{
    attempts::{Attempts, Retries},
    call::Call,
    decide::Arm,
    excerpt, names,
    state::{ActiveJob, AskedQuestion, Job},
    step::{Exec, StepRun},
};

/// Everything that a running job waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waits {
    /// Commands that are queued or with a worker.
    pub commands: Vec<id::Unit>,
    /// Questions that wait for a person, in the order they were asked.
    pub questions: Vec<AskId>,
    /// Timers that must be armed. If one is missing, the job may never advance.
    pub timers: Vec<Arm>,
    /// Children that have not ended, as far as this job has been told.
    pub children: Vec<JobId>,
    /// `true` if a unit of work backs off; deadlines alone do not count.
    pub backing_off: bool,
    /// `true` if an operator has paused the job.
    pub paused: bool,
    /// Units of work that need an operator's retry.
    pub given_up: Vec<GivenUp>,
}

/// A unit of work that has no attempt left and waits for an operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenUp {
    /// Unit of work.
    pub work: WorkId,
    /// Last attempt.
    pub attempt: Attempt,
    /// Error of the last attempt.
    pub error: String,
    /// Time at which the last attempt broke, by the server's clock.
    pub since: Timestamp,
}

/// The wait of a unit of work for a service that cannot be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutageWait {
    /// Tool whose service it is; `None` for a model.
    pub tool: Option<ToolName>,
    /// Next attempt at the unit.
    pub retry: RetryView,
    /// Start of the outage, by the server's clock.
    pub since: Timestamp,
}

impl Job {
    /// Returns what the job waits for; empty if it was never submitted or has ended. A poisoned job
    /// waits for its deadline alone.
    #[must_use]
    pub fn waits(&self) -> Waits {
        let open = self.open.as_ref().filter(|o| o.outcome().is_none() && self.back.is_none());
        let Some(open) = open else { return Waits::default() };
        if self.poison.is_some() {
            let deadline = self.deadline(open).filter(|_| !open.timers.has_deadline_passed());
            return Waits { timers: deadline.into_iter().collect(), ..Waits::default() };
        }
        let mut waits = Waits { paused: open.steering.paused().is_some(), ..Waits::default() };
        for Unit { work, attempts, .. } in open.units() {
            waits.commands.extend(attempts.out().map(|attempt| id::Unit { work, attempt }));
            let backing = attempts.backing();
            waits.timers.extend(backing.map(|(timer, at)| Arm { timer: timer.clone(), at }));
            waits.backing_off |= attempts.timer().is_some();
        }
        let asleep = open.execution.steps().iter().filter_map(StepRun::sleep);
        let asleep = asleep.filter(|sleep| !sleep.is_late);
        let arms =
            asleep.filter_map(|sleep| Some(Arm { timer: sleep.timer.clone()?, at: sleep.until? }));
        waits.timers.extend(arms);
        waits.children = open.family.alive().map(|child| child.spawn.child.clone()).collect();
        for asking in open.questions.open_in_order() {
            waits.questions.push(asking.question.id.clone());
            let (timer, at) = (asking.timer(), asking.question.deadline);
            waits.timers.extend(timer.zip(at).map(|(timer, at)| Arm { timer, at }));
        }
        if open.lineage.has_decided() && !open.timers.has_deadline_passed() {
            waits.timers.extend(self.deadline(open));
        }
        waits.given_up = open.given_up();
        waits
    }

    /// Returns the wait of a unit of work for the end of an outage.
    #[must_use]
    pub fn outage_of(&self, work: &WorkId) -> Option<OutageWait> {
        let unit = self.open.as_ref()?.units().into_iter().find(|unit| unit.work == *work)?;
        let tool = match unit.labor {
            Labor::Call(_, call) => Some(call.tool.clone()),
            Labor::Plan | Labor::Turn(_) | Labor::Run => None,
        };
        let since = unit.attempts.outage_since()?;
        Some(OutageWait { tool, retry: unit.retry()?, since })
    }

    /// Returns `true` if the question waits for a person.
    #[must_use]
    pub fn is_asking(&self, ask: &AskId) -> bool {
        let asked = self.open.as_ref().and_then(|open| open.questions.get(ask));
        asked.is_some_and(AskedQuestion::is_open)
    }
}

/// A unit of work that has not ended.
pub(super) struct Unit<'a> {
    pub(super) work: WorkId,
    pub(super) attempts: &'a Attempts,
    pub(super) retries: Retries<'a>,
    pub(super) labor: Labor<'a>,
}

/// The kind of a unit of work.
pub(super) enum Labor<'a> {
    /// A round of planning.
    Plan,
    /// A model turn of a step.
    Turn(&'a StepRun),
    /// A call of a step: a tool's or a sub-agent's.
    Call(&'a StepRun, &'a Call),
    /// A run of a step, which has no command of its own.
    Run,
}

impl Unit<'_> {
    /// Returns `true` if the unit waits for an operator.
    pub(super) fn is_parked(&self) -> bool {
        self.attempts.is_parked(self.retries)
    }

    /// Returns the next attempt, if the last one broke.
    fn retry(&self) -> Option<RetryView> {
        let retry = self.attempts.retry()?;
        Some(RetryView {
            work: self.work.clone(),
            attempt: retry.next,
            next_at: retry.until,
            error: excerpt::line(retry.error, limits::EXCERPT_CHARS),
            outage_since: retry.outage_since,
        })
    }
}

impl ActiveJob {
    /// Returns the units of work that have not ended.
    pub(super) fn units(&self) -> Vec<Unit<'_>> {
        let agent = &self.brief.agent;
        let mut units = Vec::new();
        if let Some(attempts) = self.planning.stage().attempts() {
            let work = self.planning.work(self.generation());
            let retries = Retries::of_work(agent);
            units.push(Unit { work, attempts, retries, labor: Labor::Plan });
        }
        for step in self.execution.steps() {
            match &step.exec {
                Exec::Turn(turn) => units.push(Unit {
                    work: turn.work.clone(),
                    attempts: &turn.attempts,
                    retries: step.retries_of_turn(agent),
                    labor: Labor::Turn(step),
                }),
                Exec::Rerun(attempts) => units.push(Unit {
                    work: names::step(step.generation, step.revision, step.id()),
                    attempts,
                    retries: Retries::of_step(agent),
                    labor: Labor::Run,
                }),
                Exec::Tool(_)
                | Exec::Acting(_)
                | Exec::NotBegun
                | Exec::Asked(_)
                | Exec::Sleep(_)
                | Exec::Ended => {}
            }
            units.extend(step.calls_now().filter(|call| call.end.is_none()).map(|call| Unit {
                work: call.work.clone(),
                attempts: &call.attempts,
                retries: call.retries(agent),
                labor: Labor::Call(step, call),
            }));
        }
        units
    }

    /// Returns the units of work whose last attempt broke and that are attempted again.
    pub(super) fn retries(&self) -> Vec<RetryView> {
        self.units().iter().filter_map(Unit::retry).collect()
    }

    /// Returns the end and the reason of the first backoff, for display.
    pub(super) fn backing_off(&self) -> Option<String> {
        let backing = |retry: RetryView| Some(format!("until {}: {}", retry.next_at?, retry.error));
        self.retries().into_iter().find_map(backing)
    }

    /// Returns the work that waits for an operator.
    pub(super) fn given_up(&self) -> Vec<GivenUp> {
        let parked = self.units().into_iter().filter(Unit::is_parked);
        let given_up = parked.filter_map(|Unit { work, attempts, .. }| {
            let (attempt, error, since) = attempts.broken_attempt()?;
            Some(GivenUp { work, attempt, error: error.message.clone(), since })
        });
        given_up.collect()
    }

    /// Makes all work that backs off or was given up due at once, as an operator requested. Returns
    /// `true` if there was any.
    pub(super) fn try_again(&mut self) -> bool {
        let agent = &self.brief.agent;
        let (mut again, mut orphans) = (false, Vec::new());
        let mut one = |attempts: &mut Attempts, is_parked: bool| {
            orphans.extend(attempts.timer().cloned());
            again |= attempts.again(is_parked);
        };
        if let Some(attempts) = self.planning.attempts_mut() {
            let is_parked = attempts.is_parked(Retries::of_work(agent));
            one(attempts, is_parked);
        }
        for step in self.execution.steps_mut() {
            let policy = step.rules.as_deref().and_then(|rules| rules.retry.as_ref());
            match &mut step.exec {
                Exec::Turn(turn) => {
                    let retries = Retries::of_work(agent).with(policy);
                    let is_parked = turn.attempts.is_parked(retries);
                    one(&mut turn.attempts, is_parked);
                }
                Exec::Rerun(attempts) => one(attempts, false),
                Exec::Tool(_)
                | Exec::Acting(_)
                | Exec::NotBegun
                | Exec::Asked(_)
                | Exec::Sleep(_)
                | Exec::Ended => {}
            }
            step.calls_mut(&mut |call| {
                if call.end.is_none() {
                    let is_parked = call.is_parked(agent);
                    one(&mut call.attempts, is_parked);
                }
            });
            step.follow();
        }
        self.timers.orphan(orphans);
        again
    }
}
