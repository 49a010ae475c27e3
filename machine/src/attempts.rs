//! The attempts at one unit of work: sent, answered, broken and retried.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proto::{
    agent::{Agent, OnGivenUp},
    decision::Wait,
    id::{Attempt, JobId, TimerName, WorkId},
    retry::{OutagePolicy, RetryPolicy},
    work_error::{ErrorClass, WorkError},
};

use super::{at::At, names};

/// The attempts at a unit of work. Its owner keeps the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Attempts {
    state: State,
    /// Attempts that outages broke, in the life of the work.
    by_outages: u32,
    /// The outage that broke the last attempt, if one did.
    outage: Option<Outage>,
    /// The last attempt that broke, for display.
    last: Option<LastBreak>,
}

/// The last attempt that broke.
#[derive(Debug, Clone, PartialEq)]
struct LastBreak {
    error: String,
    /// Time of the break, by the server's clock.
    at: Timestamp,
}

/// The progress of the current attempt.
#[derive(Debug, Clone, Default, PartialEq)]
enum State {
    /// The first command is to be sent.
    #[default]
    Idle,
    /// A command is stored and awaits its result.
    Out {
        /// Number of the attempt.
        attempt: Attempt,
        /// Position and time of the command.
        at: At,
    },
    /// The attempt broke. A [`Wait`] follows if an attempt is left.
    Broken {
        /// Number of the attempt.
        attempt: Attempt,
        /// Error of the attempt.
        error: WorkError,
        /// Time of the break, by the server's clock.
        at: Timestamp,
    },
    /// A wait is stored; its timer ends it.
    Backing {
        /// The attempt that follows the wait.
        next: Attempt,
        /// Timer that ends the wait.
        timer: TimerName,
        /// End of the wait, by the server's clock.
        until: Timestamp,
    },
    /// The wait is over, and the next command is to be sent.
    Due {
        /// Number of the attempt.
        next: Attempt,
    },
}

/// Consecutive attempts that an outage broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outage {
    /// Time of the first break, by the server's clock.
    since: Timestamp,
    /// Number of the attempts.
    attempts: u32,
}

/// The policies for the attempts at a unit of work.
#[derive(Clone, Copy)]
pub(super) struct Retries<'a> {
    policy: &'a RetryPolicy,
    /// The policy for outages; `None` if every attempt counts.
    outage: Option<&'a OutagePolicy>,
    has_deadline: bool,
    on_given_up: OnGivenUp,
    /// Attempts that `policy` does not count.
    others: u32,
}

impl<'a> Retries<'a> {
    /// Returns the policies for planning rounds, model turns and calls.
    pub(super) fn of_work(agent: &'a Agent) -> Self {
        Self {
            policy: &agent.tool.retry,
            outage: Some(&agent.outage).filter(|outage| outage.waits()),
            has_deadline: agent.deadline_ms.is_some(),
            on_given_up: agent.tool.on_given_up,
            others: 0,
        }
    }

    /// Returns the policies for the runs of a step. A failed run is a result: it waits neither for
    /// the end of an outage nor for an operator.
    pub(super) fn of_step(agent: &'a Agent) -> Self {
        Self {
            policy: &agent.step.retry,
            outage: None,
            on_given_up: OnGivenUp::Fail,
            ..Self::of_work(agent)
        }
    }

    /// Replaces the policy for faults by that of a workflow's node, if it has one.
    pub(super) fn with(self, policy: Option<&'a RetryPolicy>) -> Self {
        Self { policy: policy.unwrap_or(self.policy), ..self }
    }

    /// Excludes `others` attempts from the count.
    pub(super) fn without(self, others: u32) -> Self {
        Self { others, ..self }
    }
}

