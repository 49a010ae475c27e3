//! An outbox, of a webhook or of the notifications of tasks: takes positions, asks the front door
//! what they mean, and sends.
//!
//! The broker keeps what is to be sent, and the time of the next try. A process that dies loses
//! nothing: another gateway takes its positions after the acknowledgement deadline.

use std::{sync::Arc, sync::LazyLock, time::Duration};

use broker::{
    backoff::Backoff,
    log::{Posted, Queues},
};
use client::{Client, WatchOptions};
use futures::StreamExt;
use opentelemetry::{KeyValue, metrics::Counter};
use proto::{
    door::Watched,
    error::{Code, Failure},
    event::Event,
    id::{HookName, JobId, Seq},
    view::JobView,
};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{event, hook::Hook, schedule, tasks::Tasks};

/// Records of one webhook that are worked on at once.
const SLOTS: usize = 8;
/// Records of all tasks that are worked on at once: clients choose their receivers, of which some may
/// be slow.
const SLOTS_OF_TASKS: usize = 64;
/// Pauses before an outbox is opened again.
const REOPEN: Backoff = Backoff::doubling(Duration::from_secs(1), Duration::from_secs(30));
/// Pauses before the front door is asked again.
pub(super) const ASK_AGAIN: Backoff =
    Backoff::doubling(Duration::from_millis(500), Duration::from_secs(30));
/// Time without an answer of the front door.
const SILENCE: Duration = Duration::from_secs(10);
/// Time for requests that are under way when the process ends.
const END_GRACE: Duration = Duration::from_secs(2);

static TRIES: LazyLock<Counter<u64>> = LazyLock::new(|| {
    runtime::telemetry::meter()
        .u64_counter("callboard.webhook.tries")
        .with_description("Tries of webhooks.")
        .build()
});

/// The receivers of an outbox.
#[derive(Debug)]
pub(super) enum Route {
    /// The receiver of a webhook.
    Hook(Box<Hook>),
    /// The receivers that A2A clients set for their tasks.
    Tasks(Tasks),
}

impl Route {
    fn slots(&self) -> usize {
        match self {
            Self::Hook(_) => SLOTS,
            Self::Tasks(_) => SLOTS_OF_TASKS,
        }
    }

    /// `true` if a record of the job may concern a receiver. Most tasks have none.
    async fn has_receivers(&self, job: &JobId) -> bool {
        match self {
            Self::Hook(_) => true,
            Self::Tasks(tasks) => !tasks.receivers(job).await.is_empty(),
        }
    }
}

/// An outbox.
#[derive(derive_more::Debug)]
#[debug("Outbox({name})")]
pub(super) struct Outbox {
    pub(super) name: HookName,
    pub(super) route: Route,
    /// The front door's client, with the token of webhooks.
    pub(super) client: Client,
    pub(super) queues: Arc<dyn Queues>,
    /// Waits after failed tries, in seconds.
    pub(super) waits: Vec<u64>,
}

/// The events of a record, and its job.
#[derive(Debug)]
pub(super) struct RecordContext {
    /// The events that the record may stand for, and those before it that are needed.
    pub(super) events: Vec<Event>,
    /// The job as it was after the record, or later.
    pub(super) view: Box<JobView>,
}

/// The outcome of the work on a position.
pub(super) enum Settled {
    /// Everything it stands for was delivered.
    Done,
    /// The receiver wants no more messages.
    Off,
    /// A try failed.
    Again(String),
}

/// The meaning of a position cannot be found out.
enum Unread {
    /// The job is gone, or its log cannot be read.
    Never(Failure),
    /// The front door does not answer, or refuses the token.
    Now(Failure),
}

impl Outbox {
    /// Sends until the shutdown.
    pub(super) async fn run(self: Arc<Self>, shutdown: CancellationToken) {
        let (tasks, mut pauses) = (TaskTracker::new(), REOPEN);
        let sends = async {
            loop {
                let slots = Arc::new(Semaphore::new(self.route.slots()));
                match self.queues.outbox(&self.name, slots).await {
                    Ok(mut outbox) => {
                        while let Some(posted) = outbox.next().await {
                            match posted {
                                Ok(posted) => {
                                    pauses = REOPEN;
                                    tasks.spawn(Arc::clone(&self).settle(posted));
                                }
                                Err(error) => self.warn(&error),
                            }
                        }
                    }
                    Err(error) => self.warn(&error),
                }
                tokio::time::sleep(pauses.pause()).await;
            }
        };
        shutdown.run_until_cancelled(sends).await;
        tasks.close();
        // The broker delivers again every position that is cut off here.
        let _ = tokio::time::timeout(END_GRACE, tasks.wait()).await;
    }

    fn warn(&self, error: &broker::log::LogError) {
        tracing::warn!(webhook = %self.name, %error, "the outbox cannot be read; retrying");
    }

