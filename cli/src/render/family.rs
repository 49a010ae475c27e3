//! What a job's log says about the jobs that work for it, for people.

use proto::{
    decision::Note,
    family::{ChildSaid, News},
    job::Outcome,
};

use crate::look::Tone;

/// What a child said.
pub(super) fn child_said(said: &ChildSaid) -> (Tone, String) {
    let who = format!("{}#{}", said.work, said.attempt);
    match &said.news {
        News::Asks { path, job, question } => {
            (Tone::Wait, format!("{who} asks {path} ({job} {}): {}", question.id, question.prompt))
        }
        News::Closed { job, ask } => (Tone::Dim, format!("{who} {ask} of {job} is closed")),
        News::Ended { outcome, .. } => match outcome {
            Outcome::Completed { summary, .. } => {
                (Tone::Good, format!("{who} completed: {summary}"))
            }
            Outcome::Failed { reason, message, .. } => {
                (Tone::Bad, format!("{who} failed, {}: {message}", reason.as_str()))
            }
            Outcome::Canceled { reason } => {
                let reason = reason.as_deref().unwrap_or_default();
                (Tone::Dim, format!("{who} was canceled {reason}"))
            }
        },
    }
}

/// A note about the family; nothing for any other.
pub(super) fn note(note: &Note) -> String {
    match note {
        Note::Spawned { work, attempt } => format!("{work}#{attempt} has begun"),
        Note::ChildTold { work, attempt, signal } => {
            format!("{work}#{attempt} is told to {}", signal.word())
        }
        Note::ParentTold { job, ask, open: true } => {
            format!("the parent is told that {job} asks {ask}")
        }
        Note::ParentTold { job, ask, open: false } => {
            format!("the parent is told that {ask} of {job} is closed")
        }
        Note::Concluded { outcome } => format!("settled: {}", outcome.state()),
        Note::QuestionClosed { .. } | Note::Stopped { .. } => String::new(),
    }
}
