//! The difference between two views of a job as appended lines, for pipes, files and terminals that
//! cannot redraw. Pure.

use proto::{
    escape,
    lang::Language,
    outline::Item,
    progress,
    step::StepState,
    view::{CallState, CallView, JobView, PlanView, StepView},
};

use tui::render::workflow;

use crate::{
    render::{line::Line, marks, tree},
    style::{Style, Tone, lasted},
    words::Text,
};

/// Renders the changes from `old` to `new`.
pub(crate) fn between(style: &Style, old: Option<&JobView>, new: &JobView) -> Vec<String> {
    let mut lines = Vec::new();
    let stands = |view: &JobView| (view.state, view.sub_status, tree::why(style, view));
    if old.map(stands) != Some(stands(new)) && new.outcome.is_none() {
        lines.push(job(style, new));
    }
    lines.extend(outlined(style, old, new));
    if let Some(plan) = &new.plan {
        let before = old.and_then(|view| view.plan.as_ref());
        if before.is_none_or(|b| b.revision != plan.revision || b.title != plan.title) {
            lines.extend(planned(style, plan));
        }
        for (n, step) in plan.steps.iter().enumerate() {
            let was = before.and_then(|b| b.steps.iter().find(|s| s.id == step.id));
            let place = StepPosition {
                language: new.language,
                number: n + 1,
                steps: plan.steps.len(),
                outline: &new.outline,
            };
            lines.extend(stepped(style, was, step, &place));
        }
    }
    let at = |view: &JobView| view.graph.as_ref().map(|graph| graph.current.clone());
    if let Some(graph) = &new.graph
        && old.and_then(at).as_ref() != Some(&graph.current)
    {
        let head = Line::new().add(Tone::Dim, "◇ ");
        lines.push(head.append(workflow::line(style, graph)).render(style));
    }
    for question in &new.questions {
        if old.is_none_or(|view| view.questions.iter().all(|q| q.id != question.id)) {
            let head = format!("⏸ {} {}: ", question.id, question.kind.name());
            let line = Line::new().add(Tone::Wait, head);
            lines.push(line.add(Tone::Plain, escape::line(&question.prompt)).render(style));
        }
    }
    for child in &new.children {
        let was = old.and_then(|view| view.children.iter().find(|c| c.job == child.job));
        if was.is_none_or(|was| was.state != child.state) {
            let (mark, tone) = marks::job(child.state);
            let head =
                format!("{mark} {} · {} {}", escape::line(&child.path), child.agent, child.state);
            lines.push(Line::new().add(tone, head).render(style));
        }
        for below in &child.questions {
            if was.is_none_or(|was| {
                was.questions
                    .iter()
                    .all(|q| q.question.id != below.question.id || q.job != below.job)
            }) {
                let head = format!("⏸ {} {}: ", escape::line(&below.path), below.question.id);
                let line = Line::new().add(Tone::Wait, head);
                lines.push(
                    line.add(Tone::Plain, escape::line(&below.question.prompt)).render(style),
                );
            }
        }
    }
    lines
}

fn job(style: &Style, view: &JobView) -> String {
    let (mark, tone) = marks::job(view.state);
    let mut line = Line::new().add(tone, format!("{mark} {}", view.state));
    if let Some(sub) = view.sub_status {
        line = line.add(marks::sub_status(sub), format!(" · {sub}"));
    }
    if let Some(why) = tree::why(style, view) {
        line = line.add(Tone::Dim, format!(" · {}", escape::line(&why)));
    }
    line.render(style)
}

fn planned(style: &Style, plan: &PlanView) -> Vec<String> {
    let (number, title) = (&(plan.revision + 1), &escape::line(&plan.title));
    let title = style.say(Text::PlanTitle { number, title });
    let mut lines = vec![Line::new().add(Tone::Strong, title).render(style)];
    lines.extend(plan.steps.iter().map(|step| {
        let after = tree::after(style, &step.depends_on);
        let head = Line::new().add(Tone::Dim, format!("  {} ", step.id));
        head.add(Tone::Plain, label(step)).add(Tone::Dim, after).render(style)
    }));
    lines
}

fn label(step: &StepView) -> String {
    let words = if step.title.is_empty() { &step.description } else { &step.title };
    escape::line(words).into_owned()
}

/// Renders the intended items of a planner that decides one action at a time, when it has changed
/// the list.
fn outlined(style: &Style, old: Option<&JobView>, new: &JobView) -> Vec<String> {
    let titles = |view: &JobView| -> Vec<String> {
        view.outline.iter().map(|item| item.title.clone()).collect()
    };
    let before = old.map(titles).unwrap_or_default();
    if new.outline.is_empty() || before == titles(new) {
        return Vec::new();
    }
    let again = !before.is_empty();
    let words = progress::planned(new.language, again, new.outline.len());
    let head = Line::new().add(Tone::Strong, words).render(style);
    let items = new.outline.iter().map(|item| tree::item_line(style, item, "  "));
    std::iter::once(head).chain(items).collect()
}

/// Position of a step in its plan, and the intended items that it serves.
struct StepPosition<'a> {
    language: Language,
    number: usize,
    steps: usize,
    outline: &'a [Item],
}

