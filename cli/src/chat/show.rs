//! What a conversation shows of the events of its jobs: the way to a result as short lines, and of a
//! command what its tool answered.

use proto::{
    escape,
    event::{Happened, StepPhase, Stream, ToolPhase},
};
use serde_json::Value;

use crate::{
    live::follow::Follow,
    look::{Look, Tone},
    render::{event, line::Line},
};

/// The lines for an event of a task. Questions, answers and the end are shown by themselves.
pub(crate) fn task(look: &Look, happened: &Happened) -> Vec<String> {
    let shown = match happened {
        Happened::Plan(plan) => plan.confirmed,
        Happened::Step(step) => match step.phase {
            StepPhase::Started
            | StepPhase::Retried
            | StepPhase::Completed
            | StepPhase::Failed
            | StepPhase::Blocked => true,
            StepPhase::Waiting | StepPhase::Resumed | StepPhase::Skipped | StepPhase::Canceled => {
                false
            }
        },
        Happened::Message(message) => message.stream == Stream::Thought,
        Happened::Tool(_) => true,
        Happened::Error(error) => error.work.is_some(),
        Happened::Interaction(_) | Happened::Usage(_) | Happened::Job(_) => false,
    };
    if shown { event::lines(look, happened) } else { Vec::new() }
}

/// The text for an event of a command: what the tool answered, and nothing of the way there.
pub(crate) fn command(look: &Look, happened: &Happened) -> Option<String> {
    let Happened::Tool(tool) = happened else { return None };
    let ToolPhase::Called { success, result, error, message, fault: _, duration_ms: _ } =
        &tool.phase
    else {
        return None;
    };
    let (mark, tone) = if *success { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
    let said = error.as_deref().or(message.as_deref()).unwrap_or_default();
    let mut text = look.paint(tone, &format!("{mark} {}", tool.tool));
    if !said.is_empty() {
        text.push_str(&format!(": {}", escape::text(said.trim_end())));
    }
    text.push('\n');
    match result {
        Some(Value::String(words)) => text.push_str(&format!("{}\n", escape::text(words))),
        Some(Value::Null) | None => {}
        Some(data @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_))) => {
            text.push_str(&format!("{}\n", escape::json(data)));
        }
    }
    Some(text)
}

/// What is being said right now, a line for each that speaks.
pub(crate) fn speech(look: &Look, follow: &Follow) -> Vec<String> {
    let last = |text: &str| text.trim_end().lines().last().unwrap_or_default().to_owned();
    let of_steps = follow.of_steps();
    let steps = of_steps.iter().map(|(step, text)| (step.to_string(), last(text)));
    let planner = follow.of_planner().map(|text| ("plan".to_owned(), last(text)));
    steps
        .chain(planner)
        .map(|(who, text)| {
            let room = look.columns().saturating_sub(who.len() + 6);
            // The end of what is said is what is new.
            let from = text.chars().count().saturating_sub(room / 2);
            let tail: String = text.chars().skip(from).collect();
            let line = Line::new().add(Tone::Busy, format!("┆ {who} "));
            line.add(Tone::Dim, escape::line(&tail)).render(look)
        })
        .collect()
}
