//! Rendering of events as lines for users, in watches and conversations. Pure.

use proto::{
    decision::Closed,
    escape,
    event::{
        Descendant, ErrorEvent, ErrorScope, Happened, InteractionEvent, JobEvent, MessageEvent,
        NodeEvent, NodePhase, NoticeEvent, PlanEvent, PlanPhase, StepEvent, StepPhase, Stream,
        ToolEvent, ToolPhase, UsageEvent,
    },
    id::StepId,
    interaction::{Answer, Remember, Verdict},
    lang::Words,
    point::Point,
    step::StepState,
    view::Artifact,
    workflow::{EdgeKind, Place},
};
use serde_json::Value;

use super::{
    line::Line,
    marks,
    style::{Style, Tone},
    tree,
    words::Text,
};

/// Renders an event; empty for events that only programs need.
#[must_use]
pub fn lines(style: &Style, happened: &Happened) -> Vec<String> {
    rows(style, happened).iter().map(|line| line.render(style)).collect()
}

/// Returns an event as lines of any width; empty for events that only programs need.
#[must_use]
pub fn rows(style: &Style, happened: &Happened) -> Vec<Line> {
    match happened {
        Happened::Error(error) => vec![self::error(style, error)],
        Happened::Message(message) => vec![self::message(message)],
        Happened::Tool(tool) => vec![self::tool(style, tool)],
        Happened::Interaction(interaction) => vec![self::interaction(style, interaction)],
        Happened::Usage(usage) => self::usage(style, usage).into_iter().collect(),
        Happened::Plan(plan) => self::plan(style, plan),
        Happened::Step(step) => vec![self::step(style, step)],
        Happened::Job(job) => vec![self::job(job)],
        Happened::Notice(notice) => vec![self::notice(notice)],
        Happened::Node(node) => self::node(style, node).into_iter().collect(),
        Happened::Artifact(artifact) => vec![self::artifact(style, artifact)],
        // Its end follows as a line.
        Happened::Turn(_) => Vec::new(),
    }
}

fn words(text: &str) -> String {
    escape::line(text.trim()).into_owned()
}

/// Returns the prefix that names a step, or nothing.
fn of(step: Option<&StepId>) -> String {
    step.map(|step| format!("{step} ")).unwrap_or_default()
}

fn error(style: &Style, error: &ErrorEvent) -> Line {
    let (mark, what) = match error.scope {
        ErrorScope::Attempt => ("!", Text::MayBeRetried),
        ErrorScope::Guard => ("!", Text::EndedByGuard),
        ErrorScope::Parked => ("✗", Text::WaitsForOperator),
        ErrorScope::Job => ("✗", Text::JobFailed),
    };
    let reason = error.reason.as_deref().map(|r| format!(" ({})", words(r))).unwrap_or_default();
    Line::new()
        .add(Tone::Bad, format!("{mark} "))
        .add(Tone::Plain, of(error.step.as_ref()))
        .add(Tone::Bad, format!("{}{reason}", style.say(what)))
        .add(Tone::Plain, format!(": {}", words(&error.message)))
}

fn notice(event: &NoticeEvent) -> Line {
    Line::new()
        .add(Tone::Wait, "! ")
        .add(Tone::Plain, of(event.step.as_ref()))
        .add(Tone::Wait, event.notice.kind().as_str())
        .add(Tone::Plain, format!(": {}", words(&event.message)))
}

fn message(message: &MessageEvent) -> Line {
    let (mark, tone) = match message.stream {
        Stream::Thought => ("…", Tone::Dim),
        Stream::Result => ("»", Tone::Strong),
        Stream::Summary => ("≈", Tone::Dim),
    };
    Line::new()
        .add(tone, format!("{mark} "))
        .add(Tone::Dim, of(message.step.as_ref()))
        .add(if tone == Tone::Dim { Tone::Dim } else { Tone::Plain }, words(&message.text))
}

