//! The table of policies that do not go together, each with its reason and a file that has it. What
//! is not in the table is legal.
//!
//! There are two kinds. A *contradiction* is refused wherever it comes from. A setting that is
//! *idle*, because another one leaves it nothing to decide, is refused where somebody wrote it down:
//! inherited from another agent it does no harm.

mod limits;
mod planning;
mod rule;
mod running;

use proto::agent::{Agent, InvalidAgent};
use serde_json::Value;

pub use self::rule::Clash;

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

/// Checks every bound of an agent, and that no two policies contradict each other.
///
/// # Errors
/// The first field that is out of bounds, or cannot be with another one.
pub fn check(agent: &Agent) -> Result<(), InvalidAgent> {
    agent.check_bounds()?;
    contradiction(agent).map_or(Ok(()), refuse)
}

/// Checks everything of an agent that somebody wrote down: bounds, contradictions, and settings
/// that decide nothing. `written` is what was written, as JSON of an agent.
///
/// # Errors
/// The first field that is wrong.
pub fn check_written(agent: &Agent, written: &Value) -> Result<(), InvalidAgent> {
    check(agent)?;
    idle_setting(agent, written).map_or(Ok(()), refuse)
}

fn refuse(clash: &Clash) -> Result<(), InvalidAgent> {
    Err(InvalidAgent { field: clash.fields[0].to_owned(), why: clash.why })
}

#[cfg(test)]
mod tests;
