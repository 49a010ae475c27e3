//! The attempts at one unit of work: sent, answered, broken, waited for, sent again.

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

/// Where a unit of work stands. How it ended well is for its owner to know.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Attempts {
    /// Its first command should be sent.
    Idle,
    /// A command is stored and has no answer that counts. Caused by a decision, ended by a fact.
    Out {
        /// Which attempt.
        attempt: Attempt,
    },
    /// The attempt broke. What follows is a [`Wait`], or nothing when no attempt is left.
    Broken {
        /// Which attempt.
        attempt: Attempt,
        /// Why.
        error: WorkError,
        /// When, by the server's clock.
        at: Timestamp,
    },
    /// A wait is stored. Ended by its timer.
    Backing {
        /// The attempt that follows.
        next: Attempt,
        /// What ends the wait.
        timer: TimerName,
        /// When.
        until: Timestamp,
        /// Why it waits.
        reason: String,
    },
    /// The wait is over; the command of this attempt should be sent.
    Due {
        /// Which attempt.
        next: Attempt,
    },
}

impl Attempts {
    /// The attempt whose command should be sent now.
    pub(super) fn to_send(&self) -> Option<Attempt> {
        match self {
            Self::Idle => Some(Attempt::FIRST),
            Self::Due { next } => Some(*next),
            Self::Out { .. } | Self::Broken { .. } | Self::Backing { .. } => None,
        }
    }

    /// Whether a command is with a worker or in a queue.
    pub(super) fn is_out(&self) -> bool {
        matches!(self, Self::Out { .. })
    }

    /// Whether an answer to this attempt counts.
    pub(super) fn awaits(&self, attempt: Attempt) -> bool {
        *self == Self::Out { attempt }
    }

    /// Whether it is known how this attempt ended.
    pub(super) fn has_heard(&self, attempt: Attempt) -> bool {
        attempt.0 <= self.count() && !self.awaits(attempt)
    }

    /// Attempts so far.
    pub(super) fn count(&self) -> u32 {
        match self {
            Self::Idle => 0,
            Self::Out { attempt } | Self::Broken { attempt, .. } => attempt.0,
            Self::Backing { next, .. } | Self::Due { next } => next.0.saturating_sub(1),
        }
    }

    /// A command was stored.
    pub(super) fn sent(&mut self, attempt: Attempt) -> bool {
        let fits = self.to_send() == Some(attempt);
        if fits {
            *self = Self::Out { attempt };
        }
        fits
    }

    /// The attempt broke.
    pub(super) fn broke(&mut self, error: WorkError, at: Timestamp) {
        *self = Self::Broken { attempt: Attempt(self.count().max(1)), error, at };
    }

    /// A wait was stored.
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

    /// A timer fired.
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

    /// The wait for the clock is over, whatever the clock says.
    pub(super) fn wait_no_longer(&mut self) {
        if let Self::Backing { next, .. } = self {
            *self = Self::Due { next: *next };
        }
    }

    /// It is to be tried again now: a wait is over, and so is the `last` attempt that broke. Whether
    /// that changed anything.
    pub(super) fn again(&mut self, last: bool) -> bool {
        let next = match self {
            Self::Backing { next, .. } => *next,
            Self::Broken { attempt, error, .. } if last && error.transient => attempt.next(),
            Self::Broken { .. } | Self::Idle | Self::Out { .. } | Self::Due { .. } => return false,
        };
        *self = Self::Due { next };
        true
    }

    /// Whether it waits for an operator: it broke, no attempt is left, and another one could end
    /// differently.
    pub(super) fn is_parked(&self, agent: &Agent) -> bool {
        self.is_parked_beside(0, agent)
    }

    /// The same where some attempts do not count.
    pub(super) fn is_parked_beside(&self, others: u32, agent: &Agent) -> bool {
        agent.tool.on_given_up == OnGivenUp::Park
            && self.given_up_beside(others, &agent.tool.retry).is_some_and(|error| error.transient)
    }

    /// The error it ends with, when it broke and no attempt is left.
    pub(super) fn given_up(&self, policy: &RetryPolicy) -> Option<&WorkError> {
        self.given_up_beside(0, policy)
    }

    /// The same where some attempts do not count.
    pub(super) fn given_up_beside(&self, others: u32, policy: &RetryPolicy) -> Option<&WorkError> {
        match self {
            Self::Broken { attempt, error, .. } => {
                let again = error.transient && policy.delay(without(*attempt, others), 0).is_some();
                (!again).then_some(error)
            }
            Self::Idle | Self::Out { .. } | Self::Backing { .. } | Self::Due { .. } => None,
        }
    }

    /// The wait that should follow, when it broke and an attempt is left.
    pub(super) fn to_wait(
        &self,
        work: &WorkId,
        policy: &RetryPolicy,
        job: &str,
        waits: u32,
    ) -> Option<Wait> {
        self.to_wait_beside(0, work, policy, job, waits)
    }

    /// The same where some attempts do not count.
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

    /// The timer it waits for.
    pub(super) fn timer(&self) -> Option<&TimerName> {
        match self {
            Self::Backing { timer, .. } => Some(timer),
            Self::Idle | Self::Out { .. } | Self::Broken { .. } | Self::Due { .. } => None,
        }
    }
}

/// Which attempt it is, when some do not count.
fn without(attempt: Attempt, others: u32) -> Attempt {
    Attempt(attempt.0.saturating_sub(others).max(1))
}