fn tool(style: &Style, event: &ToolEvent) -> Line {
    let head = |mark: &str, tone| {
        let again = match event.attempt.0 {
            0 | 1 => String::new(),
            _ => style.say(Text::TryNumber { number: &event.attempt }),
        };
        Line::new()
            .add(tone, format!("  {mark} "))
            .add(Tone::Dim, format!("{} ", event.step))
            .add(Tone::Plain, format!("{}{again}", event.tool))
    };
    match &event.phase {
        ToolPhase::Calling { args, remembered } => {
            let line = head("▸", Tone::Busy);
            let line = line.add(Tone::Dim, format!(" {}", words(&args.to_string())));
            match tree::by_remembered(style, remembered.as_ref()) {
                Some(words) => line.add(Tone::Wait, format!(" {words}")),
                None => line,
            }
        }
        ToolPhase::Called { success, result, error, message, fault: _, duration_ms: _ } => {
            let (mark, tone) = if *success { ("✓", Tone::Good) } else { ("✗", Tone::Bad) };
            let data = || result.as_ref().map(Value::to_string);
            let said = error.clone().or_else(|| message.clone()).or_else(data).unwrap_or_default();
            head(mark, tone).add(Tone::Dim, format!(" {}", words(&said)))
        }
    }
}

fn artifact(style: &Style, artifact: &Artifact) -> Line {
    let told = escape::line(&artifact.file.to_string()).into_owned();
    let published = style.say(Text::Published { file: &told });
    Line::new()
        .add(Tone::Good, "  ⇩ ".to_owned())
        .add(Tone::Dim, format!("{} ", artifact.step))
        .add(Tone::Plain, published)
}

fn interaction(style: &Style, event: &InteractionEvent) -> Line {
    let by = |by: Option<&str>| by.map(|who| style.by(who.trim())).unwrap_or_default();
    let line = Line::new();
    match event {
        InteractionEvent::Asked { question, below } => line
            .add(Tone::Wait, format!("⏸ {} {}", question.id, question.kind.name()))
            .add(Tone::Dim, whose(style, below.as_deref()))
            .add(Tone::Wait, ": ".to_owned())
            .add(Tone::Plain, words(&question.prompt)),
        InteractionEvent::Answered { ask, answer, by: who } => line
            .add(Tone::Good, format!("◂ {ask} {}{}", style.say(of_answer(answer)), by(Some(who))))
            .add(Tone::Plain, answered(answer)),
        InteractionEvent::Closed { ask, because } => {
            let why = &style.say(reason(*because));
            let closed = style.say(Text::Closed { question: ask, why });
            line.add(Tone::Dim, format!("◂ {closed}"))
        }
        InteractionEvent::Settled { ask, below } => {
            let of = &whose(style, Some(below));
            let settled = style.say(Text::Settled { question: ask, of });
            line.add(Tone::Dim, format!("◂ {settled}"))
        }
        InteractionEvent::Told { text, reason: _, by: who } => line
            .add(Tone::Good, format!("◂ {}", style.say(Text::Told { by: &by(who.as_deref()) })))
            .add(Tone::Plain, format!(": {}", words(text))),
        InteractionEvent::Signaled { signal, to, changes, reason, by: who } => {
            let to = match to {
                Some(Point::Seq(seq)) => style.say(Text::ToRecord { seq }),
                Some(Point::Name(name)) => format!(" {name}"),
                None => String::new(),
            };
            let changes = changes.as_ref().map(ToString::to_string);
            let said = changes.iter().map(String::as_str).chain(reason.as_deref());
            let said = said.map(|one| format!(": {}", words(one))).collect::<String>();
            line.add(Tone::Wait, format!("◂ {}{to}{}", words(signal), by(who.as_deref())))
                .add(Tone::Plain, said)
        }
    }
}

/// Returns a suffix that names the sub-agent's job, or nothing.
fn whose(style: &Style, below: Option<&Descendant>) -> String {
    let Some(Descendant { path, job, .. }) = below else { return String::new() };
    style.say(Text::OfJob { path: &words(path), job })
}

/// Names the reason why a question closed without an answer.
#[must_use]
pub fn closed(because: Closed) -> impl Into<Words> {
    reason(because)
}

