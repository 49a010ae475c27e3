//! The moves of a workflow in one line of a job's history.

use proto::{
    excerpt,
    workflow::{Advance, Move, WorkflowEnd},
};

/// Longest line, in characters.
const LINE_CHARS: usize = 400;
/// Longest value in a line, in characters.
const VALUE_CHARS: usize = 60;

/// Returns the moves in their order. Names, conditions and values speak for themselves in every
/// language.
pub(super) fn line(advance: &Advance) -> String {
    let moves: Vec<String> = advance.moves.iter().map(one).collect();
    excerpt::line(&moves.join("; ").replace(char::is_control, " "), LINE_CHARS)
}

fn one(one: &Move) -> String {
    match one {
        Move::Enter { visit, .. } => visit.to_string(),
        Move::Write { key, value } => {
            format!("state.{key} = {}", excerpt::line(&value.to_string(), VALUE_CHARS))
        }
        Move::Receive { visit, event } => format!("{visit} ← #{event}"),
        Move::Leave { visit, to, when, error } => {
            let when = when.as_ref().map(|when| format!(" [{when}]")).unwrap_or_default();
            let error = error.as_deref().map(|error| format!(" ✗ {error}")).unwrap_or_default();
            format!("{visit} → {to}{when}{error}")
        }
        Move::Split { visit, paths, .. } => format!("{visit} ⇉ {paths}"),
        Move::Arrive { path, error: None, .. } => format!("{path} ✓"),
        Move::Arrive { path, error: Some(error), .. } => format!("{path} ✗ {error}"),
        Move::Join { visit, failed: false } => format!("{visit} ⇶"),
        Move::Join { visit, failed: true } => format!("{visit} ✗"),
        Move::End { end: WorkflowEnd::Completed { output } } => {
            format!("= {}", excerpt::line(&output.to_string(), VALUE_CHARS))
        }
        Move::End { end: WorkflowEnd::Failed { message, .. } } => format!("✗ {message}"),
    }
}
