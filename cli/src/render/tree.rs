//! Rendering of a job as a tree of steps, for the live display of `run` and for `jobs describe`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proto::{
    escape,
    id::StepId,
    message::Usage,
    outline::{Item, ItemStatus},
    step::StepState,
    view::{CallView, JobView, PlanView, StepView},
};

use crate::{
    look::{Look, Tone, lasted},
    render::{family, line::Line, marks},
    text,
};

/// Streamed model output, by step.
pub(crate) type Said = BTreeMap<StepId, String>;

/// Lines displayed of one stream.
const SAID_LINES: usize = 3;

/// Renders the whole tree: header, plan, questions, footer.
pub(crate) fn tree(
    look: &Look,
    view: &JobView,
    said: &Said,
    planning: Option<&str>,
) -> Vec<String> {
    let mut lines = header(look, view);
    if let Some(plan) = &view.plan {
        lines.extend(plan_lines(look, plan, said));
    }
    lines.extend(view.outline.iter().map(|item| item_line(look, item, "  ")));
    if let Some(words) = planning.filter(|_| view.outcome.is_none()) {
        lines.extend(streaming(look, "  ", words));
    }
    for question in &view.questions {
        let asked = format!("{} {}: ", question.id, question.kind.name());
        let line = Line::new().add(Tone::Wait, "  ⏸ ").add(Tone::Wait, asked);
        lines.push(line.add(Tone::Plain, escape::line(&question.prompt)).render(look));
    }
    lines.extend(family::lines(look, view));
    lines.push(footer(look, view));
    lines
}

/// Renders the state and the goal.
fn header(look: &Look, view: &JobView) -> Vec<String> {
    let (mark, tone) = marks::job(view.state);
    let mut first = Line::new().add(tone, format!("{mark} ")).add(Tone::Strong, view.job.as_str());
    first = first.add(tone, format!(" {}", view.state));
    if let Some(sub) = view.sub_status {
        first = first.add(marks::sub_status(sub), format!(" · {sub}"));
    }
    let mut lines = vec![first.render(look)];
    if let Some(reason) = reason(view) {
        lines.push(Line::new().add(tone, format!("  {}", escape::line(reason))).render(look));
    }
    lines.push(Line::new().add(Tone::Dim, format!("  {}", escape::line(&view.goal))).render(look));
    if let Some(detected) = &view.detected {
        let needs = if detected.complex { "needs a plan" } else { "needs no plan" };
        let words = format!("  {needs}: {}", escape::line(&detected.why));
        lines.push(Line::new().add(Tone::Dim, words).render(look));
    }
    lines
}

/// Renders an item of an outline.
fn item_line(look: &Look, item: &Item, rail: &str) -> String {
    let (mark, tone) = match item.status {
        ItemStatus::Pending => ("[ ]", Tone::Dim),
        ItemStatus::InProgress => ("[→]", Tone::Busy),
        ItemStatus::Done => ("[✓]", Tone::Good),
        ItemStatus::Blocked => ("[!]", Tone::Bad),
        ItemStatus::Skipped => ("[-]", Tone::Dim),
    };
    let line = Line::new().add(Tone::Dim, rail).add(tone, format!("{mark} "));
    let line = line.add(Tone::Plain, escape::line(&item.title));
    match &item.note {
        Some(note) => line.add(Tone::Dim, format!(" {}", escape::line(note))).render(look),
        None => line.render(look),
    }
}

/// Returns the reason for the job's state, unless an open question contains it.
pub(crate) fn reason(view: &JobView) -> Option<&str> {
    let said = |reason: &&str| view.questions.iter().any(|q| q.prompt.starts_with(*reason));
    view.reason.as_deref().filter(|reason| !reason.is_empty()).filter(|reason| !said(reason))
}

/// Renders the plan and its steps.
pub(crate) fn plan_lines(look: &Look, plan: &PlanView, said: &Said) -> Vec<String> {
    let mut title = Line::new().add(Tone::Strong, format!("  {}", escape::line(&plan.title)));
    if plan.revision > 0 {
        title = title.add(Tone::Dim, format!(" (plan {})", plan.revision + 1));
    }
    if !plan.confirmed {
        title = title.add(Tone::Wait, " · to be confirmed");
    }
    let mut lines = vec![title.render(look)];
    let aligned = aligned(look, &plan.steps);
    for (n, step) in plan.steps.iter().enumerate() {
        let last = n + 1 == plan.steps.len();
        lines.push(step_line(look, step, if last { "└" } else { "├" }, aligned));
        let rail = if last { "    " } else { "  │ " };
        let kept = format!("{rail}  ");
        lines.extend(step.outline.iter().map(|item| item_line(look, item, &kept)));
        lines.extend(step.calls.iter().filter_map(|call| call_line(look, step, call, rail)));
        if let Some(words) = said.get(&step.id).filter(|_| !step.state.is_terminal()) {
            lines.extend(streaming(look, rail, words));
        }
        lines.extend(result_line(look, step, rail));
        if !step.attachments.is_empty() {
            let words =
                format!("{rail}  attachments: {}", escape::line(&step.attachments.join(", ")));
            lines.push(Line::new().add(Tone::Dim, words).render(look));
        }
    }
    lines
}

