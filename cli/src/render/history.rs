//! Rendering of a job's log: a line per record, and one for each further unit of work of a record. It
//! describes records, and does not interpret their effect on the job: the supervisor's fold does.

use jiff::Timestamp;
use proto::{
    decision::{Decision, DoneUnit, Note},
    escape, excerpt,
    fact::{CallTarget, Fact, PlanReply, Signal, TurnReply},
    fallback::{AnsweredBy, FellBack},
    job::Outcome,
    record::{Known, Record, Unreadable},
};
use serde_json::Value;

use crate::{
    render::{advance, diff, family as kin, line::Line},
    style::{Style, Tone},
    text,
    words::Text,
};

/// Longest content of an event in a line, in characters.
const DATA_CHARS: usize = 60;
/// Columns before the words of a record: position, family and kind, and spaces. The time is between.
const WORDS_INDENT: usize = 28;
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
        Ok(Known::Fact(fact)) => self::fact(style, &fact),
        Ok(Known::Decision(decision)) => self::decision(style, &decision),
        // A record of a newer version, or one with a large body, is unreadable here; the job may be
        // fine.
        Err(error) => (Tone::Wait, error.text(style.language)),
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
    let body = &record["body"];
    let further = body["then"].as_array().into_iter().flatten();
    let further = further.map(|unit| &unit["result"]["reasoning"]);
    let words = [&body["reasoning"], &body["result"]["reasoning"]].into_iter().chain(further);
    let words: Vec<&str> = words.filter_map(Value::as_str).map(str::trim).collect();
    let words = escape::text(&words.join("\n")).into_owned();
    let lines = text::wrap(&words, style.columns().saturating_sub(REASONING_INDENT).max(8));
    let lines = lines.iter().filter(|_| !words.is_empty());
    let rail = format!("{:>1$}", "… ", REASONING_INDENT);
    lines.map(|line| style.paint(Tone::Dim, &format!("{rail}{line}"))).collect()
}

/// Shortens a family: `do.call.builtin` to `→builtin`, as the kind follows anyway, and
/// `in.call.builtin` to `in.call`, as the pool is in its command.
fn family(family: &str) -> String {
    match family.split_once('.') {
        Some(("do", rest)) => match rest.split_once('.') {
            Some((_, pool)) if pool != "none" => format!("→{pool}"),
            Some(_) | None => "do".to_owned(),
        },
        Some(("in", source)) if source.starts_with("call.") => "in.call".to_owned(),
        Some(_) | None => family.to_owned(),
    }
}

fn read(record: &Value) -> Result<Known, Unreadable> {
    let bytes = serde_json::to_vec(record).map_err(|e| Unreadable::Malformed(e.to_string()))?;
    Record::from_slice(&bytes)?.known()
}

