//! Work that the process of the supervisor carried out itself: commands and their results in one
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

/// Commands and their results, which one decision stores.
///
/// The fold of this decision is the fold of the first command, then of its result, then of the next
/// command, and so on. Further units were decided before the first one was stored, so a fact may have
/// been stored in between. They count while each can follow what precedes it: from the first one that
/// cannot, none counts. No worker consumes this decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Done {
    /// First unit, which follows from the log.
    #[serde(flatten)]
    pub first: DoneUnit,
    /// Units that were carried out after it, in order, all of the generation of the first one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<DoneUnit>,
}

/// A unit of work that is done: a command and its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a decision keeps it boxed")]
pub enum DoneUnit {
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

impl From<DoneUnit> for Done {
    fn from(first: DoneUnit) -> Self {
        Self { first, then: Vec::new() }
    }
}

impl Done {
    /// Returns the units in the order in which they were carried out.
    pub fn units(&self) -> impl Iterator<Item = &DoneUnit> {
        std::iter::once(&self.first).chain(&self.then)
    }

    /// Returns the units in the order in which they were carried out.
    pub fn into_units(self) -> impl Iterator<Item = DoneUnit> {
        std::iter::once(self.first).chain(self.then)
    }

    /// Returns the time at which the first unit began, from the time at which the record was stored.
    #[must_use]
    pub fn begun(&self, stored: Timestamp) -> Timestamp {
        stored.checked_sub(millis(self.took_ms())).unwrap_or(stored)
    }

    /// Returns each unit with the times at which its work began and ended, from the time at which the
    /// record was stored. Units are carried out one after the other, without a pause.
    pub fn timed(&self, stored: Timestamp) -> impl Iterator<Item = (&DoneUnit, Period)> {
        self.units().scan(self.begun(stored), move |time, unit| {
            let began = *time;
            let ended = began.checked_add(millis(unit.took_ms())).unwrap_or(stored).min(stored);
            *time = ended;
            Some((unit, Period { began, ended }))
        })
    }

    /// Returns the time that the work of all units took, in milliseconds.
    #[must_use]
    pub fn took_ms(&self) -> u64 {
        self.units().map(DoneUnit::took_ms).fold(0, u64::saturating_add)
    }

    /// Returns the notices that the commands gave to a model.
    pub fn notices(&self) -> impl Iterator<Item = &Notice> {
        self.units().flat_map(DoneUnit::notices)
    }

    /// Returns the generation of the job in which the commands were decided.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.first.generation()
    }
}

/// The time between the beginning and the end of a unit's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Beginning.
    pub began: Timestamp,
    /// End.
    pub ended: Timestamp,
}

impl DoneUnit {
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

    /// Returns `true` if the result is of the command.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        let (work, attempt) = match self {
            Self::Plan(ran) => (&ran.result.work, ran.result.attempt),
            Self::Turn(ran) => (&ran.result.work, ran.result.attempt),
            Self::Call(ran) => (&ran.result.work, ran.result.attempt),
        };
        self.work() == (work, attempt.0)
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

/// Returns a duration; a number of milliseconds that no duration can have is the longest one.
fn millis(millis: u64) -> SignedDuration {
    SignedDuration::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}
