//! Rendering of the inbox, and of a question with the commands that answer it.

use proto::{
    door::{InboxEntry, InboxPage},
    escape,
    id::JobId,
    interaction::Question,
};
pub(crate) use tui::render::question::{asks, body, details, how, past, whose_below};

use crate::{
    render::table::{note, pairs, plain, table},
    style::{Style, Tone},
    words::Text,
};

/// Renders the inbox, oldest first.
pub(crate) fn list(style: &Style, page: &InboxPage) -> String {
    let rows = page.questions.iter().map(|entry| {
        let asked = &entry.question;
        vec![
            plain(whose(entry)),
            (Tone::Wait, asked.id.to_string()),
            plain(asked.kind.name()),
            plain(style.time(entry.asked)),
            plain(asked.deadline.map(|at| style.time(at)).unwrap_or_default()),
            plain(escape::line(&asked.prompt)),
        ]
    });
    let mut out = table(style, Text::InboxHeads, rows.collect(), Text::NoQuestions);
    if page.more {
        out.push_str(&note(style, &style.say(Text::MoreQuestions)));
    }
    out
}

/// Names the job that asks, with its path below the root job.
pub(crate) fn whose(entry: &InboxEntry) -> String {
    match &entry.path {
        None => entry.job.to_string(),
        Some(path) => format!("{} ({})", entry.job, escape::line(path)),
    }
}

/// Renders a whole question, with the commands that answer it.
pub(crate) fn show(style: &Style, job: &JobId, asked: &Question) -> String {
    let closes = match (asked.deadline, &asked.default) {
        (None, _) => String::new(),
        (Some(at), None) => style.say(Text::ClosesFailing { time: &style.time(at) }),
        (Some(at), Some(default)) => {
            let value = default.to_string();
            style.say(Text::ClosesWith { time: &style.time(at), value: &escape::line(&value) })
        }
    };
    let step = asked.step.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut out = pairs(
        style,
        &[
            (Text::QuestionLabel, (Tone::Wait, format!("{} {}", job, asked.id))),
            (Text::KindLabel, plain(asked.kind.name())),
            (Text::StepLabel, plain(step)),
            (Text::ClosesLabel, plain(closes)),
        ],
    );
    out.push('\n');
    out.push_str(&body(style, asked));
    out.push('\n');
    for line in how(style.language, job, asked) {
        out.push_str(&style.paint(Tone::Dim, &format!("  {line}")));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_that_waits_shows_its_task_its_steps_and_where_it_is_planned_on() {
        let asked = json!({
            "id": "q1", "prompt": "Carry out this plan?", "kind": "plan_check", "revision": 0, "digest": "d",
            "plan": {"title": "Find and tell", "replan": ["find"], "steps": [
                {"id": "find", "title": "Find", "description": "Find it with @search", "action": "agent"},
                {"id": "tell", "description": "Tell Li", "depends_on": ["find"], "action": "agent"},
            ]},
        });
        let asked: Question = serde_json::from_value(asked).unwrap();
        let shown = show(&Style::plain(Some(80)), &JobId::new("j").unwrap(), &asked);
        let plan = "Find and tell\n  find. Find\n      Find it with @search\n  tell. Tell Li (after find)\n  planned on after find\n";
        assert!(shown.contains(plan), "{shown}");
        for how in ["inbox approve j q1", "inbox answer j q1 --text", "inbox reject j q1"] {
            assert!(shown.contains(how), "{how}: {shown}");
        }
    }
}
