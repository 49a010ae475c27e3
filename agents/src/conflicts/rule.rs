//! A row of the table of conflicts, and the conditions that rows are made of.

use proto::{
    agent::{Agent, OnFailure, PlanWhen, ReplanWhen, StepExec},
    lang::Words,
    policy::{AskLimit, PlanProtocol},
};

messages::texts!(conflicts);

/// A conflict between two policies.
#[derive(Clone, Copy, derive_more::Debug)]
pub struct Clash {
    /// Dotted paths of the fields. The error names the first one.
    pub fields: [&'static str; 2],
    /// YAML of an agent with this conflict and no other error.
    pub example: &'static str,
    /// `true` if the conflict is an error only where an author wrote the first field.
    pub idle: bool,
    #[debug(skip)]
    pub(super) why: Text,
    pub(super) holds: fn(&Agent) -> bool,
}

impl Clash {
    /// Returns the reason of the conflict.
    #[must_use]
    pub fn why(&self) -> Words {
        Words::new(|language| self.why.text(language))
    }
}

pub(super) const fn contradict(
    fields: [&'static str; 2],
    why: Text,
    example: &'static str,
    holds: fn(&Agent) -> bool,
) -> Clash {
    Clash { fields, why, example, idle: false, holds }
}

pub(super) const fn idle(
    fields: [&'static str; 2],
    why: Text,
    example: &'static str,
    holds: fn(&Agent) -> bool,
) -> Clash {
    Clash { fields, why, example, idle: true, holds }
}

pub(super) fn never(a: &Agent) -> bool {
    a.plan.when == PlanWhen::Never
}

pub(super) fn always(a: &Agent) -> bool {
    a.plan.when == PlanWhen::Always
}

pub(super) fn inline(a: &Agent) -> bool {
    a.plan.protocol == PlanProtocol::InlineTools
}

pub(super) fn turn_by_turn(a: &Agent) -> bool {
    a.plan.protocol.is_turn_by_turn()
}

/// Returns whether plans have all their steps from the beginning.
pub(super) fn ahead(a: &Agent) -> bool {
    !turn_by_turn(a) && !inline(a)
}

/// Returns whether the protocol makes every step a single tool call.
pub(super) fn calls_alone(a: &Agent) -> bool {
    turn_by_turn(a) || a.plan.protocol == PlanProtocol::ActionSteps
}

/// Returns whether the agent sets a condition for replanning other than never.
pub(super) fn replans(a: &Agent) -> bool {
    a.replan.when.is_some_and(|when| when != ReplanWhen::Never)
}

pub(super) fn on_failure(a: &Agent, word: OnFailure) -> bool {
    a.step.on_failure == word
}

pub(super) fn exec(a: &Agent, word: StepExec) -> bool {
    a.step.exec == word
}

pub(super) fn never_asks(a: &Agent) -> bool {
    a.ask.limit == AskLimit::AtMost(0)
}
