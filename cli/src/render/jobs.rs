//! Rendering of a list of jobs.

use proto::{
    door::{Counted, Listed},
    escape,
    id::JobId,
    job::{JobState, SubStatus},
    view::JobSummary,
    why::Reason,
};

use crate::{
    render::{
        describe::labels,
        marks,
        table::{Piece, note, plain, table},
    },
    style::{Style, Tone},
    words::Text,
};

/// Place of the labels in a row.
const LABELS: usize = 6;

/// Renders the list, newest first.
pub(crate) fn list(style: &Style, listed: &Listed) -> String {
    let rows = listed.jobs.iter().map(|job| row(style, job)).collect();
    shown(style, listed, rows)
}

/// Renders some jobs without a note about others.
pub(crate) fn rows(style: &Style, jobs: &[JobSummary]) -> String {
    grid_of(style, jobs, jobs.iter().map(|job| row(style, job)).collect())
}

/// Renders the list with every job below its parent, if the parent is listed.
pub(crate) fn tree(style: &Style, listed: &Listed) -> String {
    let is_listed = |id: &JobId| listed.jobs.iter().any(|job| job.job == *id);
    let tops = listed.jobs.iter().filter(|job| !job.parent.as_ref().is_some_and(is_listed));
    let mut rows = Vec::new();
    // The prefix of a job's line, the prefix of its children's lines, and the job.
    let mut waiting: Vec<(String, String, &JobSummary)> =
        tops.rev().map(|job| (String::new(), String::new(), job)).collect();
    while let Some((branch, rail, job)) = waiting.pop() {
        let mut row = row(style, job);
        if let Some(first) = row.first_mut() {
            *first = plain(format!("{branch}{}", job.job));
        }
        rows.push(row);
        let below = listed.jobs.iter().filter(|one| one.parent.as_ref() == Some(&job.job));
        // The last entry of the stack is rendered first.
        waiting.extend(below.enumerate().map(|(n, job)| {
            let (mark, goes_on) = if n == 0 { ("└ ", "  ") } else { ("├ ", "│ ") };
            (format!("{rail}{mark}"), format!("{rail}{goes_on}"), job)
        }));
    }
    shown(style, listed, rows)
}

/// Renders the numbers of jobs, one line a state, and their sum.
pub(crate) fn counted(style: &Style, counted: &Counted) -> String {
    let Counted { open, completed, failed, canceled } = *counted;
    let row = |state, count: u64| {
        let (mark, tone) = marks::job(state);
        let word = match state {
            JobState::Working => style.say(Text::OpenJobs),
            JobState::Submitted
            | JobState::InputRequired
            | JobState::AuthRequired
            | JobState::Completed
            | JobState::Failed
            | JobState::Rejected
            | JobState::Canceled => state.to_string(),
        };
        vec![(tone, format!("{mark} {word}")), plain(count.to_string())]
    };
    let rows = vec![
        row(JobState::Working, open),
        row(JobState::Completed, completed),
        row(JobState::Failed, failed),
        row(JobState::Canceled, canceled),
        vec![plain(style.say(Text::AllJobs)), plain(counted.total().to_string())],
    ];
    table(style, Text::CountHeads, rows, Text::NoJobs)
}

fn grid_of(style: &Style, jobs: &[JobSummary], mut rows: Vec<Vec<Piece>>) -> String {
    let mut heads = Text::JobsHeads;
    // Labels have a column only where some job has any.
    if jobs.iter().all(|job| job.labels.is_empty()) {
        rows.iter_mut().for_each(|row| _ = row.remove(LABELS));
    } else {
        heads = Text::LabelledJobsHeads;
    }
    table(style, heads, rows, Text::NoJobs)
}

fn shown(style: &Style, listed: &Listed, rows: Vec<Vec<Piece>>) -> String {
    let mut out = grid_of(style, &listed.jobs, rows);
    if listed.more {
        let more = match &listed.next {
            Some(next) => style.say(Text::MoreJobsAfter { next }),
            None => style.say(Text::MoreJobs),
        };
        out.push_str(&note(style, &more));
    }
    out
}

/// Returns the code of the reason that holds the job, with the pool that lacks a worker.
fn held(job: &JobSummary) -> Piece {
    let Some(why) = job.why.as_ref().filter(|why| why.reason.is_hold()) else { return plain("") };
    let tone = if why.reason.is_fault() { Tone::Bad } else { Tone::Wait };
    let code = why.reason.code();
    match &why.reason {
        Reason::NoWorker { command } => (tone, format!("{code} {}.{}", command.kind, command.pool)),
        Reason::Unreadable { .. }
        | Reason::Paused { .. }
        | Reason::NoSupervisor { .. }
        | Reason::Question { .. }
        | Reason::GivenUp { .. }
        | Reason::Outage { .. }
        | Reason::Retry { .. }
        | Reason::Pausing { .. }
        | Reason::Event { .. }
        | Reason::Child { .. }
        | Reason::Queued { .. }
        | Reason::Sent { .. }
        | Reason::Running { .. }
        | Reason::BudgetUsed { .. }
        | Reason::Ending { .. }
        | Reason::Deciding => (tone, code.to_owned()),
    }
}

fn row(style: &Style, job: &JobSummary) -> Vec<Piece> {
    let (mark, tone) = marks::job(job.state);
    // A sub-status that the state implies is omitted.
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
    let notices = job.notices.iter().map(|notice| format!(" ! {}", notice.as_str()));
    let state = state + &notices.collect::<String>();
    let state = match &job.retry {
        Some(retry) => style.say(Text::ListAttempt { state: &state, attempt: &retry.attempt }),
        None => state,
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
        held(job),
        plain(steps),
        plain(style.time(job.created)),
        plain(job.agent.as_str()),
        plain(labels(&job.labels)),
        plain(escape::line(&job.goal)),
    ]
}
