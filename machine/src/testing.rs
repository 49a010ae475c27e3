//! The parts of a folded job that must not change between releases. Tests compare recorded logs
//! with them. Fields that a later release adds to a job's view must not be included, or every
//! addition would look like a change.

use proto::entry::Entry;
use proto::{
    decision::{Decision, Note},
    digest,
};
use serde_json::{Value, json};

use crate::{Job, Next, Replay, Tell};

/// Returns the SHA-256 of the states and next decisions after each record.
#[must_use]
pub fn states(job: &proto::id::JobId, entries: &[Entry]) -> String {
    let mut folded = Replay::of(job, entries);
    let all: Vec<Value> = entries
        .iter()
        .map(|entry| {
            folded.take(entry);
            state(folded.job())
        })
        .collect();
    digest::of_json(&Value::Array(all))
}

/// Returns the stable parts of the job's state, and its next decision.
#[must_use]
pub fn state(job: &Job) -> Value {
    json!({"job": standing(job), "seq": job.seq(), "next": job.decide().as_ref().map(next)})
}

/// Returns the stable parts of the job's view.
fn standing(job: &Job) -> Value {
    let Some(view) = job.view() else { return Value::Null };
    let steps = view.plan.iter().flat_map(|plan| &plan.steps).map(|step| {
        let calls: Vec<Value> =
            step.calls.iter().map(|call| json!([call.tool, call.state, call.attempts])).collect();
        json!({
            "id": step.id, "state": step.state, "success": step.success, "attempts": step.attempts,
            "turns": step.turns, "response": step.response, "calls": calls,
        })
    });
    let questions = view.questions.iter().map(|q| json!([q.id, q.kind.name(), q.deadline]));
    json!({
        "state": view.state,
        "sub_status": view.sub_status,
        "plan": view.plan.as_ref().map(|plan| json!([plan.title, plan.revision, plan.confirmed])),
        "steps": steps.collect::<Vec<_>>(),
        "questions": questions.collect::<Vec<_>>(),
        "outcome": view.outcome,
        "usage": [view.usage.input_tokens, view.usage.output_tokens],
        "ignored": view.ignored,
        "records": view.records,
    })
}

fn next(next: &Next) -> Value {
    let arm: Vec<Value> = next.arm.iter().map(|arm| json!([arm.timer, arm.at])).collect();
    let mut shown = json!({"decision": label(&next.decision), "arm": arm, "disarm": next.disarm});
    if !next.tell.is_empty() {
        shown["tell"] = next.tell.iter().map(tell).collect();
    }
    shown
}

fn tell(tell: &Tell) -> Value {
    match tell {
        Tell::Submit { job, submitted, .. } => json!([job, "submitted", submitted.goal]),
        Tell::Say { job, fact } => json!([job, fact.kind()]),
    }
}

/// Returns a one-line label that identifies the decision.
#[must_use]
pub fn label(decision: &Decision) -> String {
    match decision {
        Decision::Plan(work) => format!("plan {} #{}", work.work, work.attempt),
        Decision::Turn(work) => format!("turn {} #{}", work.work, work.attempt),
        Decision::Call(work) => {
            format!("call {} #{} {} {}", work.work, work.attempt, work.tool, work.args)
        }
        Decision::Ask(work) => {
            format!("ask {} {} for {}", work.question.id, work.question.kind.name(), work.work)
        }
        Decision::Wait(wait) => format!("wait {} #{} {}", wait.work, wait.attempt, wait.until),
        Decision::Note(Note::QuestionClosed { ask, because, .. }) => {
            format!("close {ask} {because:?}")
        }
        Decision::Note(Note::Stopped { work, notice }) => format!("stop {work} {notice:?}"),
        Decision::Spawn(work) => format!("spawn {} #{} {}", work.work, work.attempt, work.child),
        Decision::Note(Note::Spawned { work, attempt, .. }) => format!("spawned {work} #{attempt}"),
        Decision::Note(Note::ChildTold { work, attempt, signal, .. }) => {
            format!("tell {work} #{attempt} {}", signal.word())
        }
        Decision::Note(Note::ParentTold { job, ask, open, .. }) => {
            format!("tell parent {job} {ask} {}", if *open { "asks" } else { "closed" })
        }
        Decision::Done(done) => {
            let units: Vec<_> = done.units().map(|unit| label(&unit.command())).collect();
            format!("done {}", units.join(", "))
        }
        Decision::Note(Note::Held { .. }) => "hold".to_owned(),
        Decision::Note(Note::GraphEdited { signal, .. }) => format!("edit {signal}"),
        Decision::Note(Note::Advanced(advance)) => format!("advance {}", advance.n),
        Decision::Note(Note::Concluded { outcome, .. }) => format!("conclude {}", outcome.state()),
        Decision::Finish(finish) => format!("finish {}", finish.outcome.state()),
    }
}
