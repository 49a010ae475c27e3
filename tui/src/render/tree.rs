//! Rendering of a job as a tree of steps, for the live display of `run` and for `jobs describe`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use proto::{
    escape,
    id::{AskId, StepId},
    lang::Language,
    message::Usage,
    notice::Notice,
    outline::{Item, ItemStatus},
    progress,
    step::StepState,
    view::{CallView, JobView, PlanView, StepView},
    why::Reason,
};

use super::{
    children,
    line::Line,
    marks,
    style::{Style, Tone, lasted},
    text,
    words::Text,
    workflow,
};

/// Streamed model output, by step.
pub type Said = BTreeMap<StepId, String>;

/// Lines displayed of one stream.
const SAID_LINES: usize = 3;

/// Renders the whole tree: header, plan, questions, footer.
#[must_use]
pub fn tree(style: &Style, view: &JobView, said: &Said, planning: Option<&str>) -> Vec<String> {
    let mut lines = header(style, view);
    if let Some(plan) = &view.plan {
        lines.extend(plan_lines(style, plan, said));
    }
    lines.extend(outline_lines(style, view));
    if let Some(words) = planning.filter(|_| view.outcome.is_none()) {
        lines.extend(streaming(style, "  ", words).iter().map(|line| line.render(style)));
    }
    for question in &view.questions {
        let asked = format!("{} {}: ", question.id, question.kind.name());
        let line = Line::new().add(Tone::Wait, "  ⏸ ").add(Tone::Wait, asked);
        lines.push(line.add(Tone::Plain, escape::line(&question.prompt)).render(style));
    }
    lines.extend(children::rows(view).iter().map(|line| line.render(style)));
    lines.push(footer(style, view));
    lines
}

/// Renders the state and the goal.
fn header(style: &Style, view: &JobView) -> Vec<String> {
    let (mark, tone) = marks::job(view.state);
    let mut first = Line::new().add(tone, format!("{mark} ")).add(Tone::Strong, view.job.as_str());
    first = first.add(tone, format!(" {}", view.state));
    if let Some(sub) = view.sub_status {
        first = first.add(marks::sub_status(sub), format!(" · {sub}"));
    }
    let mut lines = vec![first.render(style)];
    // The notices of a step are below the step.
    let of_steps = view.plan.iter().flat_map(|plan| &plan.steps).flat_map(|step| &step.notices);
    let of_steps: Vec<&Notice> = of_steps.collect();
    for notice in view.notices.iter().filter(|notice| !of_steps.contains(notice)) {
        let words = format!("  ! {}", warning(style.language, notice));
        lines.push(Line::new().add(Tone::Wait, words).render(style));
    }
    if let Some(why) = why(style, view) {
        lines.push(Line::new().add(tone, format!("  {}", escape::line(&why))).render(style));
    }
    lines.push(Line::new().add(Tone::Dim, format!("  {}", escape::line(&view.goal))).render(style));
    if let Some(workflow) = &view.graph {
        let place = Line::new().add(Tone::Plain, "  ").append(workflow::line(style, workflow));
        lines.push(place.render(style));
    }
    if let Some(detected) = &view.detected {
        let why = &escape::line(&detected.why);
        let needs = match detected.complex {
            true => Text::NeedsPlan { why },
            false => Text::NeedsNoPlan { why },
        };
        let words = format!("  {}", style.say(needs));
        lines.push(Line::new().add(Tone::Dim, words).render(style));
    }
    lines
}

/// Renders the intended items of a planner that decides one action at a time, below the line of the
/// one in progress.
#[must_use]
pub fn outline_lines(style: &Style, view: &JobView) -> Vec<String> {
    let current = progress::item(view.language, &view.outline);
    let current = current.filter(|_| view.outcome.is_none()).map(|words| {
        Line::new().add(Tone::Busy, format!("  {}", escape::line(&words))).render(style)
    });
    let items = view.outline.iter().map(|item| item_line(style, item, "  "));
    current.into_iter().chain(items).collect()
}

/// Renders an item of an outline.
#[must_use]
pub fn item_line(style: &Style, item: &Item, rail: &str) -> String {
    item_row(item, rail).render(style)
}

fn item_row(item: &Item, rail: &str) -> Line {
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
        Some(note) => line.add(Tone::Dim, format!(" {}", escape::line(note))),
        None => line,
    }
}

/// Returns the reason for the job's state, unless an open question contains it.
#[must_use]
pub fn reason(view: &JobView) -> Option<&str> {
    let said = |reason: &&str| view.questions.iter().any(|q| q.prompt.starts_with(*reason));
    view.reason.as_deref().filter(|reason| !reason.is_empty()).filter(|reason| !said(reason))
}

