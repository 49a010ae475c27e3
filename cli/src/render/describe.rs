//! Rendering of everything about one job.

use proto::{
    agent::{self, Agent, Policy},
    escape,
    file::FileTold,
    job::Outcome,
    label::Labels,
    progress,
    view::{JobView, Mark},
};
use serde_json::Value;

use crate::{
    render::{
        children, diff, event, family,
        line::Line,
        marks, points, question,
        table::{pairs, plain},
        tree::{self, Said},
    },
    style::{Style, Tone},
    text,
    words::Text,
};

pub(crate) fn describe(style: &Style, view: &JobView) -> String {
    whole(style, view, None)
}

/// Renders a job with the policies of the agent that it was submitted with.
pub(crate) fn whole(style: &Style, view: &JobView, agent: Option<&Agent>) -> String {
    let (mark, tone) = marks::job(view.state);
    let state = match view.sub_status {
        None => format!("{mark} {}", view.state),
        Some(sub) => format!("{mark} {} · {sub}", view.state),
    };
    let usage = tree::usage(style, view.usage).unwrap_or_default();
    let conversation = view.conversation.as_ref().map(ToString::to_string).unwrap_or_default();
    let ignored = match view.ignored {
        0 => String::new(),
        1 => style.say(Text::IgnoredOne),
        count => style.say(Text::Ignored { count: &count }),
    };
    let records = style.say(Text::Records { count: &view.records, seq: &view.seq });
    let mut out = pairs(
        style,
        &[
            (Text::JobLabel, (Tone::Strong, view.job.to_string())),
            (Text::StateLabel, (tone, state)),
            (Text::WhyLabel, (tone, why(style, view))),
            (Text::NoticesLabel, (Tone::Wait, notices(style, view))),
            (Text::RetriesLabel, (Tone::Wait, retries(style, view))),
            (Text::GoalLabel, plain(escape::text(&view.goal))),
            (Text::FilesLabel, plain(files(view.files.iter()))),
            (Text::ArtifactsLabel, plain(files(view.artifacts.iter().map(|it| &it.file)))),
            (Text::AgentLabel, plain(format!("{} ({})", view.agent, view.language.code()))),
            (Text::PoliciesLabel, plain(policies(agent))),
            (Text::LabelsLabel, plain(labels(&view.labels))),
            (Text::SubmittedLabel, plain(style.time(view.created))),
            (Text::ChangedLabel, plain(style.time(view.updated))),
            (Text::TookLabel, plain(tree::age(view, style.now))),
            (Text::StepsLabel, plain(steps(style, view))),
            (Text::TokensLabel, plain(usage)),
            (Text::ToolsLabel, plain(tools(style, view))),
            (Text::BudgetLabel, (budget_tone(view), budget(view))),
            (Text::ConversationLabel, plain(conversation)),
            (Text::UntrustedLabel, (Tone::Wait, untrusted(style, view))),
            (Text::RememberedLabel, plain(remembered(style, view))),
            (Text::ParentLabel, plain(family::above(view))),
            (Text::ForkLabel, plain(points::origin(style, view))),
            (Text::GenerationLabel, plain(points::generation(style, view))),
            (Text::SnapshotsLabel, plain(points::line(style, view))),
            (Text::RecordsLabel, plain(records)),
            (Text::IgnoredLabel, plain(ignored)),
        ],
    );
    if let Some(graph) = &view.graph {
        let line = tui::render::workflow::line(style, graph);
        out.push_str(&format!("\n  {}\n", line.render(style)));
    }
    if let Some(plan) = &view.plan {
        out.push('\n');
        let lines = tree::plan_lines(style, plan, &Said::new()).into_iter();
        for line in lines.chain(tree::outline_lines(style, view)) {
            out.push_str(&line);
            out.push('\n');
        }
    }
    for asked in &view.questions {
        out.push('\n');
        out.push_str(&question::show(style, &view.job, asked));
    }
    out.push_str(&past_questions(style, view));
    for line in children::rows(view).iter().map(|line| line.render(style)) {
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

/// Lists the questions that were answered or closed, with what was chosen; empty without any.
fn past_questions(style: &Style, view: &JobView) -> String {
    if view.past_questions.is_empty() {
        return String::new();
    }
    let mut head = style.say(Text::PastQuestions);
    if view.older_questions > 0 {
        head.push_str(&style.say(Text::OlderQuestions { count: &view.older_questions }));
    }
    let mut out = format!("\n{}\n", Line::new().add(Tone::Strong, head).render(style));
    for past in &view.past_questions {
        out.push_str(&question::past(style, past));
    }
    out
}

/// Says since when the job is marked by content from outside, and by which tool.
fn untrusted(style: &Style, view: &JobView) -> String {
    let Some(Mark { tool, seq, at }) = &view.untrusted else { return String::new() };
    match (seq, at) {
        (Some(seq), Some(at)) => {
            style.say(Text::UntrustedSince { tool, at: &style.time(*at), seq })
        }
        (Some(_) | None, _) => style.say(Text::UntrustedBefore { tool }),
    }
}

/// Lists the approvals that count for later calls.
fn remembered(style: &Style, view: &JobView) -> String {
    let each = view.remembered.iter().map(|one| {
        let by = &escape::line(&one.by);
        style.say(Text::RememberedOne { tool: &one.tool, ask: &one.ask, by })
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Lists labels, separated by commas.
pub(crate) fn labels(labels: &Labels) -> String {
    let each = labels.iter().map(|label| escape::line(&label.to_string()).into_owned());
    each.collect::<Vec<_>>().join(", ")
}

fn files<'a>(files: impl Iterator<Item = &'a FileTold>) -> String {
    let each = files.map(|file| escape::line(&file.to_string()).into_owned());
    each.collect::<Vec<_>>().join("; ")
}

/// Lists the policies that differ from the defaults.
fn policies(agent: Option<&Agent>) -> String {
    let all = agent.map(agent::summary).unwrap_or_default().into_iter();
    let each =
        all.map(|Policy { key, value }| escape::line(&format!("{key}={value}")).into_owned());
    each.collect::<Vec<_>>().join(", ")
}

/// Counts the steps that ended; empty before the first one.
fn steps(style: &Style, view: &JobView) -> String {
    let (successful, failed) = (&view.successful_steps, &view.failed_steps);
    match (successful, failed) {
        (0, 0) => String::new(),
        (_, _) => style.say(Text::StepCounts { successful, failed }),
    }
}

/// Lists the warnings in force, one a line.
fn notices(style: &Style, view: &JobView) -> String {
    let each = view.notices.iter().map(|notice| tree::warning(style.language, notice));
    each.collect::<Vec<_>>().join("\n")
}

/// Lists the work that is attempted again, one unit a line.
fn retries(style: &Style, view: &JobView) -> String {
    let each = view.retries.iter().map(|retry| {
        let (work, attempt, error) = (&retry.work, &retry.attempt, &escape::line(&retry.error));
        let next = match retry.next_at {
            Some(at) => style.say(Text::RetryAt { work, attempt, error, at: &style.clock(at) }),
            None => style.say(Text::RetryNow { work, attempt, error }),
        };
        match retry.outage_since {
            Some(since) => {
                format!("{next} {}", style.say(Text::OutageSince { at: &style.clock(since) }))
            }
            None => next,
        }
    });
    each.collect::<Vec<_>>().join("\n")
}

/// Lists the cost of each tool that incurred any.
fn tools(style: &Style, view: &JobView) -> String {
    let each = view.tools.iter().map(|cost| {
        let paid = cost.money.map(|paid| format!("{paid:.4}"));
        let paid = paid.map(|money| event::paid(style, &money));
        let each = tree::usage(style, cost.usage).into_iter().chain(paid);
        let each: String = each.map(|one| format!(", {one}")).collect();
        let (tool, cost, count) = (&cost.tool, &each, &cost.calls);
        style.say(match count {
            1 => Text::OneCall { tool, cost },
            _ => Text::Calls { tool, count, cost },
        })
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

/// Lists the reasons why the job does not move, one a line: since when, until when, and the action
/// that would unblock it.
fn why(style: &Style, view: &JobView) -> String {
    let each = view.why.iter().map(|why| {
        let sentence = why.reason.text(style.language);
        let (sentence, at) = (&escape::line(&sentence), &style.time(why.since));
        let dated = match why.until {
            None => style.say(Text::WhySince { why: sentence, at }),
            Some(until) => {
                style.say(Text::WhyUntil { why: sentence, at, until: &style.clock(until) })
            }
        };
        let next = why.reason.unblock(&view.job, style.language);
        next.map_or_else(|| dated.clone(), |next| format!("{dated}; {}", escape::line(&next)))
    });
    let lines: Vec<_> = each.collect();
    match lines.is_empty() {
        true => tree::reason(view).map(escape::text).unwrap_or_default().into_owned(),
        false => lines.join("\n"),
    }
}

/// Renders the outcome in full; `place` names the failed step, in the language of the job.
pub(crate) fn ending(style: &Style, outcome: &Outcome, place: Option<&str>) -> String {
    let (mark, tone) = marks::job(outcome.state());
    let (head, body): (String, Option<&str>) = match outcome {
        Outcome::Completed { summary, .. } => (style.say(Text::Completed), Some(summary)),
        Outcome::Failed { reason, message, .. } => {
            let place = place.map(|place| format!(" · {place}")).unwrap_or_default();
            let failed = diff::failed(style, reason.as_str());
            (format!("{failed}{place}"), Some(message))
        }
        Outcome::Canceled { reason } => (style.say(Text::Canceled), reason.as_deref()),
    };
    let mut out = format!("{}\n", Line::new().add(tone, format!("{mark} {head}")).render(style));
    let value = Some(outcome.value()).filter(|value| !value.is_null() && !is_told(body, value));
    let value = value.map(|value| format!("{value:#}"));
    for body in body.into_iter().chain(value.as_deref()) {
        told(style, body, &mut out);
    }
    out
}

/// Returns whether a summary has the whole value: as its JSON, or as its only text.
fn is_told(summary: Option<&str>, value: &Value) -> bool {
    let fields = value.as_object().filter(|fields| fields.len() == 1);
    let only = fields.and_then(|fields| fields.values().next()).and_then(Value::as_str);
    summary.is_some_and(|summary| only == Some(summary) || summary == format!("{value:#}"))
}

fn told(style: &Style, body: &str, out: &mut String) {
    if !body.trim().is_empty() {
        let body = escape::text(body.trim_end());
        if style.width.is_some() {
            out.push_str(&text::indent(&body, 2, style.columns()));
        } else {
            // A pipe has no width, so the text is printed unwrapped.
            out.push_str(&body);
            out.push('\n');
        }
    }
}
