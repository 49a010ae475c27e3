//! Rendering of a job's plans as successive changes, with people's instructions in between.

use machine::edits::Edit;
use proto::{
    escape,
    revision::{Change, Line as Changed},
    view::JobView,
};

use crate::{
    render::{line::Line, tree},
    style::{Style, Tone},
    words::Text,
};

/// Renders the edits before a confirmation, then all plans, oldest first.
pub(crate) fn show(style: &Style, view: &JobView, edits: &[Edit]) -> String {
    let mut out = String::new();
    for edit in edits {
        let head = style.say(Text::PlanChanged {
            number: &(edit.number + 1),
            title: &escape::line(&edit.title),
            by: &escape::line(&edit.by),
            at: &style.time(edit.time),
        });
        out.push_str(&format!("{}\n", Line::new().add(Tone::Strong, head).render(style)));
        edit.steps.iter().for_each(|step| out.push_str(&changed(style, step, "")));
    }
    for said in &view.instructions {
        let words = &escape::line(&said.text);
        let text = match said.heard {
            true => Text::Instruction { words },
            false => Text::InstructionUnread { words },
        };
        let text = style.say(text);
        out.push_str(&format!("{}\n", Line::new().add(Tone::Wait, text).render(style)));
    }
    if view.revisions.is_empty() {
        out.push_str(&format!("{}\n", style.say(Text::OnePlan)));
        return out;
    }
    for revision in &view.revisions {
        let (number, title) = (&(revision.number + 1), &escape::line(&revision.title));
        let head = match revision.cause {
            Some(cause) => Text::PlanOfCause { number, title, cause: &cause.as_str() },
            None => Text::PlanTitled { number, title },
        };
        let head = style.say(head);
        out.push_str(&format!("{}\n", Line::new().add(Tone::Strong, head).render(style)));
        for step in &revision.steps {
            out.push_str(&changed(style, step, &format!(" · {}", step.state)));
        }
    }
    out
}

/// Renders one line of a difference with the state of its step.
fn changed(style: &Style, step: &Changed, state: &str) -> String {
    let tone = match step.change {
        Change::Added => Tone::Good,
        Change::Kept => Tone::Plain,
        Change::Dropped => Tone::Bad,
    };
    let after = tree::after(style, &step.depends_on);
    let mark = step.change.mark();
    let text = format!("{mark} {} {}{after}{state}", step.id, escape::line(&step.label));
    format!("  {}\n", Line::new().add(tone, text).render(style))
}
