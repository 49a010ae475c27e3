//! Page tokens: the place after which the list goes on, bound to the caller and the filter. Pure.
//!
//! The subject of a caller with a token is a digest of the token, which nobody else knows, so nobody
//! else makes or uses a page token of that caller. Any gateway reads it.

use proto::{digest, door::Filter, id::JobId};
use serde_json::json;

/// Returns the token of the page after a job.
pub(super) fn token(subject: &str, filter: &Filter, after: &JobId) -> String {
    let sum = digest::of_json(&json!([subject, filter, after]));
    format!("{after}.{}", sum.chars().take(32).collect::<String>())
}

/// Returns the job after which the page begins; `None` for a token of another caller or filter.
pub(super) fn read(subject: &str, filter: &Filter, given: &str) -> Option<JobId> {
    let after: JobId = given.split_once('.')?.0.parse().ok()?;
    (token(subject, filter, &after) == given).then_some(after)
}

#[cfg(test)]
mod tests {
    use proto::job::JobState;

    use super::*;

    #[test]
    fn a_token_is_for_its_caller_and_its_filter() {
        let (all, after) = (Filter::default(), "j1".parse().unwrap());
        let made = token("ann", &all, &after);
        assert_eq!(read("ann", &all, &made), Some(after));
        assert_eq!(read("bob", &all, &made), None);
        assert_eq!(read("ann", &Filter::of_states([JobState::Working]), &made), None);
        for wrong in ["", "j1", "j1.", ".x"] {
            assert_eq!(read("ann", &all, wrong), None, "{wrong}");
        }
    }
}
