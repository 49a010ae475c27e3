//! A list of jobs.

use proto::{
    door::Listed,
    escape,
    job::{JobState, SubStatus},
    view::JobSummary,
};

use crate::{
    look::{Look, Tone},
    render::{
        marks,
        table::{Piece, note, plain, table},
    },
};

/// The list, newest first.
pub(crate) fn list(look: &Look, listed: &Listed) -> String {
    let heads = ["JOB", "STATE", "STEPS?", "AGE", "AGENT?", "GOAL"];
    let rows = listed.jobs.iter().map(|job| row(look, job)).collect();
    let mut out = table(look, &heads, rows, "no jobs");
    if listed.more {
        out.push_str(&note(look, "there are more; raise --limit or narrow --state"));
    }
    out
}

fn row(look: &Look, job: &JobSummary) -> Vec<Piece> {
    let (mark, tone) = marks::job(job.state);
    // What can be told from the state alone is not said again.
    let sub = job.sub_status.filter(|sub| match sub {
        SubStatus::Executing => false,
        SubStatus::Parked => job.state != JobState::InputRequired,
        SubStatus::Planning
        | SubStatus::Replanning
        | SubStatus::BackingOff
        | SubStatus::Paused
        | SubStatus::Poisoned => true,
    });
    let state = match sub {
        None => format!("{mark} {}", job.state),
        Some(sub) => format!("{mark} {}, {sub}", job.state),
    };
    let tone = job.sub_status.map_or(tone, |sub| match marks::sub_status(sub) {
        Tone::Bad => Tone::Bad,
        Tone::Plain | Tone::Strong | Tone::Dim | Tone::Good | Tone::Busy | Tone::Wait => tone,
    });
    let steps = match job.steps {
        0 => "–".to_owned(),
        steps => format!("{}/{steps}", job.steps_done),
    };
    vec![
        plain(job.job.as_str()),
        (tone, state),
        plain(steps),
        plain(look.time(job.created)),
        plain(job.agent.as_str()),
        plain(escape::line(&job.goal)),
    ]
}