fn fact(style: &Style, fact: &Fact) -> (Tone, String) {
    let by = |by: Option<&str>| by.map(|who| style.by(who)).unwrap_or_default();
    match fact {
        Fact::Submitted(submitted) => {
            let by = by(submitted.by.as_deref());
            let from = submitted.forked.as_ref();
            let from =
                from.map(|from| style.say(Text::LogForked { job: &from.job, seq: &from.seq }));
            let from = from.unwrap_or_default();
            (Tone::Strong, format!("{}{by}{from}: {}", submitted.agent.name, submitted.goal))
        }
        Fact::Signaled(signaled) => {
            let (word, by) = (signaled.signal.word(), by(signaled.by.as_deref()));
            let why = signaled.reason.iter().map(|why| format!(": {why}")).collect::<String>();
            let why = match &signaled.signal {
                Signal::Steer { text } => format!(": {text}"),
                Signal::Event { name, data } => {
                    format!(": {name} {}", excerpt::line(&data.to_string(), DATA_CHARS))
                }
                Signal::EditGraph { changes, .. } => format!(": {changes}{why}"),
                Signal::Snapshot { name, at: None } => format!(": {name}"),
                Signal::Snapshot { name, at: Some(at) } => format!(": {name} = #{at}"),
                Signal::RollBack { to, .. } => format!("{}{why}", style.say(Text::LogTo { to })),
                Signal::Cancel | Signal::Pause | Signal::Resume | Signal::Retry => why,
            };
            (Tone::Wait, format!("{word}{by}{why}"))
        }
        Fact::Planned(planned) => {
            let (tone, words) = plan_reply(style, &planned.reply);
            let model = answered(style, planned.answered.as_ref());
            (tone, format!("{}#{} {words}{model}", planned.work, planned.attempt))
        }
        Fact::Turned(turned) => {
            let (tone, words) = turn_reply(style, &turned.reply);
            let model = answered(style, turned.answered.as_ref());
            (tone, format!("{}#{} {words}{model}", turned.work, turned.attempt))
        }
        Fact::Started(started) => (Tone::Busy, format!("{}#{}", started.work, started.attempt)),
        Fact::Called(called) => {
            let result = &called.result;
            let fault =
                &called.fault.map(|fault| format!(" {}", fault.as_str())).unwrap_or_default();
            let said = result.error.as_deref().or(result.message.as_deref()).unwrap_or_default();
            let data = result.data.as_ref().map(ToString::to_string).unwrap_or_default();
            let said = if said.is_empty() { &data } else { said };
            let unit = &format!("{}#{}", called.work, called.attempt);
            let (said, ms) = (&said, &called.duration_ms);
            match result.success {
                true => (Tone::Good, style.say(Text::LogSucceeded { unit, fault, ms, said })),
                false => (Tone::Bad, style.say(Text::LogFailed { unit, fault, ms, said })),
            }
        }
        Fact::Answered(answered) => {
            let verdict: &str = answered.answer.decision.into();
            let by = by(Some(answered.by.as_str()));
            let value = answered.answer.value.as_ref().map(|v| format!(" {v}")).unwrap_or_default();
            let text =
                answered.answer.text.as_deref().map(|t| format!(" “{t}”")).unwrap_or_default();
            (Tone::Good, format!("{} {verdict}{by}{value}{text}", answered.ask))
        }
        Fact::Fired(fired) => (Tone::Dim, fired.timer.to_string()),
        Fact::Child(said) => kin::child_said(style, said),
    }
}

/// Returns the model that was asked in the end, and why others did not answer.
fn answered(style: &Style, answered: Option<&AnsweredBy>) -> String {
    let Some(AnsweredBy { model, fell_back }) = answered else { return String::new() };
    let one = |one: &FellBack| {
        let model = one.model.as_deref().unwrap_or("-");
        format!("{model} {}", one.reason)
    };
    let others: Vec<String> = fell_back.iter().map(one).collect();
    style.say(Text::LogAnsweredBy { model, others: &others.join(", ") })
}

fn plan_reply(style: &Style, reply: &PlanReply) -> (Tone, String) {
    let (tone, text) = match reply {
        PlanReply::Plan { plan } => {
            let title = &plan.title;
            return match &plan.steps.len() {
                1 => (Tone::Good, style.say(Text::LogPlanOne { title })),
                count => (Tone::Good, style.say(Text::LogPlan { count, title })),
            };
        }
        PlanReply::Noted { note } => {
            let (phase, said) = (&note.phase, &note.response.as_deref().unwrap_or_default());
            return match &note.outline.len() {
                1 => (Tone::Good, style.say(Text::LogNotedOne { phase, said })),
                count => (Tone::Good, style.say(Text::LogNoted { phase, count, said })),
            };
        }
        PlanReply::Question { question } => {
            (Tone::Wait, Text::LogAsks { prompt: &question.prompt })
        }
        PlanReply::Simple => (Tone::Good, Text::LogOneStep),
        PlanReply::Finished { response, language: _ } => (Tone::Good, Text::LogDone { response }),
        PlanReply::Unparseable { error, .. } => (Tone::Bad, Text::LogNoPlan { error }),
        PlanReply::Failed { error } => (Tone::Bad, Text::LogNoReply { error: &error.message }),
    };
    (tone, style.say(text))
}

