//! What a worker role implements, and what it is handed.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use async_trait::async_trait;
use broker::bus::Bus;
use bytes::Bytes;
use proto::{
    decision::Decision,
    fact::Fact,
    id::{Attempt, JobId, Seq, StepId, WorkId},
    tool::Effect,
    trace::TraceContext,
    wire::{self, Live, Said},
};
use tokio_util::sync::CancellationToken;

/// A worker role: turns one command into one fact.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// The role's name, for logs.
    fn name(&self) -> &'static str;

    /// Carries out one command. The fact is stored and the command acknowledged when this returns;
    /// nothing is stored, and the command acknowledged, when it returns none. A failure of the work
    /// is a fact like any other. Must not block the thread.
    async fn run(&self, task: Task) -> Option<Fact>;

    /// The fact that says that [`Work::run`] panicked or its result could not be stored. None hands
    /// the command out again later.
    fn broken(&self, decision: &Decision, why: &str) -> Option<Fact> {
        super::report::broken(decision, why)
    }

    /// The fact that says that the command was handed out `delivered` times and no worker lived to
    /// answer it. None runs it all the same.
    fn lost(&self, decision: &Decision, delivered: u64) -> Option<Fact> {
        super::report::lost(decision, delivered)
    }

    /// Whether a task must end when this process can no longer tell the broker that it is alive,
    /// before the command can be handed to another worker. By default tool calls with effects do:
    /// two live runs of one call must not overlap. Everything else goes on, for its result may
    /// still be stored first.
    fn stops_when_cut_off(&self, decision: &Decision) -> bool {
        match decision {
            Decision::Call(call) => match call.effect {
                Effect::Idempotent | Effect::Once => true,
                Effect::Pure => false,
            },
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Finish(_) => false,
        }
    }
}

/// A command in the hands of a [`Work`].
#[derive(Debug)]
pub struct Task {
    /// The job it belongs to.
    pub job: JobId,
    /// Its position in the log.
    pub seq: Seq,
    /// The command.
    pub decision: Decision,
    /// How often it has been handed out, this time included.
    pub delivered: u64,
    /// The job's trace, with a span of this task's own.
    pub trace: TraceContext,
    /// Where to say what happens while it runs.
    pub live: LiveSink,
    /// Canceled when the result is not wanted any more. A task that returns within a few seconds
    /// could clean up; one that does not is dropped where it waits.
    pub canceled: CancellationToken,
}

/// Says what happens while a task runs, to whoever watches the job now. Nothing depends on it.
#[derive(Clone)]
pub struct LiveSink {
    bus: Arc<dyn Bus>,
    subject: Arc<str>,
    about: Option<Arc<About>>,
    next: Arc<AtomicU32>,
}

#[derive(Debug)]
struct About {
    work: WorkId,
    attempt: Attempt,
    step: Option<StepId>,
}

impl LiveSink {
    /// A sink for what is said about a command on a job's live subject. Commands that are no unit
    /// of work have nothing to say.
    #[must_use]
    pub fn new(bus: Arc<dyn Bus>, subject: String, decision: &Decision) -> Self {
        let about = match decision {
            Decision::Plan(w) => Some((w.work.clone(), w.attempt, None)),
            Decision::Turn(w) => Some((w.work.clone(), w.attempt, Some(w.step.clone()))),
            Decision::Call(w) => Some((w.work.clone(), w.attempt, Some(w.step.clone()))),
            Decision::Ask(w) => Some((w.work.clone(), Attempt::FIRST, None)),
            Decision::Wait(_) | Decision::Spawn(_) | Decision::Note(_) | Decision::Finish(_) => {
                None
            }
        };
        let about = about.map(|(work, attempt, step)| Arc::new(About { work, attempt, step }));
        Self { bus, subject: subject.into(), about, next: Arc::default() }
    }

    /// Says something. Returns when it is handed over; that nobody could be told is no error.
    pub async fn say(&self, said: Said) {
        let Some(about) = &self.about else { return };
        let live = Live {
            work: about.work.clone(),
            attempt: about.attempt,
            step: about.step.clone(),
            index: self.next.fetch_add(1, Ordering::Relaxed),
            said,
        };
        let sent = match wire::encode(&live) {
            Ok(bytes) => self.bus.publish(self.subject.to_string(), Bytes::from(bytes)).await,
            Err(error) => return tracing::debug!(%error, "a live message was dropped"),
        };
        if let Err(error) = sent {
            tracing::debug!(%error, "a live message was dropped");
        }
    }
}

impl std::fmt::Debug for LiveSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LiveSink").field("subject", &self.subject).finish_non_exhaustive()
    }
}
