//! Accessors for single kinds of fact, for code that reads a log without deciding anything.

use super::{Called, Fact, PlanReply, Signaled, Started, Submitted, TurnReply, Turned};
use crate::{id::Unit, tool::Fault, work_error::ErrorClass};

impl Called {
    /// Returns the prospects of another attempt, or `None` if the tool gave a result of its own.
    #[must_use]
    pub fn error_class(&self) -> Option<ErrorClass> {
        let fault = self.fault?;
        let is_outage = fault == Fault::Unavailable && self.outage;
        Some(if is_outage { ErrorClass::Outage } else { fault.class() })
    }
}

impl Fact {
    /// Returns the submission, or `None` for any other fact.
    #[must_use]
    pub fn into_submitted(self) -> Option<Submitted> {
        if let Self::Submitted(submitted) = self { Some(submitted) } else { None }
    }

    /// Returns the result of a model turn, or `None` for any other fact.
    #[must_use]
    pub fn into_turned(self) -> Option<Turned> {
        if let Self::Turned(turned) = self { Some(turned) } else { None }
    }

    /// Returns the result of a tool call, or `None` for any other fact.
    #[must_use]
    pub fn into_called(self) -> Option<Called> {
        if let Self::Called(called) = self { Some(called) } else { None }
    }

    /// Returns the signal, or `None` for any other fact.
    #[must_use]
    pub fn as_signaled(&self) -> Option<&Signaled> {
        if let Self::Signaled(signaled) = self { Some(signaled) } else { None }
    }

    /// Returns the intent to run a `once` tool, or `None` for any other fact.
    #[must_use]
    pub fn as_started(&self) -> Option<&Started> {
        if let Self::Started(started) = self { Some(started) } else { None }
    }

    /// Returns whether the fact reports that an attempt at a plan, a turn or a call failed.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Planned(planned) => matches!(planned.reply, PlanReply::Failed { .. }),
            Self::Turned(turned) => matches!(turned.reply, TurnReply::Failed { .. }),
            Self::Called(called) => called.fault.is_some(),
            Self::Submitted(_)
            | Self::Signaled(_)
            | Self::Started(_)
            | Self::Answered(_)
            | Self::Fired(_)
            | Self::Child(_) => false,
        }
    }

    /// Returns the attempt whose result the fact is, or `None` when the fact is not a worker's
    /// result.
    #[must_use]
    pub fn result_of(&self) -> Option<Unit> {
        let (work, attempt) = match self {
            Self::Planned(planned) => (&planned.work, planned.attempt),
            Self::Turned(turned) => (&turned.work, turned.attempt),
            Self::Called(called) => (&called.work, called.attempt),
            Self::Submitted(_)
            | Self::Signaled(_)
            | Self::Started(_)
            | Self::Answered(_)
            | Self::Fired(_)
            | Self::Child(_) => return None,
        };
        Some(Unit { work: work.clone(), attempt })
    }
}