fn turn_reply(style: &Style, reply: &TurnReply) -> (Tone, String) {
    match reply {
        TurnReply::Calls { text, calls } => {
            let calls: Vec<String> = calls
                .iter()
                .map(|call| match &call.target {
                    CallTarget::Tool { tool, .. } => tool.to_string(),
                    CallTarget::Person { .. } => style.say(Text::LogPerson),
                    CallTarget::Outline { .. } => call.name.clone(),
                    CallTarget::Refused { error } => {
                        style.say(Text::LogRefused { name: &call.name, error })
                    }
                })
                .collect();
            (Tone::Busy, style.say(Text::LogCalls { calls: &calls.join(", "), said: text }))
        }
        TurnReply::Done { value, .. } if !value.is_null() => {
            (Tone::Good, style.say(Text::LogDone { response: &value.to_string() }))
        }
        TurnReply::Misfit { text: _, misfits } => {
            let places: Vec<String> = misfits.iter().map(ToString::to_string).collect();
            (Tone::Bad, style.say(Text::LogMisfit { places: &places.join("; ") }))
        }
        TurnReply::Done { success: true, response, .. } => {
            (Tone::Good, style.say(Text::LogDone { response }))
        }
        TurnReply::Done { success: false, response, .. } => {
            (Tone::Bad, style.say(Text::LogGivesUp { response }))
        }
        TurnReply::Summarised { summary, results } => {
            let before = summary.iter().map(|summary| {
                style.say(Text::LogSummary { through: &summary.through, text: &summary.text })
            });
            let results = results
                .iter()
                .map(|one| style.say(Text::LogResult { id: &one.id, text: &one.text }));
            let all: Vec<String> = before.chain(results).collect();
            (Tone::Dim, style.say(Text::LogSummarised { parts: &all.join("; ") }))
        }
        TurnReply::Failed { error } => {
            (Tone::Bad, style.say(Text::LogNoReply { error: &error.message }))
        }
    }
}

/// Renders the units of a `done` record after the first one, a line for each.
pub(crate) fn further(style: &Style, entry: &Entry<'_>) -> Vec<String> {
    let known = read(entry.record).ok();
    let indent = WORDS_INDENT + style.clock(entry.time).len();
    let done = match known {
        Some(Known::Decision(decision)) => decision.into_done(),
        Some(Known::Fact(_)) | None => None,
    };
    let further = done.iter().flat_map(|done| &done.then).map(|unit| {
        let (tone, words) = done_unit(style, unit);
        Line::new()
            .add(Tone::Plain, " ".repeat(indent))
            .add(tone, escape::line(&words))
            .render(style)
    });
    further.collect()
}

fn done_unit(style: &Style, unit: &DoneUnit) -> (Tone, String) {
    let (tone, result) = fact(style, &unit.result());
    let words = match unit {
        DoneUnit::Call(ran) => format!("{} {} {result}", ran.command.tool, ran.command.args),
        DoneUnit::Plan(_) | DoneUnit::Turn(_) => result,
    };
    (tone, words)
}

