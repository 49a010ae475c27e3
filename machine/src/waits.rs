//! The events that a job waits for, by name, so that maintenance can check whether each can still
//! arrive; and an operator's retry, which ends some of those waits.

use jiff::Timestamp;
use proto::{
    id::{self, AskId, Attempt, JobId, WorkId},
    limits,
    view::RetryView,
};

use super::{
    attempts::{Attempts, Retries},
    decide::Arm,
    excerpt, names,
    state::{ActiveJob, AskedQuestion, Job},
    step::Exec,
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

    /// Returns the retry of a unit of work that waits for the end of an outage, and the start of the
    /// outage.
    #[must_use]
    pub fn outage_of(&self, work: &WorkId) -> Option<(RetryView, Timestamp)> {
        let retries = self.open.as_ref()?.retries().into_iter();
        let mut of_work = retries.filter(|retry| retry.work == *work);
        of_work.find_map(|retry| retry.outage_since.map(|since| (retry, since)))
    }

    /// Returns `true` if the question waits for a person.
    #[must_use]
    pub fn is_asking(&self, ask: &AskId) -> bool {
        let asked = self.open.as_ref().and_then(|open| open.questions.get(ask));
        asked.is_some_and(AskedQuestion::is_open)
    }
}

/// A unit of work that has not ended.
struct Unit<'a> {
    work: WorkId,
    attempts: &'a Attempts,
    /// `true` if it waits for an operator.
    is_parked: bool,
}

impl ActiveJob {
    /// Returns the units of work that have not ended.
    fn units(&self) -> Vec<Unit<'_>> {
        let agent = &self.brief.agent;
        let retried = |work: WorkId, attempts| Unit {
            work,
            is_parked: Attempts::is_parked(attempts, Retries::of_work(agent)),
            attempts,
        };
        let mut units = Vec::new();
        if let Some(attempts) = self.planning.stage().attempts() {
            units.push(retried(self.planning.work(self.generation()), attempts));
        }
        for step in self.execution.steps() {
            match &step.exec {
                Exec::Turn(turn) => units.push(retried(turn.work.clone(), &turn.attempts)),
                Exec::Rerun(attempts) => {
                    let work = names::step(step.generation, step.revision, step.id());
                    units.push(Unit { work, attempts, is_parked: false });
                }
                Exec::Tool(_) | Exec::Acting(_) | Exec::NotBegun | Exec::Ended => {}
            }
            for call in step.calls_now().filter(|call| call.end.is_none()) {
                let (work, is_parked) = (call.work.clone(), call.is_parked(agent));
                units.push(Unit { work, attempts: &call.attempts, is_parked });
            }
        }
        units
    }

    /// Returns the units of work whose last attempt broke and that are attempted again.
    pub(super) fn retries(&self) -> Vec<RetryView> {
        let units = self.units().into_iter();
        let retries = units.filter_map(|unit| {
            let retry = unit.attempts.retry()?;
            Some(RetryView {
                work: unit.work,
                attempt: retry.next,
                next_at: retry.until,
                error: excerpt::line(retry.error, limits::EXCERPT_CHARS),
                outage_since: retry.outage_since,
            })
        });
        retries.collect()
    }

    /// Returns the end and the reason of the first backoff, for display.
    pub(super) fn backing_off(&self) -> Option<String> {
        let backing = |retry: RetryView| Some(format!("until {}: {}", retry.next_at?, retry.error));
        self.retries().into_iter().find_map(backing)
    }

    /// Returns the work that waits for an operator.
    pub(super) fn given_up(&self) -> Vec<GivenUp> {
        let parked = self.units().into_iter().filter(|unit| unit.is_parked);
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
            match &mut step.exec {
                Exec::Turn(turn) => {
                    let is_parked = turn.attempts.is_parked(Retries::of_work(agent));
                    one(&mut turn.attempts, is_parked);
                }
                Exec::Rerun(attempts) => one(attempts, false),
                Exec::Tool(_) | Exec::Acting(_) | Exec::NotBegun | Exec::Ended => {}
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
