//! Conversations: the jobs that belong to one, and the exchanges that the next job is told.
//!
//! [`runtime::conversations`] lists candidates; each job's own log decides. The exchanges are read
//! once, when a job is submitted, and stored with it.

use broker::{kv::Kv, log::Reader};
use futures::{StreamExt, stream};
use proto::{
    conversation::{Conversation, EarlierStep, Exchange, Memory},
    error::Failure,
    excerpt,
    id::{ConversationId, JobId, Seq},
    job::Outcome,
    view::{JobView, PlanView, StepView},
};
use runtime::conversations::{self, Members};

use super::fold;

/// Limit on the bytes of carried exchanges.
const CARRIED_BYTES_MAX: usize = 96 * 1024;
/// Number of steps of a carried plan; the last ones stay.
const STEPS_CARRIED: usize = 30;
/// Bytes of the line that names a step.
const LABEL_BYTES: usize = 200;
/// Characters that each end of a step's result keeps.
const STEP_CHARS: usize = 150;
/// Number of logs that are read concurrently.
const AT_A_TIME: usize = 8;

/// Adds a job to a conversation, and returns the exchanges that it carries.
///
/// # Errors
/// Returns an error if the broker cannot be read or written.
pub(super) async fn join(
    log: &dyn Reader,
    kv: &dyn Kv,
    id: &ConversationId,
    job: &JobId,
    memory: &Memory,
) -> Result<Conversation, Failure> {
    let Members { jobs, forgotten } = conversations::join(kv, id, job).await?;
    let (earlier, unread) = carried(log, id, &jobs, memory).await?;
    let omitted = forgotten.saturating_add(u32::try_from(unread).unwrap_or(u32::MAX));
    Ok(Conversation { id: id.clone(), earlier, omitted })
}

/// Returns the exchanges of the newest of these jobs, oldest first, and the number of older jobs
/// that are left out.
async fn carried(
    log: &dyn Reader,
    id: &ConversationId,
    jobs: &[JobId],
    memory: &Memory,
) -> Result<(Vec<Exchange>, usize), Failure> {
    let wanted = usize::try_from(memory.exchanges).unwrap_or(usize::MAX);
    if wanted == 0 {
        return Ok((Vec::new(), jobs.len()));
    }
    let mut exchanges = Vec::new();
    let (mut looked_at, mut bytes) = (0, 0);
    let mut newest_first = stream::iter(jobs.iter().rev().cloned())
        .map(|job| exchange(log, id, job, memory))
        .buffered(AT_A_TIME.min(wanted));
    while exchanges.len() < wanted
        && let Some(found) = newest_first.next().await
    {
        if let Some(mut exchange) = found? {
            if bytes + size(&exchange) > CARRIED_BYTES_MAX {
                let omitted = u32::try_from(exchange.plan.len()).unwrap_or(u32::MAX);
                exchange.omitted_steps = exchange.omitted_steps.saturating_add(omitted);
                exchange.plan.clear();
            }
            bytes += size(&exchange);
            if bytes > CARRIED_BYTES_MAX {
                break;
            }
            exchanges.push(exchange);
        }
        looked_at += 1;
    }
    exchanges.reverse();
    Ok((exchanges, jobs.len() - looked_at))
}

/// Returns the exchange of a job, or `None` if it was never stored or belongs to another
/// conversation.
async fn exchange(
    log: &dyn Reader,
    id: &ConversationId,
    job: JobId,
    memory: &Memory,
) -> Result<Option<Exchange>, Failure> {
    let entries = log.read(&job, Seq(0)).await?;
    if entries.is_empty() {
        return Ok(None);
    }
    // An unreadable job is skipped: it must not prevent a new submission.
    let Ok(view) = fold::whole(&job, &entries).and_then(|job| fold::view(&job)) else {
        return Ok(None);
    };
    Ok((view.conversation.as_ref() == Some(id)).then(|| told(view, memory)))
}

/// Returns the bytes of an exchange's texts.
fn size(exchange: &Exchange) -> usize {
    let steps = exchange.plan.iter().map(|step| step.label.len() + step.response.len());
    let texts = exchange.goal.len() + exchange.response.len() + exchange.results.len();
    texts + steps.sum::<usize>()
}

/// Returns the last steps of a plan, and the number of those before them.
fn steps(plan: &PlanView) -> (Vec<EarlierStep>, u32) {
    let omitted = plan.steps.len().saturating_sub(STEPS_CARRIED);
    let told = |step: &StepView| EarlierStep {
        id: step.id.clone(),
        label: excerpt::line(
            if step.title.trim().is_empty() { &step.description } else { &step.title },
            LABEL_BYTES,
        ),
        state: step.state,
        response: excerpt::ends(step.response.as_deref().unwrap_or_default().trim(), STEP_CHARS),
    };
    let steps = plan.steps.iter().skip(omitted).map(told).collect();
    (steps, u32::try_from(omitted).unwrap_or(u32::MAX))
}

fn told(view: JobView, memory: &Memory) -> Exchange {
    let (response, results) = match &view.outcome {
        Some(Outcome::Completed { summary, results, value }) if value.is_null() => {
            (summary.as_str(), Some(results))
        }
        Some(Outcome::Completed { summary, value, .. }) => (summary.as_str(), Some(value)),
        Some(Outcome::Failed { message, results, .. }) => (message.as_str(), Some(results)),
        Some(Outcome::Canceled { reason }) => (reason.as_deref().unwrap_or_default(), None),
        None => ("", None),
    };
    let results = results.filter(|results| memory.results && !results.is_null());
    let plan = view.plan.as_ref().filter(|_| memory.plan);
    let (plan, omitted_steps) = plan.map(steps).unwrap_or_default();
    Exchange {
        untrusted: view.untrusted.map(|mark| mark.tool),
        job: view.job,
        goal: memory.cut(&view.goal),
        state: view.state,
        response: memory.cut(response),
        results: results.map(|results| memory.cut(&results.to_string())).unwrap_or_default(),
        plan,
        omitted_steps,
    }
}