fn reason(because: Closed) -> Text<'static> {
    match because {
        Closed::Expired => Text::Expired,
        Closed::JobEnded => Text::JobEnded,
        Closed::Superseded => Text::Superseded,
        Closed::RolledBack => Text::JobRolledBack,
        Closed::Denied => Text::Denied,
    }
}

/// Names the decision of an answer.
#[must_use]
pub fn verdict(verdict: Verdict) -> impl Into<Words> {
    decided(verdict)
}

fn of_answer(answer: &Answer) -> Text<'static> {
    match answer.remember {
        Some(Remember::Job) => Text::ApprovedForJob,
        None => decided(answer.decision),
    }
}

fn decided(verdict: Verdict) -> Text<'static> {
    match verdict {
        Verdict::Approve => Text::Approved,
        Verdict::Reject => Text::Rejected,
        Verdict::Respond => Text::QuestionAnswered,
        Verdict::Edit => Text::Edited,
    }
}

fn answered(answer: &Answer) -> String {
    let value =
        answer.value.as_ref().map(|v| v.as_str().map_or_else(|| v.to_string(), str::to_owned));
    let said: Vec<_> = value.into_iter().chain(answer.text.clone()).collect();
    if said.is_empty() { String::new() } else { format!(": {}", words(&said.join(" — "))) }
}

fn usage(style: &Style, usage: &UsageEvent) -> Option<Line> {
    let (spent, total) = (usage.spent, usage.total);
    let tokens = spent.input_tokens.saturating_add(spent.output_tokens);
    let tool = usage.tool.as_ref().map(|tool| format!("{tool} ")).unwrap_or_default();
    let paid = usage.paid.map(|paid| format!("{paid:.4}"));
    let paid = paid.map(|money| format!(", {}", self::paid(style, &money)));
    let paid = paid.unwrap_or_default();
    (tokens > 0 || usage.paid.is_some()).then(|| {
        let all = total.input_tokens.saturating_add(total.output_tokens);
        let step = of(usage.step.as_ref());
        let used = style.say(Text::Usage { tokens: &tokens, total: &all });
        Line::new().add(Tone::Dim, format!("  · {step}{tool}{used}{paid}"))
    })
}

/// Says what was paid, in US dollars.
#[must_use]
pub fn paid(style: &Style, money: &str) -> String {
    style.say(Text::Paid { money: &money })
}

fn plan(style: &Style, plan: &PlanEvent) -> Vec<Line> {
    let number = &plan.revision.saturating_add(1);
    let what = style.say(match plan.phase {
        PlanPhase::Completed => Text::PlanCarriedOut { number },
        PlanPhase::Created | PlanPhase::Updated if plan.replanning => {
            Text::PlanBeingReplaced { number }
        }
        PlanPhase::Created | PlanPhase::Updated if !plan.confirmed => Text::PlanProposed { number },
        PlanPhase::Created => Text::PlanMade { number },
        PlanPhase::Updated => Text::PlanInForce { number },
    });
    let head =
        Line::new().add(Tone::Strong, what).add(Tone::Plain, format!(": {}", words(&plan.title)));
    if plan.phase == PlanPhase::Completed {
        return vec![head];
    }
    let steps = plan.steps.iter().filter(|step| !step.state.is_terminal()).map(|step| {
        let after = tree::after(style, &step.depends_on);
        let label = if step.title.is_empty() { &step.description } else { &step.title };
        Line::new()
            .add(Tone::Dim, format!("  {} ", step.id))
            .add(Tone::Plain, words(label))
            .add(Tone::Dim, after)
    });
    std::iter::once(head).chain(steps).collect()
}

fn step(style: &Style, event: &StepEvent) -> Line {
    let (mark, tone) = match event.phase {
        StepPhase::Started | StepPhase::Resumed => ("▸", Tone::Busy),
        StepPhase::Retried => ("↻", Tone::Wait),
        StepPhase::Waiting => ("⏸", Tone::Wait),
        StepPhase::Completed if event.unsuccessful => ("✗", Tone::Bad),
        StepPhase::Completed => ("✓", Tone::Good),
        StepPhase::Failed => ("✗", Tone::Bad),
        StepPhase::Blocked | StepPhase::Canceled => ("⊘", Tone::Dim),
        StepPhase::Skipped => ("–", Tone::Dim),
    };
    let without = if event.unsuccessful { style.say(Text::WithoutSuccess) } else { String::new() };
    let line = Line::new()
        .add(tone, format!("{mark} {} {}{without}", event.step, style.say(phase(event.phase))))
        .add(Tone::Plain, format!(" {}", words(&event.label)));
    match event.response.as_deref().filter(|response| !response.trim().is_empty()) {
        Some(response) => line.add(Tone::Dim, format!(" — {}", words(response))),
        None => line,
    }
}