/// The last broken attempt at work that is attempted again, for display.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry<'a> {
    /// The next attempt, or the current one if its command is out.
    pub(super) next: Attempt,
    /// End of the wait before the next attempt; `None` if the attempt is due or running.
    pub(super) until: Option<Timestamp>,
    /// Error of the last attempt.
    pub(super) error: &'a str,
    /// Time of the last break, by the server's clock.
    pub(super) broke: Timestamp,
    /// Start of the outage that broke the last attempts.
    pub(super) outage_since: Option<Timestamp>,
}

impl Attempts {
    /// Creates attempts of which the last one broke.
    pub(super) fn broken(attempt: Attempt, error: WorkError, at: Timestamp) -> Self {
        let mut attempts = Self::default();
        attempts.broke_at(attempt, error, at);
        attempts
    }

    /// Returns `true` if no command was sent.
    pub(super) fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// Returns the attempt whose command is to be sent now.
    pub(super) fn to_send(&self) -> Option<Attempt> {
        match &self.state {
            State::Idle => Some(Attempt::FIRST),
            State::Due { next } => Some(*next),
            State::Out { .. } | State::Broken { .. } | State::Backing { .. } => None,
        }
    }

    /// Returns the attempt whose command is queued or with a worker.
    pub(super) fn out(&self) -> Option<Attempt> {
        self.command().map(|(attempt, _)| attempt)
    }

    /// Returns the attempt whose command is queued or with a worker, and the command's position.
    pub(super) fn command(&self) -> Option<(Attempt, At)> {
        if let State::Out { attempt, at } = self.state { Some((attempt, at)) } else { None }
    }

    /// Returns `true` if a command is queued or with a worker.
    pub(super) fn is_out(&self) -> bool {
        self.out().is_some()
    }

    /// Returns `true` if an outage broke the last attempt and the next one runs, is due or has a
    /// timer.
    pub(super) fn is_probing(&self) -> bool {
        self.outage.is_some() && self.broken_attempt().is_none()
    }

    /// Returns `true` if an outage broke the last attempt and no wait follows it yet.
    pub(super) fn is_broken_by_outage(&self) -> bool {
        self.outage.is_some() && self.broken_attempt().is_some()
    }

    /// Returns `true` if a result of this attempt would count.
    pub(super) fn awaits(&self, attempt: Attempt) -> bool {
        self.out() == Some(attempt)
    }

    /// Returns `true` if the end of this attempt is known.
    pub(super) fn has_heard(&self, attempt: Attempt) -> bool {
        attempt.0 <= self.count() && !self.awaits(attempt)
    }

    /// Returns the number of attempts so far.
    pub(super) fn count(&self) -> u32 {
        match &self.state {
            State::Idle => 0,
            State::Out { attempt, .. } | State::Broken { attempt, .. } => attempt.0,
            State::Backing { next, .. } | State::Due { next } => next.0.saturating_sub(1),
        }
    }

    /// Records a stored command and returns `true` if it can follow.
    pub(super) fn sent(&mut self, attempt: Attempt, at: At) -> bool {
        let fits = self.to_send() == Some(attempt);
        if fits {
            self.state = State::Out { attempt, at };
        }
        fits
    }

    /// Records that the current attempt broke.
    pub(super) fn broke(&mut self, error: WorkError, at: Timestamp) {
        self.broke_at(Attempt(self.count().max(1)), error, at);
    }

    fn broke_at(&mut self, attempt: Attempt, error: WorkError, at: Timestamp) {
        self.outage = match error.class {
            ErrorClass::Outage => {
                let since = self.outage.map_or(at, |outage| outage.since);
                let attempts = self.outage.map_or(0, |outage| outage.attempts).saturating_add(1);
                self.by_outages = self.by_outages.saturating_add(1);
                Some(Outage { since, attempts })
            }
            ErrorClass::Permanent | ErrorClass::Transient => None,
        };
        self.last = Some(LastBreak { error: error.message.clone(), at });
        self.state = State::Broken { attempt, error, at };
    }

