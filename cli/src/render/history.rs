//! Rendering of a job's log, one line per record. It describes records, and does not interpret
//! their effect on the job: the supervisor's fold does.

use jiff::Timestamp;
use proto::{
    decision::{Decision, Note},
    escape,
    fact::{CallTarget, Fact, PlanReply, Signal, TurnReply},
    interaction::Verdict,
    job::Outcome,
    lang::Language,
    record::{Known, Record, Unreadable},
};
use serde_json::Value;

use crate::{
    render::{family as kin, line::Line},
    style::{Style, Tone},
    text,
};

/// Columns before the text of a reasoning.
const REASONING_INDENT: usize = 9;

/// A stored record from a watch.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    /// Position of the record.
    pub(crate) seq: u64,
    /// Family and kind, as in the record's subject.
    pub(crate) family: &'a str,
    /// Server time of the append.
    pub(crate) time: Timestamp,
    /// The record as JSON.
    pub(crate) record: &'a Value,
    /// `false` if a rollback removed the record from the timeline.
    pub(crate) counts: bool,
}

pub(crate) fn line(style: &Style, entry: &Entry<'_>) -> String {
    let kind = entry.record.get("kind").and_then(Value::as_str).unwrap_or("?");
    let (tone, words) = match read(entry.record) {
        Ok(Known::Fact(fact)) => self::fact(&fact),
        Ok(Known::Decision(decision)) => self::decision(&decision),
        // A record of a newer version, or one with a large body, is unreadable here; the job may be
        // fine.
        Err(error) => (Tone::Wait, error.to_string()),
    };
    // Removed records are distinguishable without colours too.
    let (tone, plain, seq) = if entry.counts {
        (tone, Tone::Plain, format!("{:>6} ", entry.seq))
    } else {
        (Tone::Dim, Tone::Dim, format!("×{:>5} ", entry.seq))
    };
    Line::new()
        .add(Tone::Dim, seq)
        .add(Tone::Dim, format!("{} ", style.clock(entry.time)))
        .add(plain, format!("{:<9} ", escape::line(&family(entry.family))))
        .add(tone, format!("{:<9} ", escape::line(kind)))
        .add(plain, escape::line(&words))
        .render(style)
}

/// Renders the reasoning of the model whose reply a record holds, one line for each of its lines.
pub(crate) fn reasoning(style: &Style, record: &Value) -> Vec<String> {
    let words = record["body"]["reasoning"].as_str().unwrap_or_default();
    let words = escape::text(words.trim()).into_owned();
    let lines = text::wrap(&words, style.columns().saturating_sub(REASONING_INDENT).max(8));
    let lines = lines.iter().filter(|_| !words.is_empty());
    let rail = format!("{:>1$}", "… ", REASONING_INDENT);
    lines.map(|line| style.paint(Tone::Dim, &format!("{rail}{line}"))).collect()
}

/// Shortens a family: `do.call.builtin` to `→builtin`, as the kind follows anyway.
fn family(family: &str) -> String {
    match family.split_once('.') {
        Some(("do", rest)) => match rest.split_once('.') {
            Some((_, pool)) if pool != "none" => format!("→{pool}"),
            Some(_) | None => "do".to_owned(),
        },
        Some(_) | None => family.to_owned(),
    }
}

fn read(record: &Value) -> Result<Known, Unreadable> {
    let bytes = serde_json::to_vec(record).map_err(|e| Unreadable::Malformed(e.to_string()))?;
    Record::from_slice(&bytes)?.known()
}

fn fact(fact: &Fact) -> (Tone, String) {
    match fact {
        Fact::Submitted(submitted) => {
            let by = submitted.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
            let from = submitted.forked.as_ref();
            let from =
                from.map(|from| format!(", forked from {} at record {}", from.job, from.seq));
            let from = from.unwrap_or_default();
            (Tone::Strong, format!("{}{by}{from}: {}", submitted.agent.name, submitted.goal))
        }
        Fact::Signaled(signaled) => {
            let word = signaled.signal.word();
            let by = signaled.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
            let why = match (&signaled.signal, &signaled.reason) {
                (Signal::Steer { text }, _) => format!(": {text}"),
                (Signal::Snapshot { name }, _) => format!(": {name}"),
                (Signal::RollBack { to, .. }, why) => {
                    let why = why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
                    format!(" to {to}{why}")
                }
                (Signal::Cancel | Signal::Pause | Signal::Resume | Signal::Retry, Some(why)) => {
                    format!(": {why}")
                }
                (Signal::Cancel | Signal::Pause | Signal::Resume | Signal::Retry, None) => {
                    String::new()
                }
            };
            (Tone::Wait, format!("{word}{by}{why}"))
        }
        Fact::Planned(planned) => {
            let (tone, words) = plan_reply(&planned.reply);
            (tone, format!("{}#{} {words}", planned.work, planned.attempt))
        }
        Fact::Turned(turned) => {
            let (tone, words) = turn_reply(&turned.reply);
            (tone, format!("{}#{} {words}", turned.work, turned.attempt))
        }
        Fact::Started(started) => (Tone::Busy, format!("{}#{}", started.work, started.attempt)),
        Fact::Called(called) => {
            let result = &called.result;
            let fault =
                called.fault.map(|fault| format!(" {}", fault.as_str())).unwrap_or_default();
            let said = result.error.as_deref().or(result.message.as_deref()).unwrap_or_default();
            let data = result.data.as_ref().map(ToString::to_string).unwrap_or_default();
            let said = if said.is_empty() { &data } else { said };
            let tone = if result.success { Tone::Good } else { Tone::Bad };
            let mark = if result.success { "ok" } else { "failed" };
            let ms = called.duration_ms;
            (tone, format!("{}#{} {mark}{fault} in {ms}ms {said}", called.work, called.attempt))
        }
        Fact::Answered(answered) => {
            let verdict = match answered.answer.decision {
                Verdict::Approve => "approve",
                Verdict::Reject => "reject",
                Verdict::Respond => "respond",
                Verdict::Edit => "edit",
            };
            let value = answered.answer.value.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
            let text =
                answered.answer.text.as_deref().map(|t| format!(" “{t}”")).unwrap_or_default();
            (Tone::Good, format!("{} {verdict} by {}{value}{text}", answered.ask, answered.by))
        }
        Fact::Fired(fired) => (Tone::Dim, fired.timer.to_string()),
        Fact::Child(said) => kin::child_said(said),
    }
}

