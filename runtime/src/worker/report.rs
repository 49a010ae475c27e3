//! The facts a worker loop reports on its own account: a task broke, or its workers kept dying.

use proto::{
    decision::Decision,
    fact::{Called, Fact, PlanReply, Planned, TurnReply, Turned, WorkError},
    message::Usage,
    tool::{Fault, ToolResult},
};

/// The fact that says that carrying out a command broke; another attempt may end differently.
/// None for commands that no result answers.
#[must_use]
pub fn broken(decision: &Decision, why: &str) -> Option<Fact> {
    failed(decision, why.to_owned(), Fault::Internal)
}

/// The fact that says that the workers that took a command died, several times. None for commands
/// that no result answers.
#[must_use]
pub fn lost(decision: &Decision, delivered: u64) -> Option<Fact> {
    let taken = delivered.saturating_sub(1);
    let why = format!("taken by a worker {taken} times, and none of them lived to answer");
    failed(decision, why, Fault::WorkerLost)
}

fn failed(decision: &Decision, message: String, fault: Fault) -> Option<Fact> {
    let error = || WorkError { message: message.clone(), transient: true, retry_after_ms: None };
    match decision {
        Decision::Plan(plan) => Some(Fact::Planned(Planned {
            work: plan.work.clone(),
            attempt: plan.attempt,
            reply: PlanReply::Failed { error: error() },
            usage: Usage::default(),
            detected: None,
            outline: Vec::new(),
        })),
        Decision::Turn(turn) => Some(Fact::Turned(Turned {
            work: turn.work.clone(),
            attempt: turn.attempt,
            reply: TurnReply::Failed { error: error() },
            usage: Usage::default(),
        })),
        Decision::Call(call) => Some(Fact::Called(Called {
            work: call.work.clone(),
            attempt: call.attempt,
            result: ToolResult::failed(message),
            fault: Some(fault),
            duration_ms: 0,
            cost: Default::default(),
        })),
        Decision::Ask(_)
        | Decision::Wait(_)
        | Decision::Spawn(_)
        | Decision::Note(_)
        | Decision::Finish(_) => None,
    }
}