    /// Records a stored wait and returns `true` if it can follow.
    pub(super) fn waits(&mut self, wait: &Wait) -> bool {
        let fits =
            matches!(self.state, State::Broken { attempt, .. } if attempt.next() == wait.attempt);
        if fits {
            let Wait { attempt: next, timer, until, .. } = wait;
            self.state = State::Backing { next: *next, timer: timer.clone(), until: *until };
        }
        fits
    }

    /// Ends the wait if its timer fired, and returns `true` if it did.
    pub(super) fn fired(&mut self, fired: &TimerName) -> bool {
        let is_it = self.timer() == Some(fired);
        if is_it {
            self.wait_no_longer();
        }
        is_it
    }

    /// Ends a wait without its timer, because the timer belongs to an earlier generation.
    pub(super) fn wait_no_longer(&mut self) {
        if let State::Backing { next, .. } = self.state {
            self.state = State::Due { next };
        }
    }

    /// Makes the next attempt due at once: ends a wait and, if `last` is set, allows one more
    /// attempt after the last one broke. An outage then counts from its next error. Returns `true`
    /// if anything changed.
    pub(super) fn again(&mut self, last: bool) -> bool {
        let next = match &self.state {
            State::Backing { next, .. } => *next,
            State::Broken { attempt, error, .. } if last && error.is_transient() => attempt.next(),
            State::Broken { .. } | State::Idle | State::Out { .. } | State::Due { .. } => {
                return false;
            }
        };
        (self.state, self.outage) = (State::Due { next }, None);
        true
    }

    /// Returns `true` if the work waits for an operator: no attempt is left, and the error was
    /// transient, so another attempt could succeed.
    pub(super) fn is_parked(&self, retries: Retries<'_>) -> bool {
        retries.on_given_up == OnGivenUp::Park
            && self.given_up(retries).is_some_and(WorkError::is_transient)
    }

    /// Returns the last error if no attempt is left and the work does not wait for an operator.
    pub(super) fn failed(&self, retries: Retries<'_>) -> Option<&WorkError> {
        self.given_up(retries).filter(|_| !self.is_parked(retries))
    }

    /// Returns the last error if no attempt is left.
    fn given_up(&self, retries: Retries<'_>) -> Option<&WorkError> {
        let State::Broken { attempt, error, at } = &self.state else { return None };
        self.delay(*attempt, error, *at, 0, retries).is_none().then_some(error)
    }

    /// Returns the last attempt, its error and its time, if it broke and no wait follows it yet.
    pub(super) fn broken_attempt(&self) -> Option<(Attempt, &WorkError, Timestamp)> {
        let State::Broken { attempt, error, at } = &self.state else { return None };
        Some((*attempt, error, *at))
    }

    /// Returns the wait that should follow a broken attempt, if an attempt is left.
    pub(super) fn to_wait(
        &self,
        work: &WorkId,
        retries: Retries<'_>,
        job: &JobId,
        waits: u32,
    ) -> Option<Wait> {
        let State::Broken { attempt, error, at } = &self.state else { return None };
        let seed = names::seed(job.as_str(), work);
        let delay = self.delay(*attempt, error, *at, seed, retries)?;
        Some(Wait {
            work: work.clone(),
            attempt: attempt.next(),
            until: later(*at, delay).unwrap_or(*at),
            timer: names::retry_timer(work.generation(), waits.saturating_add(1)),
            reason: error.message.clone(),
        })
    }

    /// Returns the delay before the next attempt, or `None` if no attempt is left.
    fn delay(
        &self,
        attempt: Attempt,
        error: &WorkError,
        at: Timestamp,
        seed: u64,
        retries: Retries<'_>,
    ) -> Option<Duration> {
        let counted = Attempt(attempt.0.saturating_sub(self.uncounted(retries)).max(1));
        let demanded = Duration::from_millis(error.retry_after_ms.unwrap_or(0));
        let longest = Duration::from_millis(proto::limits::WAIT_MS_MAX);
        match (error.class, retries.outage, self.outage) {
            (ErrorClass::Permanent, _, _) => None,
            (ErrorClass::Outage, Some(policy), Some(outage)) => {
                let delay = policy.delay(Attempt(outage.attempts), seed)?;
                let delay = delay.max(demanded).min(longest);
                if retries.has_deadline {
                    return Some(delay);
                }
                // Only the length of the wait may depend on the seed. Whether the work waits must
                // be the same for every seed.
                let lasted =
                    Duration::try_from(at.duration_since(outage.since)).unwrap_or_default();
                let left = Duration::from_millis(policy.max_ms).checked_sub(lasted)?;
                (!left.is_zero()).then(|| delay.min(left))
            }
            (ErrorClass::Outage, _, _) | (ErrorClass::Transient, _, _) => {
                Some(retries.policy.delay(counted, seed)?.max(demanded).min(longest))
            }
        }
    }