fn stepped(
    style: &Style,
    was: Option<&StepView>,
    step: &StepView,
    place: &StepPosition<'_>,
) -> Vec<String> {
    let mut lines = Vec::new();
    let moved = was.map(|was| (was.state, was.attempts)) != Some((step.state, step.attempts));
    // Steps that have not started were displayed with the plan.
    let told = matches!(step.state, StepState::Pending | StepState::Ready);
    for (n, call) in step.calls.iter().enumerate() {
        let before = was.and_then(|was| was.calls.get(n));
        let same = before.is_some_and(|before| stage(before) == stage(call));
        // For a step that is a single call, the step's own line describes the call.
        let said = step.tool.is_some() && call.attempts <= 1 && call.state != CallState::Waiting;
        if same || said {
            continue;
        }
        let (mark, tone) = marks::call(call.state);
        let mut line = Line::new()
            .add(Tone::Dim, format!("  {} ", step.id))
            .add(tone, format!("{mark} "))
            .add(Tone::Plain, escape::line(&call.tool));
        if call.attempts > 1 {
            line = line.add(Tone::Wait, style.try_number(call.attempts));
        }
        if let Some(message) = call.message.as_deref().filter(|m| !m.is_empty()) {
            line = line.add(Tone::Dim, format!(" {}", escape::line(message)));
        }
        if let Some(words) = tree::by_remembered(style, call.remembered.as_ref()) {
            line = line.add(Tone::Wait, format!(" {words}"));
        }
        lines.push(line.render(style));
    }
    if moved && !told {
        lines.push(step_line(style, step, place));
    }
    lines
}

/// Returns the displayed stage of a call. A queued call without an attempt looks like its first
/// attempt.
fn stage(call: &CallView) -> (CallState, u32) {
    (call.state, call.attempts.max(1))
}

fn step_line(style: &Style, step: &StepView, place: &StepPosition<'_>) -> String {
    let (mark, tone) = marks::step(step);
    let words = match step.state {
        StepState::Running => match progress::item(place.language, place.outline) {
            Some(words) => escape::line(&words).into_owned(),
            None => progress::step(place.language, place.number, place.steps, &label(step)),
        },
        StepState::Pending
        | StepState::Ready
        | StepState::Waiting
        | StepState::Completed
        | StepState::Failed
        | StepState::Blocked
        | StepState::Skipped
        | StepState::Canceled => label(step),
    };
    let mut line =
        Line::new().add(tone, format!("{mark} {}", step.id)).add(Tone::Plain, format!(" {words}"));
    if step.attempts > 1 {
        line = line.add(Tone::Wait, style.try_number(step.attempts));
    }
    if step.state == StepState::Completed && step.success == Some(false) {
        line = line.add(tone, style.say(Text::CompletedWithoutSuccess));
    } else if !matches!(step.state, StepState::Completed | StepState::Running) {
        line = line.add(tone, format!(" {}", step.state));
    }
    if let (Some(from), Some(to)) = (step.started, step.ended) {
        line = line.add(Tone::Dim, format!(" {}", lasted(from, to)));
    }
    if let Some(response) = step.response.as_deref().filter(|r| !r.trim().is_empty()) {
        line = line.add(Tone::Dim, format!(" — {}", escape::line(response.trim())));
    }
    line.render(style)
}

#[cfg(test)]
mod tests {
    use proto::outline::{self, ItemStatus};

    use super::*;
    use crate::render::samples;

    #[test]
    fn only_what_changed_is_told() {
        let style = Style::plain(None);
        let new = samples::view();
        insta::assert_snapshot!("everything", between(&style, None, &new).join("\n"));
        assert!(between(&style, Some(&new), &new).is_empty());
        let mut old = new.clone();
        let steps = &mut old.plan.as_mut().unwrap().steps;
        steps[2].state = StepState::Pending;
        steps[2].calls.clear();
        old.questions.truncate(4);
        insta::assert_snapshot!("difference", between(&style, Some(&old), &new).join("\n"));
    }

    #[test]
    fn a_call_is_told_once_when_it_begins_and_once_when_it_ends() {
        let style = Style::plain(None);
        let with = |state: CallState, attempts: u32| {
            let mut view = samples::view();
            let step = &mut view.plan.as_mut().unwrap().steps[2];
            step.calls.truncate(1);
            (step.calls[0].state, step.calls[0].attempts) = (state, attempts);
            view
        };
        let queued = with(CallState::Running, 0);
        let sent = with(CallState::Running, 1);
        let done = with(CallState::Succeeded, 1);
        assert_eq!(between(&style, Some(&queued), &sent), Vec::<String>::new());
        assert_eq!(between(&style, Some(&sent), &done), ["  step3 ✓ read_file"]);
        let again = with(CallState::Running, 2);
        assert_eq!(between(&style, Some(&sent), &again), ["  step3 ▸ read_file (try 2)"]);
    }

    #[test]
    fn intended_items_are_listed_when_they_change_and_the_one_in_progress_has_its_number() {
        let style = Style::plain(None);
        let mut new = samples::view();
        new.outline = outline::of_texts(["写周报", "发邮件"]);
        new.outline[1].status = ItemStatus::InProgress;
        let mut old = new.clone();
        old.plan.as_mut().unwrap().steps[2].state = StepState::Pending;
        let lines = between(&style, Some(&old), &new);
        assert_eq!(lines[0], "▸ step3 当前计划项 2/2：发邮件", "{lines:#?}");
        old.outline.clear();
        let lines = between(&style, Some(&old), &new);
        assert_eq!(lines[..3], ["规划完成（共 2 个步骤）", "  [ ] 写周报", "  [→] 发邮件"]);
        old.outline = outline::of_texts(["写周报"]);
        assert_eq!(between(&style, Some(&old), &new)[0], "重规划完成（共 2 个步骤）");
    }
}
