//! A message to a thread whose job works: it instructs the job instead of starting another one.
//!
//! The instruction's reason names the message, so a repeated request finds it in the log of the
//! job, whichever gateway takes the request.

use std::{pin::pin, time::Duration};

use bridges::derived;
use broker::backoff::Backoff;
use client::WatchOptions;
use futures::StreamExt;
use proto::{
    door::{Filter, List, SendSignal, Watched},
    error::{Code, Failure},
    event::{EventId, Happened, InteractionEvent},
    id::{AgentName, JobId, Seq},
    job::{JobState, SubStatus},
    limits::INSTRUCTION_BYTES_MAX,
    point::Order,
    view::JobView,
};

use super::{
    input::{Message, RunAgentInput},
    job_of,
    run::Start,
    unresolved,
};
use crate::caller::Caller;

/// The newest jobs of a thread in which a message is looked for.
const JOBS_MAX: u32 = 4;

/// Pauses before a job that has moved meanwhile is read again.
const BACKOFF: Backoff = Backoff::doubling(Duration::from_millis(5), Duration::from_millis(250));
/// Number of these pauses: races against others who write to the job.
const RACES_MAX: usize = 16;

/// Instructs the job of a thread that works. Returns the job that has the message of the run, and
/// where the run begins to show it; `None` if the run has a job of its own, or needs one.
pub(super) async fn steered(
    caller: &Caller,
    input: &RunAgentInput,
    agent: &AgentName,
) -> Result<Option<(JobId, Start)>, Failure> {
    match caller.client.get(&job_of(caller, input)).await {
        // A repeated run finds its job, whose interrupts it shows.
        Ok(_) => return Ok(None),
        Err(failure) if failure.code == Code::NotFound => {}
        // A caller without the role `read` cannot follow the run either; the submission refuses it.
        Err(failure) if failure.code == Code::Forbidden => return Ok(None),
        Err(failure) => return Err(failure),
    }
    let Ok(message) = input.message() else {
        unresolved(caller, input).await?;
        return Ok(None);
    };
    let mut pauses = BACKOFF.take(RACES_MAX);
    loop {
        let sent = send(caller, input, agent, &message).await;
        match (sent, pauses.next()) {
            (Err(failure), Some(pause)) if has_moved(&failure) => tokio::time::sleep(pause).await,
            (sent, _) => return sent,
        }
    }
}

/// `true` if the job is no longer the one that was read.
fn has_moved(failure: &Failure) -> bool {
    matches!(failure.code, Code::Stale | Code::JobEnded)
}

async fn send(
    caller: &Caller,
    input: &RunAgentInput,
    agent: &AgentName,
    message: &Message,
) -> Result<Option<(JobId, Start)>, Failure> {
    let reason = reason(caller, input, message);
    let views = newest(caller, input).await?;
    for view in views.iter().filter(|view| !view.instructions.is_empty()) {
        if let Some(seq) = position(caller, &view.job, &reason).await? {
            return Ok(Some((view.job.clone(), Start::Record(seq))));
        }
    }
    unresolved(caller, input).await?;
    let Some(view) = views.into_iter().find(|view| takes_messages(view, agent)) else {
        return Ok(None);
    };
    // A goal may be longer than an instruction.
    if message.text.len() > INSTRUCTION_BYTES_MAX {
        return Ok(None);
    }
    // The client has lost the run of the job and sends the goal again.
    if view.goal == message.text {
        return Ok(Some((view.job, Start::Record(view.seq))));
    }
    let signal = SendSignal {
        job: view.job,
        signal: Order::Steer { text: message.text.clone() },
        // Of two equal requests at once only one is stored.
        expected_seq: Some(view.seq),
        reason: Some(reason),
        by: None,
    };
    match caller.client.call(&signal).await {
        Ok(signaled) => Ok(Some((signaled.job, Start::Record(signaled.seq)))),
        // A caller who may only submit starts another job.
        Err(failure) if failure.code == Code::Forbidden => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// Returns the reason of the instruction that a message becomes. It tells the message from those of
/// other callers and threads.
fn reason(caller: &Caller, input: &RunAgentInput, message: &Message) -> String {
    let id = message.id.as_deref().unwrap_or(&input.run_id);
    let id = derived::job_id(caller.subject(), "agui-message", [&input.thread_id, id]);
    format!("agui:{id}")
}

/// `true` for a job that carries out an instruction by itself. One that a fault holds does not.
fn takes_messages(view: &JobView, agent: &AgentName) -> bool {
    let works = match view.state {
        JobState::Submitted | JobState::Working => true,
        JobState::InputRequired
        | JobState::AuthRequired
        | JobState::Completed
        | JobState::Failed
        | JobState::Canceled
        | JobState::Rejected => false,
    };
    let is_held = matches!(view.sub_status, Some(SubStatus::Parked | SubStatus::Poisoned));
    works && !is_held && view.agent == *agent
}

/// Returns the newest jobs of the thread, newest first.
async fn newest(caller: &Caller, input: &RunAgentInput) -> Result<Vec<JobView>, Failure> {
    let filter = Filter { conversation: Some(input.conversation()), ..Filter::default() };
    let list = List { filter, limit: Some(JOBS_MAX), after: None };
    let mut views = Vec::new();
    for summary in caller.client.call(&list).await?.jobs {
        match caller.client.get(&summary.job).await {
            Ok(view) => views.push(view),
            // The job was removed meanwhile.
            Err(failure) if failure.code == Code::NotFound => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(views)
}

/// Returns the position of the instruction with a reason.
async fn position(caller: &Caller, job: &JobId, reason: &str) -> Result<Option<Seq>, Failure> {
    let options = WatchOptions { stored: true, ..WatchOptions::events(EventId::START) };
    let mut items = pin!(caller.client.watch(job, options));
    while let Some(item) = items.next().await {
        match item? {
            Watched::Event { event } => {
                if let Happened::Interaction(InteractionEvent::Told { reason: told, .. }) =
                    &event.happened
                    && told.as_deref() == Some(reason)
                {
                    return Ok(Some(event.id.seq));
                }
            }
            Watched::End { error: Some(failure) } => return Err(*failure),
            Watched::End { error: None }
            | Watched::View { .. }
            | Watched::Record { .. }
            | Watched::Live { .. }
            | Watched::Heartbeat => {}
        }
    }
    Ok(None)
}