fn decision(style: &Style, decision: &Decision) -> (Tone, String) {
    match decision {
        Decision::Plan(work) => (Tone::Busy, format!("{}#{}", work.work, work.attempt)),
        Decision::Turn(work) => {
            let unit = &format!("{}#{}", work.work, work.attempt);
            let (turn, step) = (&work.turn, &work.step);
            (Tone::Busy, style.say(Text::LogTurn { unit, turn, step }))
        }
        Decision::Call(work) => {
            let call = format!("{}#{} {} {}", work.work, work.attempt, work.tool, work.args);
            match &work.refused {
                None => (Tone::Busy, call),
                Some(refused) => {
                    let error = &refused.message;
                    (Tone::Bad, style.say(Text::LogNotSent { call: &call, error }))
                }
            }
        }
        Decision::Ask(ask) => {
            let question = &ask.question;
            (Tone::Wait, format!("{} {}: {}", question.id, question.kind.name(), question.prompt))
        }
        Decision::Wait(wait) => {
            let unit = &format!("{}#{}", wait.work, wait.attempt);
            let (until, reason) = (&wait.until, &wait.reason);
            (Tone::Wait, style.say(Text::LogWait { unit, until, reason }))
        }
        Decision::Spawn(work) => (
            Tone::Busy,
            format!("{}#{} {} {}", work.work, work.attempt, work.agent.name, work.child),
        ),
        Decision::Note(
            note @ (Note::Spawned { .. }
            | Note::ChildTold { .. }
            | Note::ParentTold { .. }
            | Note::Concluded { .. }),
        ) => (Tone::Dim, kin::note(style, note)),
        Decision::Done(done) => done_unit(style, &done.first),
        Decision::Note(Note::Held { .. }) => (Tone::Dim, style.say(Text::LogHeld)),
        Decision::Note(Note::Advanced(advance)) => (Tone::Dim, advance::line(advance)),
        Decision::Note(Note::GraphEdited { signal, .. }) => {
            (Tone::Dim, style.say(Text::LogGraphEdited { signal }))
        }
        Decision::Note(Note::QuestionClosed { ask, because, .. }) => {
            (Tone::Dim, style.say(Text::LogClosed { ask, because }))
        }
        Decision::Note(Note::Stopped { work, notice }) => {
            let notice = &notice.text(style.language);
            (Tone::Bad, style.say(Text::LogStopped { work, notice }))
        }
        Decision::Finish(finish) => ending(style, &finish.outcome),
    }
}

/// Renders the end of a job.
pub(super) fn ending(style: &Style, outcome: &Outcome) -> (Tone, String) {
    match outcome {
        Outcome::Completed { summary, .. } => (Tone::Good, diff::completed(style, summary)),
        Outcome::Failed { reason, message, .. } => {
            let reason = &reason.as_str();
            (Tone::Bad, style.say(Text::LogJobFailed { reason, message }))
        }
        Outcome::Canceled { reason } => {
            let reason = &reason.as_deref().unwrap_or_default();
            (Tone::Dim, style.say(Text::LogCanceled { reason }))
        }
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
        let unit = |said: &str| json!({"result": {"reasoning": said}});
        let mut body = unit("One.");
        body["then"] = json!([unit("Two."), {"result": {}}]);
        let several = reasoning(&style, &json!({"body": body}));
        assert_eq!(several, ["       … One.", "       … Two."]);
    }

    #[test]
    fn further_units_of_a_record_stand_below_the_first_one() {
        let style = Style::plain(None);
        let unit = |step: &str, n: u32| {
            json!({
                "kind": "call",
                "command": {
                    "work": format!("g0.r0.{step}"), "attempt": 1, "step": step, "tool": "echo",
                    "version": "1", "pool": "builtin", "effect": "pure", "args": {"value": n},
                    "idempotency_key": step,
                },
                "result": {
                    "work": format!("g0.r0.{step}"), "attempt": 1, "duration_ms": n,
                    "result": {"success": true, "data": n},
                },
            })
        };
        let mut body = unit("a", 1);
        body["then"] = json!([unit("b", 2), unit("c", 3)]);
        let record = json!({"v": 1, "kind": "done", "id": "r", "by": "w", "body": body});
        let (family, time) = ("do.done.none", style.now);
        let entry = Entry { seq: 7, family, time, record: &record, counts: true };
        let lines = further(&style, &entry);
        let all: Vec<_> = lines.iter().map(|line| line.trim()).collect();
        assert_eq!(
            all,
            [
                r#"echo {"value":2} g0.r0.b#1 ok in 2ms 2"#,
                r#"echo {"value":3} g0.r0.c#1 ok in 3ms 3"#
            ]
        );
        let first = line(&style, &entry);
        let words = first.find("echo").unwrap();
        assert!(lines.iter().all(|line| line.find("echo") == Some(words)), "{first}\n{lines:?}");
        let unreadable = json!({"body": {}});
        assert!(further(&style, &Entry { record: &unreadable, ..entry }).is_empty());
    }
}