fn plan_reply(reply: &PlanReply) -> (Tone, String) {
    match reply {
        PlanReply::Plan { plan } => {
            (Tone::Good, format!("{}: {}", text::count(plan.steps.len(), "step"), plan.title))
        }
        PlanReply::Question { question } => (Tone::Wait, format!("asks: {}", question.prompt)),
        PlanReply::Simple => (Tone::Good, "one step will do".to_owned()),
        PlanReply::Noted { note } => {
            let said = note.response.as_deref().unwrap_or_default();
            let items = text::count(note.outline.len(), "item");
            (Tone::Good, format!("{} ({items}) {said}", note.phase))
        }
        PlanReply::Finished { response } => (Tone::Good, format!("done: {response}")),
        PlanReply::Unparseable { error, .. } => (Tone::Bad, format!("no plan: {error}")),
        PlanReply::Failed { error } => (Tone::Bad, format!("no reply: {}", error.message)),
    }
}

fn turn_reply(reply: &TurnReply) -> (Tone, String) {
    match reply {
        TurnReply::Calls { text, calls } => {
            let calls: Vec<String> = calls
                .iter()
                .map(|call| match &call.target {
                    CallTarget::Tool { tool, .. } => tool.to_string(),
                    CallTarget::Person { .. } => "a person".to_owned(),
                    CallTarget::Outline { .. } => call.name.clone(),
                    CallTarget::Refused { error } => format!("{} (refused: {error})", call.name),
                })
                .collect();
            (Tone::Busy, format!("calls {} {text}", calls.join(", ")))
        }
        TurnReply::Done { success: true, response, attachments: _ } => {
            (Tone::Good, format!("done: {response}"))
        }
        TurnReply::Done { success: false, response, attachments: _ } => {
            (Tone::Bad, format!("gives up: {response}"))
        }
        TurnReply::Summarised { summary, results } => {
            let before = summary.iter().map(|summary| {
                format!("what came before, up to {}: {}", summary.through, summary.text)
            });
            let results =
                results.iter().map(|one| format!("the result of {}: {}", one.id, one.text));
            let all: Vec<String> = before.chain(results).collect();
            (Tone::Dim, format!("summarised {}", all.join("; ")))
        }
        TurnReply::Failed { error } => (Tone::Bad, format!("no reply: {}", error.message)),
    }
}

fn decision(decision: &Decision) -> (Tone, String) {
    match decision {
        Decision::Plan(work) => (Tone::Busy, format!("{}#{}", work.work, work.attempt)),
        Decision::Turn(work) => (
            Tone::Busy,
            format!("{}#{} turn {} of {}", work.work, work.attempt, work.turn, work.step),
        ),
        Decision::Call(work) => {
            let call = format!("{}#{} {} {}", work.work, work.attempt, work.tool, work.args);
            match &work.refused {
                None => (Tone::Busy, call),
                Some(error) => (Tone::Bad, format!("{call} not sent: {}", error.message)),
            }
        }
        Decision::Ask(ask) => {
            let question = &ask.question;
            (Tone::Wait, format!("{} {}: {}", question.id, question.kind.name(), question.prompt))
        }
        Decision::Wait(wait) => (
            Tone::Wait,
            format!("{}#{} until {}: {}", wait.work, wait.attempt, wait.until, wait.reason),
        ),
        Decision::Spawn(work) => (
            Tone::Busy,
            format!("{}#{} {} {}", work.work, work.attempt, work.agent.name, work.child),
        ),
        Decision::Note(
            note @ (Note::Spawned { .. }
            | Note::ChildTold { .. }
            | Note::ParentTold { .. }
            | Note::Concluded { .. }),
        ) => (Tone::Dim, kin::note(note)),
        Decision::Note(Note::Held { .. }) => {
            (Tone::Dim, "it is paused, and its deadline counts".to_owned())
        }
        Decision::Note(Note::QuestionClosed { ask, because, .. }) => {
            (Tone::Dim, format!("{ask} is closed: {because}"))
        }
        Decision::Note(Note::Stopped { work, notice }) => {
            (Tone::Bad, format!("{work} does not run: {}", notice.text(Language::En)))
        }
        Decision::Finish(finish) => match &finish.outcome {
            Outcome::Completed { summary, .. } => (Tone::Good, format!("completed: {summary}")),
            Outcome::Failed { reason, message, .. } => {
                (Tone::Bad, format!("failed, {}: {message}", reason.as_str()))
            }
            Outcome::Canceled { reason } => {
                (Tone::Dim, format!("canceled {}", reason.as_deref().unwrap_or_default()))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_reasoning_of_a_model_stands_below_its_reply() {
        let style = Style::plain(None);
        let record = json!({"body": {"reasoning": "First look.\nThen \u{1b}[2J write.\n"}});
        assert_eq!(
            reasoning(&style, &record),
            ["       … First look.", "       … Then \\u{1b}[2J write."]
        );
        assert!(reasoning(&style, &json!({"body": {}})).is_empty());
    }
}