    /// Returns the number of attempts that the policy does not count.
    fn uncounted(&self, retries: Retries<'_>) -> u32 {
        match retries.outage {
            Some(_) => retries.others.saturating_add(self.by_outages),
            None => retries.others,
        }
    }

    /// Returns the number of the last attempt that the policy allows.
    pub(super) fn last_allowed(&self, retries: Retries<'_>) -> u32 {
        let allowed = retries.policy.max_attempts.min(proto::limits::ATTEMPTS_MAX);
        allowed.saturating_add(self.uncounted(retries))
    }

    /// Returns the timer of a stored wait.
    pub(super) fn timer(&self) -> Option<&TimerName> {
        if let State::Backing { timer, .. } = &self.state { Some(timer) } else { None }
    }

    /// Returns the timer of a stored wait, and the end of the wait.
    pub(super) fn backing(&self) -> Option<(&TimerName, Timestamp)> {
        if let State::Backing { timer, until, .. } = &self.state {
            Some((timer, *until))
        } else {
            None
        }
    }

    /// Returns the last broken attempt, if another attempt waits, is due or runs.
    pub(super) fn retry(&self) -> Option<Retry<'_>> {
        let (next, until) = match &self.state {
            State::Out { attempt, .. } => (*attempt, None),
            State::Backing { next, until, .. } => (*next, Some(*until)),
            State::Due { next } => (*next, None),
            State::Idle | State::Broken { .. } => return None,
        };
        let outage_since = self.outage_since();
        let LastBreak { error, at: broke } = self.last.as_ref()?;
        Some(Retry { next, until, error, broke: *broke, outage_since })
    }

    /// Returns the start of the outage that broke the last attempts.
    pub(super) fn outage_since(&self) -> Option<Timestamp> {
        self.outage.map(|outage| outage.since)
    }
}

/// Returns the time after a delay, or `None` beyond the end of time.
fn later(at: Timestamp, delay: Duration) -> Option<Timestamp> {
    at.checked_add(SignedDuration::try_from(delay).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_any_time_of_an_outage_work_either_waits_or_is_given_up_whatever_its_name() {
        let agent = Agent::default();
        let since = Timestamp::from_second(1_000_000).unwrap();
        let week = SignedDuration::from_hours(7 * 24);
        for n in 0..500 {
            let job = JobId::new(format!("job{n}")).unwrap();
            let work = WorkId::new("g0.r0.a.n1.t1").unwrap();
            for minutes in [-120, -61, -59, -30, -1, 0, 1] {
                let at = since + week + SignedDuration::from_mins(minutes);
                let mut attempts = Attempts::broken(Attempt(1), outage(), since);
                for _ in 0..40 {
                    attempts.broke(outage(), at);
                }
                let retries = Retries::of_work(&agent);
                let wait = attempts.to_wait(&work, retries, &job, 0);
                assert_eq!(attempts.failed(retries).is_some(), wait.is_none(), "{job} {minutes}");
                assert_eq!(wait.is_none(), minutes >= 0, "{job} {minutes}");
                assert!(wait.is_none_or(|wait| wait.until <= since + week));
            }
        }
    }

    fn outage() -> WorkError {
        WorkError::new("the model provider cannot be reached", ErrorClass::Outage)
    }
}
