//! The attempts at one unit of work: sent, answered, broken and retried.

use std::time::Duration;

use jiff::Timestamp;
use proto::{
    agent::{Agent, OnGivenUp},
    decision::Wait,
    fact::WorkError,
    id::{Attempt, TimerName, WorkId},
    retry::RetryPolicy,
};

use super::names;

/// The state of a unit of work. Its owner keeps the result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Attempts {
    /// The first command is to be sent.
    Idle,
    /// A command is stored and awaits its result.
    Out {
        /// Number of the attempt.
        attempt: Attempt,
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
        /// Error that caused the wait, for display.
        reason: String,
    },
    /// The wait is over, and the next command is to be sent.
    Due {
        /// Number of the attempt.
        next: Attempt,
    },
}

impl Attempts {
    /// Returns the attempt whose command is to be sent now.
    pub(super) fn to_send(&self) -> Option<Attempt> {
        match self {
            Self::Idle => Some(Attempt::FIRST),
            Self::Due { next } => Some(*next),
            Self::Out { .. } | Self::Broken { .. } | Self::Backing { .. } => None,
        }
    }

    /// Returns `true` if a command is queued or with a worker.
    pub(super) fn is_out(&self) -> bool {
        matches!(self, Self::Out { .. })
    }

    /// Returns `true` if a result of this attempt would count.
    pub(super) fn awaits(&self, attempt: Attempt) -> bool {
        *self == Self::Out { attempt }
    }

    /// Returns `true` if the end of this attempt is known.
    pub(super) fn has_heard(&self, attempt: Attempt) -> bool {
        attempt.0 <= self.count() && !self.awaits(attempt)
    }

    /// Returns the number of attempts so far.
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Idle => 0,
            Self::Out { attempt } | Self::Broken { attempt, .. } => attempt.0,
            Self::Backing { next, .. } | Self::Due { next } => next.0.saturating_sub(1),
        }
    }

    /// Records a stored command and returns `true` if it can follow.
    pub(super) fn sent(&mut self, attempt: Attempt) -> bool {
        let fits = self.to_send() == Some(attempt);
        if fits {
            *self = Self::Out { attempt };
        }
        fits
    }

    /// Records that the attempt broke.
    pub(super) fn broke(&mut self, error: WorkError, at: Timestamp) {
        *self = Self::Broken { attempt: Attempt(self.count().max(1)), error, at };
    }

    /// Records a stored wait and returns `true` if it can follow.
    pub(super) fn waits(&mut self, wait: &Wait) -> bool {
        let fits = matches!(self, Self::Broken { attempt, .. } if attempt.next() == wait.attempt);
        if fits {
            *self = Self::Backing {
                next: wait.attempt,
                timer: wait.timer.clone(),
                until: wait.until,
                reason: wait.reason.clone(),
            };
        }
        fits
    }

    /// Ends the wait if its timer fired, and returns `true` if it did.
    pub(super) fn fired(&mut self, fired: &TimerName) -> bool {
        match self {
            Self::Backing { next, timer, .. } if timer == fired => {
                *self = Self::Due { next: *next };
                true
            }
            Self::Idle
            | Self::Out { .. }
            | Self::Broken { .. }
            | Self::Backing { .. }
            | Self::Due { .. } => false,
        }
    }

    /// Ends a wait without its timer, because the timer belongs to an earlier generation.
    pub(super) fn wait_no_longer(&mut self) {
        if let Self::Backing { next, .. } = self {
            *self = Self::Due { next: *next };
        }
    }

    /// Makes the next attempt due at once: ends a wait and, if `last` is set, allows one more
    /// attempt after the last one broke. Returns `true` if anything changed.
    pub(super) fn again(&mut self, last: bool) -> bool {
        let next = match self {
            Self::Backing { next, .. } => *next,
            Self::Broken { attempt, error, .. } if last && error.transient => attempt.next(),
            Self::Broken { .. } | Self::Idle | Self::Out { .. } | Self::Due { .. } => return false,
        };
        *self = Self::Due { next };
        true
    }

    /// Returns `true` if the work waits for an operator: no attempt is left, and the error was
    /// transient, so another attempt could succeed.
    pub(super) fn is_parked(&self, agent: &Agent) -> bool {
        self.is_parked_beside(0, agent)
    }

    /// Like [`Self::is_parked`], without counting `others` attempts.
    pub(super) fn is_parked_beside(&self, others: u32, agent: &Agent) -> bool {
        agent.tool.on_given_up == OnGivenUp::Park
            && self.given_up_beside(others, &agent.tool.retry).is_some_and(|error| error.transient)
    }

    /// Returns the last error if no attempt is left.
    pub(super) fn given_up(&self, policy: &RetryPolicy) -> Option<&WorkError> {
        self.given_up_beside(0, policy)
    }

    /// Like [`Self::given_up`], without counting `others` attempts.
    pub(super) fn given_up_beside(&self, others: u32, policy: &RetryPolicy) -> Option<&WorkError> {
        match self {
            Self::Broken { attempt, error, .. } => {
                let again = error.transient && policy.delay(without(*attempt, others), 0).is_some();
                (!again).then_some(error)
            }
            Self::Idle | Self::Out { .. } | Self::Backing { .. } | Self::Due { .. } => None,
        }
    }

    /// Returns the wait that should follow a broken attempt, if an attempt is left.
    pub(super) fn to_wait(
        &self,
        work: &WorkId,
        policy: &RetryPolicy,
        job: &str,
        waits: u32,
    ) -> Option<Wait> {
        self.to_wait_beside(0, work, policy, job, waits)
    }

    /// Like [`Self::to_wait`], without counting `others` attempts.
    pub(super) fn to_wait_beside(
        &self,
        others: u32,
        work: &WorkId,
        policy: &RetryPolicy,
        job: &str,
        waits: u32,
    ) -> Option<Wait> {
        let Self::Broken { attempt, error, at } = self else { return None };
        if !error.transient {
            return None;
        }
        let delay = policy.delay(without(*attempt, others), names::seed(job, work))?;
        let asked = Duration::from_millis(error.retry_after_ms.unwrap_or(0));
        let delay = delay.max(asked).min(Duration::from_millis(proto::limits::WAIT_MS_MAX));
        let until = jiff::SignedDuration::try_from(delay).ok().and_then(|d| at.checked_add(d).ok());
        Some(Wait {
            work: work.clone(),
            attempt: attempt.next(),
            until: until.unwrap_or(*at),
            timer: names::retry_timer(work.generation(), waits.saturating_add(1)),
            reason: error.message.clone(),
        })
    }

    /// Returns the timer of a stored wait.
    pub(super) fn timer(&self) -> Option<&TimerName> {
        match self {
            Self::Backing { timer, .. } => Some(timer),
            Self::Idle | Self::Out { .. } | Self::Broken { .. } | Self::Due { .. } => None,
        }
    }
}

/// Returns the number of an attempt when `others` attempts do not count; at least 1.
fn without(attempt: Attempt, others: u32) -> Attempt {
    Attempt(attempt.0.saturating_sub(others).max(1))
}
