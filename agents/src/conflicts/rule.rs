//! One pair of policies that do not go together, and the conditions that the table is made of.

use proto::{
    agent::{Agent, OnFailure, PlanWhen, ReplanWhen, StepExec},
    policy::{AskLimit, PlanProtocol},
};

/// Two policies that do not go together.
#[derive(Debug, Clone, Copy)]
pub struct Clash {
    /// The fields, dotted; the first is the one that is refused.
    pub fields: [&'static str; 2],
    /// Why.
    pub why: &'static str,
    /// An agent that has it, and nothing else that is wrong.
    pub example: &'static str,
    /// Whether it is refused only where the first field was written down.
    pub idle: bool,
    pub(super) holds: fn(&Agent) -> bool,
}

pub(super) const fn contradict(
    fields: [&'static str; 2],
    why: &'static str,
    example: &'static str,
    holds: fn(&Agent) -> bool,
) -> Clash {
    Clash { fields, why, example, idle: false, holds }
}

pub(super) const fn idle(
    fields: [&'static str; 2],
    why: &'static str,
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

/// Whether plans are made of steps that are there from the beginning.
pub(super) fn ahead(a: &Agent) -> bool {
    !turn_by_turn(a) && !inline(a)
}

/// Whether every step of a plan is one tool call, whatever a planner says.
pub(super) fn calls_alone(a: &Agent) -> bool {
    turn_by_turn(a) || a.plan.protocol == PlanProtocol::ActionSteps
}

/// Whether somebody wrote down when to replan, other than never.
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