    /// Works on a position, keeps its delivery alive, and acknowledges it.
    async fn settle(self: Arc<Self>, posted: Posted) {
        let mut alive = tokio::time::interval(self.queues.ack_wait() / 3);
        let mut work = std::pin::pin!(self.work(&posted));
        let settled = loop {
            tokio::select! {
                settled = &mut work => break settled,
                _ = alive.tick() => posted.ack.working().await,
            }
        };
        let (hook, job) = (&self.name, &posted.job);
        match settled {
            Settled::Done => posted.ack.done().await,
            Settled::Off => match self.queues.switch_outbox(hook, false).await {
                Ok(()) => {
                    self.count("off");
                    tracing::warn!(webhook = %hook, "the receiver answered 410; the webhook is off until `callboard webhooks on`");
                    posted.ack.done().await;
                }
                Err(error) => {
                    tracing::warn!(webhook = %hook, %error, "the webhook cannot be switched off");
                    self.again(&posted, "410").await;
                }
            },
            Settled::Again(why) => {
                tracing::info!(webhook = %hook, %job, why, tries = posted.delivered, "an event was not delivered");
                self.again(&posted, &why).await;
            }
        }
    }

    /// Puts a position off, or drops it after its last try.
    async fn again(&self, posted: &Posted, why: &str) {
        if let Some(wait) = schedule::wait(&self.waits, posted.delivered, fastrand::f64()) {
            self.count("failed");
            return posted.ack.later(wait).await;
        }
        self.count("dropped");
        let (hook, job, seq) = (&self.name, &posted.job, &posted.seq);
        tracing::warn!(webhook = %hook, %job, %seq, why, "an event is dropped after its last try");
        posted.ack.done().await;
    }

    fn count(&self, outcome: &'static str) {
        count(&self.name, outcome);
    }

    async fn work(&self, posted: &Posted) -> Settled {
        if !self.route.has_receivers(&posted.job).await {
            return Settled::Done;
        }
        let Some(context) = self.context(posted).await else { return Settled::Done };
        match &self.route {
            Route::Hook(hook) => hook.tell(&self.name, posted, &context).await,
            Route::Tasks(tasks) => tasks.tell(&self.name, posted, &context).await,
        }
    }

    /// Asks the front door what a position means, until it says that; `None` if nobody can know.
    async fn context(&self, posted: &Posted) -> Option<RecordContext> {
        let mut pauses = ASK_AGAIN;
        loop {
            match self.read(posted).await {
                Ok(read) => return Some(read),
                Err(Unread::Never(failure)) => {
                    tracing::debug!(webhook = %self.name, job = %posted.job, %failure, "a record has no events");
                    return None;
                }
                // Every event needs the front door, so it costs no try to wait for it.
                Err(Unread::Now(failure)) => {
                    tracing::warn!(webhook = %self.name, %failure, "the front door does not tell what happened; retrying");
                    tokio::time::sleep(pauses.pause()).await;
                }
            }
        }
    }

    /// Reads a job up to a record.
    async fn read(&self, posted: &Posted) -> Result<RecordContext, Unread> {
        let until = posted.seq;
        let from = event::needed(until, &posted.family);
        let options = WatchOptions { give_up_after: SILENCE, ..WatchOptions::events(from) };
        let mut items = self.client.watch(&posted.job, options).boxed();
        let mut events = Vec::new();
        let silent = || Failure::new(Code::Timeout, "the record has not come");
        let read = async {
            while let Some(item) = items.next().await {
                match item.map_err(unread)? {
                    Watched::Event { event } if event.id.seq <= until => events.push(*event),
                    Watched::View { view } if includes(view.seq, until) => return Ok(view),
                    Watched::Event { .. }
                    | Watched::View { .. }
                    | Watched::Record { .. }
                    | Watched::Live { .. }
                    | Watched::Heartbeat => {}
                    Watched::End { .. } => break,
                }
            }
            Err(Unread::Now(silent()))
        };
        let read = tokio::time::timeout(SILENCE, read).await;
        let view = read.unwrap_or_else(|_| Err(Unread::Now(silent())))?;
        Ok(RecordContext { events, view })
    }
}

/// Counts a try.
pub(super) fn count(name: &HookName, outcome: &'static str) {
    let hook = KeyValue::new("callboard.webhook", name.to_string());
    TRIES.add(1, &[hook, KeyValue::new("callboard.outcome", outcome)]);
}

fn includes(view: Seq, record: Seq) -> bool {
    view >= record
}

fn unread(failure: Failure) -> Unread {
    match failure.code {
        Code::Unavailable | Code::Timeout | Code::Overloaded | Code::Forbidden | Code::Internal => {
            Unread::Now(failure)
        }
        Code::NotFound
        | Code::Poisoned
        | Code::InvalidRequest
        | Code::InvalidEncoding
        | Code::TooDeep
        | Code::TooLarge
        | Code::InvalidId
        | Code::UnsupportedVersion
        | Code::UnknownAgent
        | Code::UnknownPrice
        | Code::IdempotencyConflict
        | Code::AlreadyAnswered
        | Code::Closed
        | Code::Stale
        | Code::WouldRepeat
        | Code::InvalidAnswer
        | Code::JobEnded => Unread::Never(failure),
    }
}
