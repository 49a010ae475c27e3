//! The table of policies that do not go together, each with its reason and a file that has it. What
//! is not in the table is legal.
//!
//! There are two kinds. A *contradiction* is refused wherever it comes from. A setting that is
//! *idle*, because another one leaves it nothing to decide, is refused where somebody wrote it down:
//! inherited from another agent it does no harm.

mod limits;
mod planning;
mod running;

use serde_json::Value;

use super::{Agent, InvalidAgent, OnFailure, PlanWhen, ReplanWhen, StepExec};
use crate::policy::{AskLimit, PlanProtocol};

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
    holds: fn(&Agent) -> bool,
}

const fn contradict(
    fields: [&'static str; 2],
    why: &'static str,
    example: &'static str,
    holds: fn(&Agent) -> bool,
) -> Clash {
    Clash { fields, why, example, idle: false, holds }
}

const fn idle(
    fields: [&'static str; 2],
    why: &'static str,
    example: &'static str,
    holds: fn(&Agent) -> bool,
) -> Clash {
    Clash { fields, why, example, idle: true, holds }
}

fn never(a: &Agent) -> bool {
    a.plan.when == PlanWhen::Never
}

fn always(a: &Agent) -> bool {
    a.plan.when == PlanWhen::Always
}

fn inline(a: &Agent) -> bool {
    a.plan.protocol == PlanProtocol::InlineTools
}

fn turn_by_turn(a: &Agent) -> bool {
    a.plan.protocol.is_turn_by_turn()
}

/// Whether plans are made of steps that are there from the beginning.
fn ahead(a: &Agent) -> bool {
    !turn_by_turn(a) && !inline(a)
}

/// Whether every step of a plan is one tool call, whatever a planner says.
fn calls_alone(a: &Agent) -> bool {
    turn_by_turn(a) || a.plan.protocol == PlanProtocol::ActionSteps
}

/// Whether somebody wrote down when to replan, other than never.
fn replans(a: &Agent) -> bool {
    a.replan.when.is_some_and(|when| when != ReplanWhen::Never)
}

fn on_failure(a: &Agent, word: OnFailure) -> bool {
    a.step.on_failure == word
}

fn exec(a: &Agent, word: StepExec) -> bool {
    a.step.exec == word
}

fn never_asks(a: &Agent) -> bool {
    a.ask.limit == AskLimit::AtMost(0)
}

/// Everything that does not go together.
pub fn clashes() -> impl Iterator<Item = &'static Clash> {
    [planning::CLASHES, running::CLASHES, limits::CLASHES].into_iter().flatten()
}

/// The first contradiction of an agent.
#[must_use]
pub fn contradiction(agent: &Agent) -> Option<&'static Clash> {
    clashes().find(|clash| !clash.idle && (clash.holds)(agent))
}

/// The first setting that was written down and decides nothing. `written` is what was written, as
/// JSON of an agent.
#[must_use]
pub fn idle_setting(agent: &Agent, written: &Value) -> Option<&'static Clash> {
    let is_written = |field: &str| {
        field.split('.').try_fold(written, |at, name| at.get(name)).is_some_and(|v| !v.is_null())
    };
    clashes().find(|clash| clash.idle && is_written(clash.fields[0]) && (clash.holds)(agent))
}

/// Everything of an agent that does not go together, and every setting that was written down and
/// decides nothing; of each field the first.
pub(super) fn all(agent: &Agent, written: &Value) -> Vec<&'static Clash> {
    let is_written = |field: &str| {
        field.split('.').try_fold(written, |at, name| at.get(name)).is_some_and(|v| !v.is_null())
    };
    let contradictions = clashes().filter(|clash| !clash.idle);
    let idle = clashes().filter(|clash| clash.idle && is_written(clash.fields[0]));
    let mut found: Vec<&'static Clash> = Vec::new();
    for clash in contradictions.chain(idle).filter(|clash| (clash.holds)(agent)) {
        if found.iter().all(|known| known.fields[0] != clash.fields[0]) {
            found.push(clash);
        }
    }
    found
}

impl Agent {
    /// Checks everything of an agent that somebody wrote down: bounds, contradictions, and settings
    /// that decide nothing. `written` is what was written, as JSON of an agent.
    ///
    /// # Errors
    /// The first field that is wrong.
    pub fn check_written(&self, written: &Value) -> Result<(), InvalidAgent> {
        self.check()?;
        let clash = idle_setting(self, written);
        clash.map_or(Ok(()), |clash| super::refuse(clash.fields[0], clash.why))
    }
}

#[cfg(test)]
mod tests;
