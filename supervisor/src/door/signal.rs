//! `signal`: cancel, pause or resume a job, have it try again, or tell its agents something.
//!
//! What is answered is true when it is answered: a cancel waits until the job has ended, so that
//! after its answer no new tool starts; anything else is stored and counted in. A job that cannot be read
//! here hears one signal only, to try again: the process that can read it may be another one.

use std::time::Duration;

use futures::StreamExt;
use proto::{
    door::{SendSignal, Signaled},
    error::{Code, Failure},
    fact::{self, Fact, Signal},
    id::{JobId, Seq},
    job::JobState,
    limits, strict,
};
use runtime::{
    config::Role,
    log::Entry,
    service::{Call, Handled},
};
use tokio::time::Instant;

use super::{Door, fold};
use crate::machine::Job;

/// How long a cancel waits for the supervisor to end the job.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

impl Door {
    pub(super) async fn signal(&self, call: &Call) -> Result<Handled, Failure> {
        let caller = self.admit(call, Role::Operate)?;
        let request: SendSignal = strict::request(&call.payload)?;
        if request.reason.as_ref().is_some_and(|r| r.len() > limits::REASON_BYTES_MAX) {
            let why = format!("reason: at most {} bytes are taken", limits::REASON_BYTES_MAX);
            return Err(Failure::new(Code::TooLarge, why).at("reason"));
        }
        instruction(&request.signal)?;
        let by = caller.recorded(request.by.as_deref())?;
        let entries = fold::read(&*self.broker.log, &request.job).await?;
        let folded = fold::whole(&request.job, &entries);
        if request.signal == Signal::Retry && folded.as_ref().map_or(true, is_parked) {
            let fact = fact::Signaled {
                signal: Signal::Retry,
                reason: request.reason,
                by,
                parent_seq: None,
            };
            let fact = Fact::Signaled(fact);
            let seq = self.broker.log.append(&request.job, &fact, call.trace).await?;
            return Handled::json(&Signaled { job: request.job, state: JobState::Working, seq });
        }
        let mut job = folded?;
        open(&job)?;
        let signaled = fact::Signaled {
            signal: request.signal.clone(),
            reason: request.reason.clone(),
            by,
            parent_seq: None,
        };
        let fact = Fact::Signaled(signaled);
        let seq = self.broker.log.append(&request.job, &fact, call.trace).await?;
        match request.signal {
            Signal::Cancel => self.until_ended(&mut job, seq).await?,
            Signal::Pause | Signal::Resume | Signal::Retry | Signal::Steer { .. } => {
                let entries = self.broker.log.read(&request.job, job.seq()).await?;
                catch_up(&mut job, &entries, seq)?;
            }
        }
        let state = fold::view(&job)?.state;
        Handled::json(&Signaled { job: request.job, state, seq })
    }

    /// Follows the job until it has ended, or for a while.
    async fn until_ended(&self, job: &mut Job, signal: Seq) -> Result<(), Failure> {
        let until = Instant::now() + ENDS_WITHIN;
        let entries = self.broker.log.watch(job.id(), job.seq()).await?;
        let mut entries = entries.ready_chunks(64);
        while job.outcome().is_none() || job.seq() < signal {
            let Ok(next) = tokio::time::timeout_at(until, entries.next()).await else {
                tracing::warn!(job = %job.id(), "canceled, and not ended yet");
                return Ok(());
            };
            let entries: Result<Vec<_>, _> = next.unwrap_or_default().into_iter().collect();
            let entries = entries?;
            if entries.is_empty() {
                return Ok(());
            }
            catch_up(job, &entries, signal)?;
        }
        Ok(())
    }
}

/// Checks what a person wants to tell a job's agents.
fn instruction(signal: &Signal) -> Result<(), Failure> {
    let Signal::Steer { text } = signal else { return Ok(()) };
    let field = "signal.steer.text";
    if text.trim().is_empty() {
        let why = format!("{field}: must say what is to be done, or done otherwise");
        return Err(Failure::new(Code::InvalidRequest, why).at(field));
    }
    if text.len() > limits::INSTRUCTION_BYTES_MAX {
        let why = format!("{field}: at most {} bytes are taken", limits::INSTRUCTION_BYTES_MAX);
        return Err(Failure::new(Code::TooLarge, why).at(field));
    }
    Ok(())
}

/// Folds what came; a job that had ended before the signal was stored did not hear it.
fn catch_up(job: &mut Job, entries: &[Entry], signal: Seq) -> Result<(), Failure> {
    let heard = entries.partition_point(|entry| entry.seq < signal);
    let (before, after) = entries.split_at(heard);
    fold::more(job, before)?;
    if job.seq() < signal {
        open(job)?;
    }
    fold::more(job, after)
}

/// Whether it is parked at a record that cannot be read here.
fn is_parked(job: &Job) -> bool {
    job.poison().is_some() && !job.has_ended()
}

/// Whether a signal can still change anything.
fn open(job: &Job) -> Result<(), Failure> {
    let view = fold::view(job)?;
    if let Some(poison) = job.poison() {
        let why = format!("record {}: {}", poison.seq, poison.reason);
        return Err(fold::poisoned(job.id(), &why));
    }
    if view.state.is_terminal() { Err(ended(job.id(), view.state)) } else { Ok(()) }
}

fn ended(job: &JobId, state: JobState) -> Failure {
    Failure::new(Code::JobEnded, format!("job {job} has ended: it is {state}")).at("job")
}
