//! Rendering of job events in a conversation: short progress lines for tasks, the tool's result for
//! commands.

use client::session::LiveText;
use proto::{
    escape,
    event::{Happened, REASON_UNPARSEABLE, StepPhase, Stream, ToolPhase},
    id::StepId,
    lang::Language,
    progress,
};
use serde_json::Value;

use crate::{
    render::{event, line::Line},
    style::{Style, Tone},
};

/// The displayed progress of a task's plan.
#[derive(Debug, Default)]
pub(crate) struct Course {
    /// Number of replans before the last displayed plan; `None` if none was displayed.
    told: Option<u32>,
    /// Steps of the plan, in order.
    steps: Vec<StepId>,
}

impl Course {
    /// Renders an event of a task. Questions, answers and the end are rendered elsewhere. Fixed
    /// texts of the progress are in the job's language.
    pub(crate) fn task(
        &mut self,
        style: &Style,
        language: Language,
        happened: &Happened,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        if let Happened::Plan(plan) = happened {
            self.steps = plan.steps.iter().map(|step| step.id.clone()).collect();
            let steps = match plan.outline.len() {
                0 => plan.steps.len(),
                items => items,
            };
            if plan.confirmed && self.told.replace(plan.revision) != Some(plan.revision) {
                let words = progress::planned(language, plan.revision, steps);
                lines.push(Line::new().add(Tone::Strong, format!("▸ {words}")).render(style));
            }
        }
        if let Happened::Step(step) = happened
            && step.phase == StepPhase::Started
            // A failed step may be planned again under its name; the newest one counts.
            && let Some(place) = self.steps.iter().rposition(|id| *id == step.step)
        {
            let label = escape::line(step.label.trim());
            let words = progress::step(language, place + 1, self.steps.len(), &label);
            lines.push(Line::new().add(Tone::Busy, format!("▸ {words}")).render(style));
            return lines;
        }
        lines.extend(task(style, happened));
        lines
    }
}

/// Renders an event without context.
fn task(style: &Style, happened: &Happened) -> Vec<String> {
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
        Happened::Error(error) => {
            error.work.is_some() && error.reason.as_deref() != Some(REASON_UNPARSEABLE)
        }
        Happened::Interaction(_) | Happened::Usage(_) | Happened::Job(_) => false,
    };
    if shown { event::lines(style, happened) } else { Vec::new() }
}

/// Renders an event of a command: the tool's result and nothing before it.
pub(crate) fn command(style: &Style, happened: &Happened) -> Option<String> {
    let Happened::Tool(tool) = happened else { return None };
    let ToolPhase::Called { success, result, error, message, fault: _, duration_ms: _ } =
        &tool.phase
    else {
        return None;
    };
    let (mark, tone) = if *success { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
    let said = error.as_deref().or(message.as_deref()).unwrap_or_default();
    let mut text = style.paint(tone, &format!("{mark} {}", tool.tool));
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

/// Renders the model output streamed now, one line for each step.
pub(crate) fn speech(style: &Style, text: &LiveText) -> Vec<String> {
    let last = |text: &str| text.trim_end().lines().last().unwrap_or_default().to_owned();
    let of_steps = text.of_steps();
    let steps = of_steps.iter().map(|(step, text)| (step.to_string(), last(text)));
    let planner = text.of_planner().map(|text| ("plan".to_owned(), last(text)));
    steps
        .chain(planner)
        .map(|(who, text)| {
            let room = style.columns().saturating_sub(who.len() + 6);
            // The tail of the text is the new part.
            let from = text.chars().count().saturating_sub(room / 2);
            let tail: String = text.chars().skip(from).collect();
            let line = Line::new().add(Tone::Busy, format!("┆ {who} "));
            line.add(Tone::Dim, escape::line(&tail)).render(style)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proto::event::{PlanEvent, PlanPhase, PlannedStep, StepEvent};
    use proto::step::StepState;

    use super::*;

    fn plan(revision: u32, confirmed: bool, steps: &[&str]) -> Happened {
        let steps = steps.iter().map(|id| PlannedStep {
            id: StepId::new(*id).unwrap(),
            title: String::new(),
            description: (*id).to_owned(),
            depends_on: Vec::new(),
            tool: None,
            state: StepState::Pending,
            outline: Vec::new(),
        });
        Happened::Plan(PlanEvent {
            phase: PlanPhase::Updated,
            title: "T".to_owned(),
            revision,
            confirmed,
            steps: steps.collect(),
            outline: Vec::new(),
        })
    }

    fn started(id: &str) -> Happened {
        Happened::Step(StepEvent {
            phase: StepPhase::Started,
            step: StepId::new(id).unwrap(),
            label: format!("do {id}"),
            attempt: 1,
            response: None,
            unsuccessful: false,
            attachments: Vec::new(),
        })
    }

    /// Renders the lines of a plan that is shown, confirmed, started and replanned.
    fn told(language: Language) -> Vec<String> {
        let (mut course, style) = (Course::default(), Style::plain(None));
        [
            plan(0, false, &["a", "b"]),
            plan(0, true, &["a", "b"]),
            plan(0, true, &["a", "b"]),
            started("b"),
            plan(1, true, &["a", "b", "c"]),
            started("c"),
        ]
        .iter()
        .flat_map(|happened| course.task(&style, language, happened))
        .filter(|line| line.starts_with('▸'))
        .collect()
    }

    #[test]
    fn how_a_task_gets_on_is_told_in_the_words_that_were_agreed() {
        assert_eq!(
            told(Language::Zh),
            [
                "▸ 规划完成（共 2 个步骤）",
                "▸ 执行步骤 2/2：do b",
                "▸ 重规划完成（共 3 个步骤）",
                "▸ 执行步骤 3/3：do c",
            ]
        );
        assert_eq!(
            told(Language::En),
            [
                "▸ planning is done (2 steps)",
                "▸ step 2/2: do b",
                "▸ replanning is done (3 steps)",
                "▸ step 3/3: do c",
            ]
        );
    }
}
