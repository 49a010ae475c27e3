//! Work that the process of the supervisor carried out itself: the command and its result in one
//! record.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    turn::TurnWork,
    work::{CallWork, PlanWork},
};
use crate::{
    fact::{Called, Fact, Planned, Turned},
    id::{Attempt, Generation, Unit, WorkId},
    notice::Notice,
    source::Source,
};

/// A command and its result, which one decision stores.
///
/// The fold of this decision is the fold of the command followed by the fold of the result. No worker
/// consumes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a decision keeps it boxed")]
pub enum Done {
    /// A plan.
    Plan(Ran<PlanWork, Planned>),
    /// A model turn.
    Turn(Ran<TurnWork, Turned>),
    /// A call of a tool without effects.
    Call(Ran<CallWork, Called>),
}

/// A command with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Ran<C, R> {
    /// Command that was carried out.
    pub command: C,
    /// Result, which names the unit of work and the attempt of the command.
    pub result: R,
    /// Time that the work took, in milliseconds. It determines when the work began, which users see.
    #[serde(default)]
    pub took_ms: u64,
}

impl Done {
    /// Returns the result as a fact of its own.
    #[must_use]
    pub fn result(&self) -> Fact {
        match self {
            Self::Plan(ran) => Fact::Planned(ran.result.clone()),
            Self::Turn(ran) => Fact::Turned(ran.result.clone()),
            Self::Call(ran) => Fact::Called(ran.result.clone()),
        }
    }

    /// Returns the attempt that was carried out.
    #[must_use]
    pub fn unit(&self) -> Unit {
        let (work, attempt) = self.work();
        Unit { work: work.clone(), attempt: Attempt(attempt) }
    }

    /// Returns the unit of work and the number of its attempt.
    #[must_use]
    pub fn work(&self) -> (&WorkId, u32) {
        match self {
            Self::Plan(ran) => (&ran.command.work, ran.command.attempt.0),
            Self::Turn(ran) => (&ran.command.work, ran.command.attempt.0),
            Self::Call(ran) => (&ran.command.work, ran.command.attempt.0),
        }
    }

    /// Returns the source whose facts answer such a command.
    #[must_use]
    pub fn source(&self) -> Source {
        match self {
            Self::Plan(_) => Source::Plan,
            Self::Turn(_) => Source::Turn,
            Self::Call(ran) => Source::Call(ran.command.pool.clone()),
        }
    }

    /// Returns the notices that the command gave to a model.
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        match self {
            Self::Plan(ran) => &ran.command.notices,
            Self::Turn(ran) => &ran.command.notices,
            Self::Call(_) => &[],
        }
    }

    /// Returns the time at which the work began, from the time at which its record was stored.
    #[must_use]
    pub fn begun(&self, stored: Timestamp) -> Timestamp {
        let took = i64::try_from(self.took_ms()).map(SignedDuration::from_millis);
        took.ok().and_then(|took| stored.checked_sub(took).ok()).unwrap_or(stored)
    }

    /// Returns the time that the work took, in milliseconds.
    #[must_use]
    pub fn took_ms(&self) -> u64 {
        match self {
            Self::Plan(ran) => ran.took_ms,
            Self::Turn(ran) => ran.took_ms,
            Self::Call(ran) => ran.took_ms,
        }
    }

    /// Returns the generation of the job in which the command was decided.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.work().0.generation()
    }
}
