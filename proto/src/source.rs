//! The sources of facts.

use std::{fmt, str::FromStr};

use crate::id::Pool;

/// The source of a fact: the last tokens of its subject, so that broker permissions can restrict it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// Submissions, signals and messages between jobs, appended by the front door and the
    /// supervisors.
    Door,
    /// Plans and other replies of planners.
    Plan,
    /// Model turns of executors.
    Turn,
    /// Results of the tools of a pool, and intents to run its `once` tools.
    Call(Pool),
    /// Facts of planners, executors and tool workers of releases in which these shared one source.
    /// Nobody may write there any more.
    Crew,
    /// Answers of users, appended by the interaction actor.
    People,
    /// Expired timers, appended by the broker's scheduler.
    Clock,
}

/// A text that names no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a source of facts")]
pub struct UnknownSource(pub String);

impl Source {
    /// `true` if planners, executors or tool workers append facts there.
    #[must_use]
    pub fn is_worker(&self) -> bool {
        match self {
            Self::Plan | Self::Turn | Self::Call(_) | Self::Crew => true,
            Self::Door | Self::People | Self::Clock => false,
        }
    }

    /// `true` if a fact of this source counts for a command that workers of `wanted` answer.
    #[must_use]
    pub fn may_answer(&self, wanted: &Self) -> bool {
        self == wanted || (*self == Self::Crew && wanted.is_worker())
    }

    /// `true` if a worker of this source may report on calls to the tools of `pool`.
    #[must_use]
    pub fn may_call(&self, pool: &Pool) -> bool {
        self.may_answer(&Self::Call(pool.clone()))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Door => f.write_str("door"),
            Self::Plan => f.write_str("plan"),
            Self::Turn => f.write_str("turn"),
            Self::Call(pool) => write!(f, "call.{pool}"),
            Self::Crew => f.write_str("crew"),
            Self::People => f.write_str("people"),
            Self::Clock => f.write_str("clock"),
        }
    }
}

impl FromStr for Source {
    type Err = UnknownSource;

    fn from_str(text: &str) -> Result<Self, UnknownSource> {
        let unknown = || UnknownSource(text.chars().take(100).collect());
        match text {
            "door" => Ok(Self::Door),
            "plan" => Ok(Self::Plan),
            "turn" => Ok(Self::Turn),
            "crew" => Ok(Self::Crew),
            "people" => Ok(Self::People),
            "clock" => Ok(Self::Clock),
            other => {
                let pool = other.strip_prefix("call.").ok_or_else(unknown)?;
                Pool::new(pool).map(Self::Call).map_err(|_| unknown())
            }
        }
    }
}