/// Returns the first reason that holds the job as a sentence, unless an open question says it.
#[must_use]
pub fn why(style: &Style, view: &JobView) -> Option<String> {
    let is_shown = |reason: &Reason| match reason {
        Reason::Question { ask, .. } => view.questions.iter().any(|question| question.id == *ask),
        Reason::Unreadable { .. }
        | Reason::Paused { .. }
        | Reason::NoSupervisor { .. }
        | Reason::NoWorker { .. }
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
        | Reason::Deciding => false,
    };
    let mut holding = view.why.iter().map(|why| &why.reason).filter(|reason| reason.is_hold());
    match holding.find(|reason| !is_shown(reason)) {
        Some(held) => Some(held.text(style.language)),
        None => reason(view).map(str::to_owned),
    }
}

/// Renders the plan and its steps.
#[must_use]
pub fn plan_lines(style: &Style, plan: &PlanView, said: &Said) -> Vec<String> {
    plan_rows(style, plan, said).iter().map(|row| row.line.render(style)).collect()
}

/// A line of a plan.
#[derive(Debug, Clone)]
pub struct PlanRow {
    /// Number of the step, from 0; absent for the title.
    pub step: Option<usize>,
    /// `true` for the first line of the step.
    pub is_head: bool,
    /// The line, of any width.
    pub line: Line,
}

/// Returns the plan and its steps as lines of any width.
#[must_use]
pub fn plan_rows(style: &Style, plan: &PlanView, said: &Said) -> Vec<PlanRow> {
    let mut title = Line::new().add(Tone::Strong, format!("  {}", escape::line(&plan.title)));
    if plan.revision > 0 {
        let number = Text::PlanNumber { number: &(plan.revision + 1) };
        title = title.add(Tone::Dim, style.say(number));
    }
    if !plan.confirmed {
        title = title.add(Tone::Wait, style.say(Text::ToBeConfirmed));
    }
    let mut rows = vec![PlanRow { step: None, is_head: true, line: title }];
    let aligned = aligned(style, &plan.steps);
    for (n, step) in plan.steps.iter().enumerate() {
        let last = n + 1 == plan.steps.len();
        let head = step_line(style, step, if last { "└" } else { "├" }, aligned);
        let below = below_step(style, step, if last { "    " } else { "  │ " }, said);
        let lines = std::iter::once(head).chain(below).enumerate();
        rows.extend(lines.map(|(at, line)| PlanRow { step: Some(n), is_head: at == 0, line }));
    }
    rows
}

/// Returns what stands below a step: its items, calls, notices, streamed text and result.
fn below_step(style: &Style, step: &StepView, rail: &str, said: &Said) -> Vec<Line> {
    let kept = format!("{rail}  ");
    let mut lines: Vec<Line> = step.outline.iter().map(|item| item_row(item, &kept)).collect();
    lines.extend(step.calls.iter().filter_map(|call| call_line(style, step, call, rail)));
    lines.extend(step.notices.iter().map(|notice| {
        let words = format!("{rail}  ! {}", warning(style.language, notice));
        Line::new().add(Tone::Wait, words)
    }));
    if let Some(words) = said.get(&step.id).filter(|_| !step.state.is_terminal()) {
        lines.extend(streaming(style, rail, words));
    }
    lines.extend(result_line(step, rail));
    if !step.attachments.is_empty() {
        let names = step.attachments.join(", ");
        let words = style.say(Text::Attachments { names: &escape::line(&names) });
        lines.push(Line::new().add(Tone::Dim, format!("{rail}  {words}")));
    }
    lines
}

/// Returns a notice as its kind and a sentence.
#[must_use]
pub fn warning(language: Language, notice: &Notice) -> String {
    format!("{}: {}", notice.kind().as_str(), escape::line(&notice.told(language)))
}

/// Returns the column at which durations end: after the longest step that leaves space.
fn aligned(style: &Style, steps: &[StepView]) -> usize {
    let most = style.columns().min(100);
    let longest = steps.iter().map(|s| text::width(&label(s)) + s.id.as_str().len() + 18).max();
    longest.unwrap_or(0).min(most)
}

fn label(step: &StepView) -> String {
    let words = if step.title.is_empty() { &step.description } else { &step.title };
    escape::line(words).into_owned()
}

fn step_line(style: &Style, step: &StepView, branch: &str, aligned: usize) -> Line {
    let (mark, tone) = marks::step(step);
    let id = Line::new()
        .add(Tone::Dim, format!("  {branch} "))
        .add(tone, format!("{mark} "))
        .add(Tone::Dim, format!("{} ", step.id));
    let right = duration(style, step);
    // A long title yields to the duration, unless the terminal is too narrow for either.
    let room = match style.width {
        Some(width) if width >= 40 => width.saturating_sub(id.width() + text::width(&right) + 2),
        Some(_) | None => usize::MAX,
    };
    let mut line = id.add(Tone::Plain, text::fit(&label(step), room));
    if step.attempts > 1 {
        line = line.add(Tone::Wait, style.say(Text::TryNumber { number: &step.attempts }));
    }
    if step.state == StepState::Completed && step.success == Some(false) {
        line = line.add(tone, style.say(Text::WithoutSuccess));
    }
    if step.started.is_none() && !step.depends_on.is_empty() && !step.state.is_terminal() {
        line = line.add(Tone::Dim, after(style, &step.depends_on));
    }
    line.add_right(Tone::Dim, &right, aligned, style)
}