/// Returns the column at which durations end: after the longest step that leaves space.
fn aligned(look: &Look, steps: &[StepView]) -> usize {
    let most = look.columns().min(100);
    let longest = steps.iter().map(|s| text::width(&label(s)) + s.id.as_str().len() + 18).max();
    longest.unwrap_or(0).min(most)
}

fn label(step: &StepView) -> String {
    let words = if step.title.is_empty() { &step.description } else { &step.title };
    escape::line(words).into_owned()
}

fn step_line(look: &Look, step: &StepView, branch: &str, aligned: usize) -> String {
    let (mark, tone) = marks::step(step);
    let id = Line::new()
        .add(Tone::Dim, format!("  {branch} "))
        .add(tone, format!("{mark} "))
        .add(Tone::Dim, format!("{} ", step.id));
    let right = duration(look, step);
    // A long title yields to the duration, unless the terminal is too narrow for either.
    let room = match look.width {
        Some(width) if width >= 40 => width.saturating_sub(id.width() + text::width(&right) + 2),
        Some(_) | None => usize::MAX,
    };
    let mut line = id.add(Tone::Plain, text::fit(&label(step), room));
    if step.attempts > 1 {
        line = line.add(Tone::Wait, format!(" (try {})", step.attempts));
    }
    if step.state == StepState::Completed && step.success == Some(false) {
        line = line.add(tone, " without success");
    }
    if step.started.is_none() && !step.depends_on.is_empty() && !step.state.is_terminal() {
        let on: Vec<_> = step.depends_on.iter().map(StepId::as_str).collect();
        line = line.add(Tone::Dim, format!(" after {}", on.join(", ")));
    }
    line.add_right(Tone::Dim, &right, aligned, look).render(look)
}

fn duration(look: &Look, step: &StepView) -> String {
    match (step.started, step.ended) {
        (Some(from), Some(to)) => lasted(from, to),
        (Some(from), None) => lasted(from, look.now.max(from)),
        (None, Some(_) | None) => String::new(),
    }
}

/// Renders a tool call; `None` if the step itself is one successful call with the same message.
fn call_line(look: &Look, step: &StepView, call: &CallView, rail: &str) -> Option<String> {
    let (mark, tone) = marks::call(call.state);
    let same = call.message.as_deref() == step.response.as_deref() || call.message.is_none();
    if step.tool.is_some() && step.state.is_terminal() && same && call.attempts <= 1 {
        return None;
    }
    let mut line = Line::new()
        .add(Tone::Dim, format!("{rail}  "))
        .add(tone, format!("{mark} "))
        .add(Tone::Plain, escape::line(&call.tool));
    if call.attempts > 1 {
        line = line.add(Tone::Wait, format!(" (try {})", call.attempts));
    }
    if let Some(message) = call.message.as_deref().filter(|m| !m.is_empty()) {
        line = line.add(Tone::Dim, format!(" {}", escape::line(message)));
    }
    Some(line.render(look))
}

fn result_line(look: &Look, step: &StepView, rail: &str) -> Option<String> {
    let words = step.response.as_deref().filter(|r| !r.trim().is_empty())?;
    let tone = match marks::step(step).1 {
        Tone::Bad => Tone::Bad,
        Tone::Plain | Tone::Strong | Tone::Dim | Tone::Good | Tone::Busy | Tone::Wait => Tone::Dim,
    };
    let line = Line::new().add(Tone::Dim, format!("{rail}  "));
    Some(line.add(tone, escape::line(words.trim())).render(look))
}

/// Renders the end of a stream.
fn streaming(look: &Look, rail: &str, words: &str) -> Vec<String> {
    let room = look.columns().saturating_sub(text::width(rail) + 4).max(4);
    let shown = text::wrap(&escape::text(words.trim_end()).replace('\t', " "), room);
    let from = shown.len().saturating_sub(SAID_LINES);
    let last = shown.iter().skip(from);
    last.map(|words| {
        let rail = Line::new().add(Tone::Dim, format!("{rail}  ┆ "));
        rail.add(Tone::Plain, words.as_str()).render(look)
    })
    .collect()
}

fn footer(look: &Look, view: &JobView) -> String {
    let mut parts = Vec::new();
    if let Some(plan) = &view.plan {
        let done = plan.steps.iter().filter(|s| s.state.is_done()).count();
        parts.push(format!("{done}/{}", text::count(plan.steps.len(), "step")));
    }
    parts.extend(usage(view.usage));
    let until = if view.outcome.is_some() { view.updated } else { look.now };
    parts.push(lasted(view.created, until.max(view.created)));
    Line::new().add(Tone::Dim, format!("  {}", parts.join(" · "))).render(look)
}

/// Formats token counts; `None` if both are zero.
pub(crate) fn usage(usage: Usage) -> Option<String> {
    let Usage { input_tokens, output_tokens, estimated } = usage;
    let note = if estimated { " (estimated)" } else { "" };
    (input_tokens + output_tokens > 0)
        .then(|| format!("{input_tokens} in, {output_tokens} out{note}"))
}

/// Formats the duration of a job up to its end or now.
pub(crate) fn age(view: &JobView, now: Timestamp) -> String {
    lasted(view.created, if view.outcome.is_some() { view.updated } else { now.max(view.created) })
}