fn phase(phase: StepPhase) -> Text<'static> {
    match phase {
        StepPhase::Started => Text::StepStarted,
        StepPhase::Retried => Text::StepRetried,
        StepPhase::Waiting => Text::StepWaiting,
        StepPhase::Resumed => Text::StepResumed,
        StepPhase::Completed => Text::StepCompleted,
        StepPhase::Failed => Text::StepFailed,
        StepPhase::Blocked => Text::StepBlocked,
        StepPhase::Skipped => Text::StepSkipped,
        StepPhase::Canceled => Text::StepCanceled,
    }
}

/// Returns a visit's entry, way, or end without a way. The line of its step tells a success.
fn node(style: &Style, event: &NodeEvent) -> Option<Line> {
    let NodeEvent { node: _, visit, label, phase } = event;
    let line = |mark: &str, tone, text: Text<'_>| {
        Line::new().add(tone, format!("{mark} ")).add(tone, style.say(text))
    };
    let text = match phase {
        NodePhase::Entered { kind } => {
            let head = line("◇", Tone::Dim, Text::NodeEntered { visit, kind: &kind.as_str() });
            let is_titled = label.as_str() != visit.node.as_str();
            let title = if is_titled { format!(" {}", words(label)) } else { String::new() };
            return Some(head.add(Tone::Dim, title));
        }
        NodePhase::Ended { state: StepState::Completed, .. } => return None,
        NodePhase::Ended { state: StepState::Skipped, .. } => {
            return Some(line("–", Tone::Dim, Text::NodeSkipped { visit }));
        }
        NodePhase::Ended { state: StepState::Canceled, .. } => {
            return Some(line("⊘", Tone::Dim, Text::NodeCanceled { visit }));
        }
        NodePhase::Ended { state: _, error } => {
            let why = error.as_deref().map(|why| format!(": {}", words(why))).unwrap_or_default();
            let line = line("✗", Tone::Bad, Text::NodeFailed { visit });
            return Some(line.add(Tone::Plain, why));
        }
        NodePhase::Routed { to, way, when } => {
            let to = &place(style, to);
            let when = when.as_ref().map(|when| words(when.as_str()));
            match (way, &when) {
                (EdgeKind::Error, _) => style.say(Text::NodeOnError { visit, to }),
                (EdgeKind::Timeout, _) => style.say(Text::NodeOnTimeout { visit, to }),
                (EdgeKind::Next | EdgeKind::Branch | EdgeKind::Item, Some(when)) => {
                    style.say(Text::NodeRoutedWhen { visit, to, when })
                }
                (EdgeKind::Next | EdgeKind::Branch | EdgeKind::Item, None) => {
                    style.say(Text::NodeRouted { visit, to })
                }
            }
        }
    };
    Some(Line::new().add(Tone::Dim, format!("→ {text}")))
}

fn place(style: &Style, place: &Place) -> String {
    match place {
        Place::Node(node) => node.to_string(),
        Place::Join(node) => style.say(Text::JoinOf { node }),
        Place::End => style.say(Text::WorkflowEnd),
    }
}

fn job(event: &JobEvent) -> Line {
    let (mark, tone) = marks::job(event.state);
    let mut line = Line::new().add(tone, format!("{mark} {}", event.state));
    if let Some(sub) = event.sub_status {
        line = line.add(marks::sub_status(sub), format!(" · {sub}"));
    }
    for more in [&event.reason, &event.goal].into_iter().flatten() {
        line = line.add(Tone::Dim, format!(" · {}", words(more)));
    }
    line
}
