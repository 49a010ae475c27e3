//! Rendering of everything about one job.

use proto::{
    escape,
    job::{JobState, Outcome, SubStatus},
    progress,
    view::JobView,
};

use crate::{
    render::{
        family,
        line::Line,
        marks, points, question,
        table::{pairs, plain},
        tree::{self, Said},
    },
    style::{Style, Tone},
    text,
};

pub(crate) fn describe(style: &Style, view: &JobView) -> String {
    let (mark, tone) = marks::job(view.state);
    let state = match view.sub_status {
        None => format!("{mark} {}", view.state),
        Some(sub) => format!("{mark} {} · {sub}", view.state),
    };
    let usage = tree::usage(view.usage).unwrap_or_default();
    let conversation = view.conversation.as_ref().map(ToString::to_string).unwrap_or_default();
    let ignored = match view.ignored {
        0 => String::new(),
        1 => "1 result came late, twice or from elsewhere, and changed nothing".to_owned(),
        n => format!("{n} results came late, twice or from elsewhere, and changed nothing"),
    };
    let mut out = pairs(
        style,
        &[
            ("job", (Tone::Strong, view.job.to_string())),
            ("state", (tone, state)),
            ("why", (tone, why(view))),
            ("goal", plain(escape::text(&view.goal))),
            ("files", plain(files(view))),
            ("agent", plain(format!("{} ({})", view.agent, view.language.code()))),
            ("submitted", plain(style.time(view.created))),
            ("changed", plain(style.time(view.updated))),
            ("took", plain(tree::age(view, style.now))),
            ("tokens", plain(usage)),
            ("tools cost", plain(tools(view))),
            ("budget", (budget_tone(view), budget(view))),
            ("conversation", plain(conversation)),
            ("works for", plain(family::above(view))),
            ("forked from", plain(points::origin(view))),
            ("generation", plain(points::generation(view))),
            ("snapshots", plain(points::line(view))),
            ("records", plain(format!("{}, the last is {}", view.records, view.seq))),
            ("ignored", plain(ignored)),
        ],
    );
    if let Some(plan) = &view.plan {
        out.push('\n');
        for line in tree::plan_lines(style, plan, &Said::new()) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    for asked in &view.questions {
        out.push('\n');
        out.push_str(&question::show(style, &view.job, asked));
    }
    for line in family::lines(style, view) {
        out.push('\n');
        out.push_str(&line);
    }
    if !view.children.is_empty() {
        out.push('\n');
    }
    for below in view.children.iter().flat_map(|child| &child.questions) {
        out.push('\n');
        out.push_str(&question::show(style, &below.job, &below.question));
    }
    if let Some(outcome) = &view.outcome {
        out.push('\n');
        out.push_str(&ending(style, outcome, progress::failed(view).as_deref()));
    }
    out
}

fn files(view: &JobView) -> String {
    let each = view.files.iter().map(|file| escape::line(&file.to_string()).into_owned());
    each.collect::<Vec<_>>().join("; ")
}

/// Lists the cost of each tool that incurred any.
fn tools(view: &JobView) -> String {
    let each = view.tools.iter().map(|cost| {
        let calls =
            if cost.calls == 1 { "1 call".to_owned() } else { format!("{} calls", cost.calls) };
        let tokens =
            tree::usage(cost.usage).map(|tokens| format!(", {tokens}")).unwrap_or_default();
        let paid = cost.money.map(|paid| format!(", ${paid:.4} paid")).unwrap_or_default();
        format!("{}: {calls}{tokens}{paid}", cost.tool)
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Lists the usage of each limit.
fn budget(view: &JobView) -> String {
    let gauges = view.budget.iter().map(|gauge| gauge.text(view.language));
    gauges.collect::<Vec<_>>().join(", ")
}

fn budget_tone(view: &JobView) -> Tone {
    if view.budget.iter().any(|gauge| gauge.warned) { Tone::Wait } else { Tone::Plain }
}

/// Explains the state of the job, and the action that would change it.
fn why(view: &JobView) -> String {
    let reason = tree::reason(view).map(escape::text).unwrap_or_default();
    let next = match (view.state, view.sub_status) {
        (_, Some(SubStatus::Poisoned)) => {
            "a record of its log cannot be read; the job is parked until that is repaired (docs/errors/poisoned.md)"
        }
        (_, Some(SubStatus::Paused)) => "an operator paused it; `callboard jobs resume` resumes it",
        (JobState::InputRequired, _) => "it waits for a person; see the questions below",
        (JobState::Submitted, _) => {
            "no supervisor has read it yet; `callboard crew ls` lists the live processes"
        }
        (
            JobState::Working
            | JobState::AuthRequired
            | JobState::Completed
            | JobState::Failed
            | JobState::Canceled
            | JobState::Rejected,
            _,
        ) => "",
    };
    match (reason.is_empty(), next.is_empty()) {
        (true, _) => next.to_owned(),
        (false, true) => reason.into_owned(),
        (false, false) => format!("{reason}; {next}"),
    }
}

/// Renders the outcome in full; `place` names the failed step, in the language of the job.
pub(crate) fn ending(style: &Style, outcome: &Outcome, place: Option<&str>) -> String {
    let (mark, tone) = marks::job(outcome.state());
    let (head, body): (String, Option<&str>) = match outcome {
        Outcome::Completed { summary, .. } => ("completed".to_owned(), Some(summary)),
        Outcome::Failed { reason, message, .. } => {
            let place = place.map(|place| format!(" · {place}")).unwrap_or_default();
            (format!("failed: {}{place}", reason.as_str()), Some(message))
        }
        Outcome::Canceled { reason } => ("canceled".to_owned(), reason.as_deref()),
    };
    let mut out = format!("{}\n", Line::new().add(tone, format!("{mark} {head}")).render(style));
    if let Some(body) = body.filter(|b| !b.trim().is_empty()) {
        let body = escape::text(body.trim_end());
        if style.width.is_some() {
            out.push_str(&text::indent(&body, 2, style.columns()));
        } else {
            // A pipe has no width, so the text is printed unwrapped.
            out.push_str(&body);
            out.push('\n');
        }
    }
    out
}
