//! The table of conflicting policies, each with its reason and an example file. Every combination
//! that is not in the table is legal.
//!
//! There are two kinds of conflict. A *contradiction* is refused wherever its settings come from.
//! An *idle* setting has no effect because of another one. It is refused where an author wrote it;
//! inherited from another agent it is harmless.

mod limits;
mod planning;
mod rule;
mod running;

use proto::{
    agent::{Agent, InvalidAgent},
    lang::Words,
};
use serde_json::Value;

pub use self::rule::Clash;
use self::rule::Text;
use crate::argument_rules;

/// Returns all conflicts of the table.
pub fn clashes() -> impl Iterator<Item = &'static Clash> {
    [planning::CLASHES, running::CLASHES, limits::CLASHES].into_iter().flatten()
}

/// Returns the first contradiction of an agent.
#[must_use]
pub fn contradiction(agent: &Agent) -> Option<&'static Clash> {
    clashes().find(|clash| !clash.idle && (clash.holds)(agent))
}

/// Returns the first idle setting of an agent that its author wrote. `written` is the source as
/// JSON of an agent.
#[must_use]
pub fn idle_setting(agent: &Agent, written: &Value) -> Option<&'static Clash> {
    let is_written = |field: &str| {
        field.split('.').try_fold(written, |at, name| at.get(name)).is_some_and(|v| !v.is_null())
    };
    clashes().find(|clash| clash.idle && is_written(clash.fields[0]) && (clash.holds)(agent))
}

/// Returns all conflicts of an agent: contradictions, and idle settings that its author wrote. Each
/// field is reported once.
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

/// Checks all bounds, and that no two policies contradict each other.
///
/// # Errors
/// Returns the first field that is out of bounds or contradicts another one.
pub fn check(agent: &Agent) -> Result<(), InvalidAgent> {
    agent.check_bounds()?;
    check_rules(agent)?;
    contradiction(agent).map_or(Ok(()), refuse)
}

/// Checks that every argument schema of an agent's rules for calls can be used.
pub(super) fn check_rules(agent: &Agent) -> Result<(), InvalidAgent> {
    let refuse = |field| {
        let why = Words::new(|language| Text::RuleSchema.text(language));
        Err(InvalidAgent { field, why })
    };
    argument_rules::unusable(agent).map_or(Ok(()), refuse)
}

/// Checks an agent and its source: bounds, contradictions and idle settings. `written` is the
/// source as JSON of an agent.
///
/// # Errors
/// Returns the first field with an error.
pub fn check_written(agent: &Agent, written: &Value) -> Result<(), InvalidAgent> {
    check(agent)?;
    idle_setting(agent, written).map_or(Ok(()), refuse)
}

fn refuse(clash: &Clash) -> Result<(), InvalidAgent> {
    Err(InvalidAgent { field: clash.fields[0].to_owned(), why: clash.why() })
}

#[cfg(test)]
mod tests;