fn duration(style: &Style, step: &StepView) -> String {
    match (step.started, step.ended) {
        (Some(from), Some(to)) => lasted(from, to),
        (Some(from), None) => lasted(from, style.now.max(from)),
        (None, Some(_) | None) => String::new(),
    }
}

/// Renders a tool call; `None` if the step itself is one successful call with the same message.
fn call_line(style: &Style, step: &StepView, call: &CallView, rail: &str) -> Option<Line> {
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
        line = line.add(Tone::Wait, style.say(Text::TryNumber { number: &call.attempts }));
    }
    if let Some(message) = call.message.as_deref().filter(|m| !m.is_empty()) {
        line = line.add(Tone::Dim, format!(" {}", escape::line(message)));
    }
    if let Some(words) = by_remembered(style, call.remembered.as_ref()) {
        line = line.add(Tone::Wait, format!(" {words}"));
    }
    Some(line)
}

/// Names the question whose remembered approval covers a call.
#[must_use]
pub fn by_remembered(style: &Style, remembered: Option<&AskId>) -> Option<String> {
    remembered.map(|ask| style.say(Text::ByRemembered { ask }))
}

fn result_line(step: &StepView, rail: &str) -> Option<Line> {
    let words = step.response.as_deref().filter(|r| !r.trim().is_empty())?;
    let tone = match marks::step(step).1 {
        Tone::Bad => Tone::Bad,
        Tone::Plain | Tone::Strong | Tone::Dim | Tone::Good | Tone::Busy | Tone::Wait => Tone::Dim,
    };
    let line = Line::new().add(Tone::Dim, format!("{rail}  "));
    Some(line.add(tone, escape::line(words.trim())))
}

/// Renders the end of a stream; of data for programs only its length.
fn streaming(style: &Style, rail: &str, words: &str) -> Vec<Line> {
    let words = if is_data(words) {
        style.say(Text::DataStreams { count: &words.chars().count() })
    } else {
        words.to_owned()
    };
    let room = style.columns().saturating_sub(text::width(rail) + 4).max(4);
    let shown = text::wrap(&escape::text(words.trim_end()).replace('\t', " "), room);
    let from = shown.len().saturating_sub(SAID_LINES);
    let last = shown.iter().skip(from);
    last.map(|words| {
        let rail = Line::new().add(Tone::Dim, format!("{rail}  ┆ "));
        rail.add(Tone::Plain, words.as_str())
    })
    .collect()
}

/// `true` for the beginning of JSON, fenced or not. A sentence in brackets is text.
fn is_data(words: &str) -> bool {
    let fenced = words.trim_start();
    let inside = fenced.trim_start_matches("```json").trim_start_matches("```").trim_start();
    let data =
        |rest: &str| matches!(rest.trim_start().chars().next(), None | Some('"' | '{' | '['));
    let object = inside.strip_prefix('{').is_some_and(data);
    object || inside.strip_prefix('[').is_some_and(data)
}

fn footer(style: &Style, view: &JobView) -> String {
    let mut parts = Vec::new();
    if let Some(plan) = &view.plan {
        let done = plan.steps.iter().filter(|s| s.state.is_done()).count();
        let steps = plan.steps.len();
        parts.push(style.say(match steps {
            1 => Text::StepsDoneOfOne { done: &done },
            _ => Text::StepsDone { done: &done, steps: &steps },
        }));
    }
    parts.extend(usage(style, view.usage));
    let until = if view.outcome.is_some() { view.updated } else { style.now };
    parts.push(lasted(view.created, until.max(view.created)));
    Line::new().add(Tone::Dim, format!("  {}", parts.join(" · "))).render(style)
}

/// Formats token counts; `None` if both are zero.
#[must_use]
pub fn usage(style: &Style, usage: Usage) -> Option<String> {
    let Usage { input_tokens: input, output_tokens: output, estimated, .. } = &usage;
    let text = match estimated {
        true => Text::TokensEstimated { input, output },
        false => Text::Tokens { input, output },
    };
    (input + output > 0).then(|| style.say(text))
}

/// Names the steps that a step waits for; empty without any.
#[must_use]
pub fn after(style: &Style, steps: &[StepId]) -> String {
    let steps: Vec<_> = steps.iter().map(StepId::as_str).collect();
    if steps.is_empty() {
        return String::new();
    }
    style.say(Text::After { steps: &steps.join(", ") })
}

/// Formats the duration of a job up to its end or now.
#[must_use]
pub fn age(view: &JobView, now: Timestamp) -> String {
    lasted(view.created, if view.outcome.is_some() { view.updated } else { now.max(view.created) })
}
