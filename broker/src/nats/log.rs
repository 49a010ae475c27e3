//! [`Log`](crate::log::Log) on JetStream.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_nats::HeaderMap;
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use jiff::Timestamp;
use proto::{
    decision::{Decision, DecisionKind},
    entry::Entry,
    fact::{Fact, Fired, Source},
    id::{HookName, JobId, Pool, Seq, Shard, TimerName, WorkerId},
    record::Record,
    subject::Subjects,
    trace::TraceContext,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{
    NatsOptions, entry,
    link::{AskError, Link},
    load, mark, milestones, outbox, probe, progress,
    publish::{self, Publish},
    read::{self, Stored},
    removal, scan, setup,
    tail::{self, Tail, WatchItem},
    unmoved,
    words::Text,
};
use crate::{
    log::{
        Armed, CasOutcome, Delivery, Depth, Feed, Latest, LogError, Maintenance, Milestones,
        ObjectRefs, OutboxState, Passed, Posted, Progress, Queues, Reader, ShardLoad, Storage,
        Submission, Writer, claim,
        settle::{self, RetryBounds},
    },
    objects::Objects,
};

/// Longest wait for one acknowledgement of a decision.
const DECISION_LIMIT: Duration = Duration::from_secs(2);
/// Attempts of a submission that meets a conflict but then finds no record.
const SUBMIT_TRIES: u32 = 5;

/// The log, through one connection.
#[derive(Clone)]
pub(super) struct NatsLog {
    pub(super) link: Arc<Link>,
    pub(super) subjects: Subjects,
    pub(super) objects: Arc<dyn Objects>,
    pub(super) options: Arc<NatsOptions>,
    writer: WorkerId,
    /// Writer of the records of fired timers.
    broker: WorkerId,
    /// Name of a timer that never fires, for writes that matter only for their headers.
    nothing: TimerName,
}

impl NatsLog {
    pub(super) fn new(
        link: Arc<Link>,
        subjects: Subjects,
        objects: Arc<dyn Objects>,
        options: Arc<NatsOptions>,
        writer: WorkerId,
    ) -> Self {
        let broker = WorkerId::new("broker").expect("a plain word is an id");
        let nothing = TimerName::new("_").expect("a plain word is a name");
        Self { link, subjects, objects, options, writer, broker, nothing }
    }

    pub(super) fn stream_of(&self, job: &JobId) -> String {
        self.subjects.stream(self.subjects.shard_of(job))
    }

    pub(super) fn patience(&self, total_ms: u64) -> RetryBounds {
        RetryBounds { total: Duration::from_millis(total_ms), ..RetryBounds::default() }
    }

    /// The patience of a write that a person waits for.
    fn attended(&self, total_ms: u64) -> RetryBounds {
        let overloaded_after = Some(self.options.overloaded_after());
        RetryBounds { overloaded_after, ..self.patience(total_ms) }
    }

    /// The longest wait for one acknowledgement of a decision. The next attempt reads the log first,
    /// so a short wait costs a read, and a long one would outlast the election of a leader.
    fn decision_limit(&self) -> Duration {
        self.options.request_timeout().min(DECISION_LIMIT)
    }

    /// The longest wait for one acknowledgement of such a write: two attempts and their reads fit.
    fn attended_limit(&self) -> Duration {
        self.options.request_timeout().min(self.options.overloaded_after().mul_f64(0.45))
    }

    /// Names the stream of a read that no server answered, if it is missing.
    pub(super) async fn unread(&self, stream: &str, error: AskError) -> LogError {
        let is_lost = match &error {
            AskError::NoResponders(_) => self.link.lacks(stream).await,
            AskError::Refused(refusal) => refusal.is_missing(),
            AskError::Lost(_)
            | AskError::Denied(_)
            | AskError::TooLarge(_)
            | AskError::Malformed(_) => false,
        };
        if is_lost { publish::lost(stream) } else { error.into() }
    }

    async fn write(
        &self,
        job: &JobId,
        subject: String,
        record: Record,
        trace: TraceContext,
    ) -> Result<Publish<'_>, LogError> {
        Ok(Publish {
            link: &self.link,
            stream: self.stream_of(job),
            headers: publish::headers(&subject, trace),
            subject,
            id: record.id.clone(),
            payload: claim::encode(record, &*self.objects).await?,
            guard: None,
            limit: self.options.request_timeout(),
        })
    }

    pub(super) async fn fact(
        &self,
        source: &Source,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Publish<'_>, LogError> {
        let record = Record::of_fact(fact, new_id(), &self.writer).map_err(|e| invalid(&e))?;
        self.write(job, self.subjects.fact(job, source), record, trace).await
    }

    /// Reads the first record on a job's subject of the door from the leader.
    ///
    /// # Errors
    /// [`LogError::Taken`] if a forged message occupies its position.
    async fn first_from_door(&self, job: &JobId, door: &str) -> Result<Option<Entry>, LogError> {
        let stream = self.stream_of(job);
        let first = read::next_at_leader(&self.link, &stream, door, Seq(0)).await?;
        let Some(first) = first else { return Ok(None) };
        let seq = first.seq;
        let taken = || LogError::Taken(Text::IdTaken { job, seq: &seq, stream: &stream }.into());
        self.entry(first).await?.map(Some).ok_or_else(taken)
    }

    /// Converts a stored message; `None` if it is not a record.
    pub(super) async fn entry(&self, message: Stored) -> Result<Option<Entry>, LogError> {
        entry::of(message, &self.subjects, &*self.objects).await
    }
}

#[async_trait]
impl Reader for NatsLog {
    fn subjects(&self) -> &Subjects {
        &self.subjects
    }

    async fn read(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError> {
        self.records_of(job, after).await
    }

    fn read_in_parts<'a>(&'a self, job: &'a JobId) -> BoxStream<'a, Result<Vec<Entry>, LogError>> {
        Box::pin(self.parts_of(job))
    }

    async fn first(&self, job: &JobId) -> Result<Option<Entry>, LogError> {
        let door = self.subjects.fact(job, &Source::Door);
        self.first_from_door(job, &door).await
    }

    async fn latest(&self, job: &JobId) -> Result<Option<Latest>, LogError> {
        let (stream, filter) = (self.stream_of(job), self.subjects.everything_of(job));
        match read::last_at_leader(&self.link, &stream, &filter).await {
            Ok(last) => Ok(last.map(|last| Latest { seq: last.seq, time: last.time })),
            Err(error) => Err(self.unread(&stream, error).await),
        }
    }

    async fn watch(
        &self,
        job: &JobId,
        after: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError> {
        let tail = Tail {
            stream: self.stream_of(job),
            filter: self.subjects.everything_of(job),
            hints: self.subjects.records_of(job),
            replicas: self.options.replicas,
        };
        let mut watched = tail::watch(Arc::clone(&self.link), tail, after).await?;
        let log = self.clone();
        Ok(Box::pin(async_stream::try_stream! {
            while let Some(watched) = watched.next().await {
                let WatchItem::Message(message) = watched? else { continue };
                if let Some(entry) = log.entry(*message).await? {
                    yield entry;
                }
            }
        }))
    }

    async fn submissions(
        &self,
        shard: Shard,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Entry>, LogError> {
        scan::submissions(self, shard, before, limit).await
    }

    async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError> {
        load::finished_among(self, jobs).await
    }

    async fn milestones(
        &self,
        shard: Shard,
        after: Passed,
    ) -> Result<Option<Milestones>, LogError> {
        milestones::read(self, shard, after).await.map(Some)
    }
}

#[async_trait]
impl Writer for NatsLog {
    async fn submit(
        &self,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Submission, LogError> {
        let door = self.subjects.fact(job, &Source::Door);
        let mut write =
            self.fact(&Source::Door, job, fact, trace).await?.guarded(door.clone(), Seq(0));
        write.limit = self.attended_limit();
        let patience = self.attended(self.options.submit_patience_ms);
        for _ in 0..SUBMIT_TRIES {
            match settle::settle(&write, patience).await? {
                CasOutcome::Stored(seq) => return Ok(Submission::Stored(seq)),
                CasOutcome::Conflict => {
                    if let Some(first) = self.first_from_door(job, &door).await? {
                        return Ok(Submission::Exists(Box::new(first)));
                    }
                    // The job was purged in between and no longer exists.
                    tokio::time::sleep(patience.wait_first).await;
                }
            }
        }
        Err(LogError::Unavailable(format!(
            "job {job} exists according to the server, but its log is empty"
        )))
    }

    async fn append_from(
        &self,
        source: &Source,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Seq, LogError> {
        let write = self.fact(source, job, fact, trace).await?;
        settle::insist(&write, self.patience(self.options.write_patience_ms)).await
    }

    async fn append_after(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        unmoved::append(self, job, fact, after, trace).await
    }

    async fn answer(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let people = self.subjects.fact(job, &Source::People);
        let mut write = self.fact(&Source::People, job, fact, trace).await?.guarded(people, after);
        write.limit = self.attended_limit();
        settle::settle(&write, self.attended(self.options.write_patience_ms)).await
    }

    async fn decide(
        &self,
        job: &JobId,
        decision: &Decision,
        after: Seq,
        disarm: Option<&TimerName>,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let record =
            Record::of_decision(decision, new_id(), &self.writer).map_err(|e| invalid(&e))?;
        let subject = self.subjects.decision(job, decision.kind(), &decision.pool());
        let write = self.write(job, subject, record, trace).await?;
        let mut write = write.guarded(self.subjects.decisions_of(job), after);
        write.limit = self.decision_limit();
        if let Some(timer) = disarm {
            let timer = self.subjects.timer(job, timer);
            write.headers.insert("Nats-Scheduler", publish::plain(&timer));
            write.headers.insert("Nats-Schedule-Next", "purge");
        }
        settle::settle(&write, self.patience(self.options.write_patience_ms)).await
    }

    async fn arm(
        &self,
        job: &JobId,
        timer: &TimerName,
        at: Timestamp,
        trace: TraceContext,
    ) -> Result<(), LogError> {
        // The server copies the payload unchanged, so it already has the form of a record.
        let fact = Fact::Fired(Fired { timer: timer.clone() });
        let record = Record::of_fact(&fact, new_id(), &self.broker).map_err(|e| invalid(&e))?;
        let target = self.subjects.fact(job, &Source::Clock);
        let mut write = self.write(job, self.subjects.timer(job, timer), record, trace).await?;
        // The server copies the headers, too.
        mark::mark(&mut write.headers, &target);
        write.headers.insert("Nats-Schedule", publish::plain(&format!("@at {at}")));
        write.headers.insert("Nats-Schedule-Target", publish::plain(&target));
        // Servers before 2.14.3 must be told that a subject holds one timer.
        write.headers.insert("Nats-Rollup", "sub");
        let patience = self.patience(self.options.write_patience_ms);
        settle::insist(&write, patience).await.map(|_| ())
    }

    async fn disarm(&self, job: &JobId, timer: &TimerName) -> Result<(), LogError> {
        // A write that makes the server remove the timer, as decisions do: no role may purge a
        // stream.
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Scheduler", publish::plain(&self.subjects.timer(job, timer)));
        headers.insert("Nats-Schedule-Next", "purge");
        headers.insert("Nats-Rollup", "sub");
        headers.insert("Nats-TTL", "1s");
        let write = Publish {
            link: &self.link,
            stream: self.stream_of(job),
            subject: self.subjects.timer(job, &self.nothing),
            headers,
            id: new_id(),
            payload: Bytes::new(),
            guard: None,
            limit: self.options.request_timeout(),
        };
        let patience = self.patience(self.options.write_patience_ms);
        settle::insist(&write, patience).await.map(|_| ())
    }
}

#[async_trait]
impl Queues for NatsLog {
    async fn facts(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Feed, LogError>>, LogError> {
        super::feed::open(self.clone(), shard).await
    }

    async fn unsettled(&self, shard: Shard) -> Result<Vec<JobId>, LogError> {
        scan::unsettled(self, shard).await
    }

    async fn commands(
        &self,
        kind: DecisionKind,
        pool: &Pool,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Delivery, LogError>>, LogError> {
        super::commands::open(self.clone(), kind, pool, slots).await
    }

    async fn depth(&self, kind: DecisionKind, pool: &Pool) -> Result<Depth, LogError> {
        // An autoscaler must see the depth before the first worker creates the queue.
        let shards = setup::commands(&self.link, &self.subjects, kind, pool, &self.options).await?;
        let name = self.subjects.commands_consumer(kind, pool);
        let each = shards
            .into_iter()
            .map(|shard| scan::consumer(&self.link, self.subjects.stream(shard), &name));
        let all = futures::future::try_join_all(each).await?;
        Ok(all.iter().fold(Depth::default(), |depth, one| Depth {
            pending: depth.pending + one.num_pending,
            in_flight: depth.in_flight + one.num_ack_pending,
        }))
    }

    async fn outbox(
        &self,
        hook: &HookName,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Posted, LogError>>, LogError> {
        outbox::open(self.clone(), hook, slots).await
    }

    async fn switch_outbox(&self, hook: &HookName, is_on: bool) -> Result<(), LogError> {
        outbox::switch(&self.link, &self.subjects, hook, is_on).await
    }

    async fn outbox_state(&self, hook: &HookName) -> Result<OutboxState, LogError> {
        outbox::state(&self.link, &self.subjects, hook).await
    }

    fn ack_wait(&self) -> Duration {
        self.options.ack_wait()
    }
}

#[async_trait]
impl Maintenance for NatsLog {
    async fn progress(&self, shard: Shard) -> Result<Vec<Progress>, LogError> {
        progress::of_shard(self, shard).await
    }

    async fn armed(&self, job: &JobId) -> Result<BTreeSet<TimerName>, LogError> {
        progress::armed(self, job).await
    }

    async fn timers(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Armed, LogError>>, LogError> {
        Ok(progress::timers(self, shard))
    }

    async fn object_refs(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Vec<ObjectRefs>, LogError>>, LogError> {
        Ok(removal::object_refs(self, shard))
    }

    async fn purge(&self, job: &JobId) -> Result<(), LogError> {
        removal::purge_job(self, job, None).await.map(|_| ())
    }

    async fn purge_until(&self, job: &JobId, until: Seq) -> Result<u64, LogError> {
        removal::purge_job(self, job, Some(until)).await
    }

    async fn load(&self, shard: Shard) -> Result<ShardLoad, LogError> {
        load::of_shard(self, shard).await
    }

    async fn storage(&self) -> Result<Storage, LogError> {
        load::storage(self).await
    }

    fn server_info(&self) -> String {
        let server = self.link.client.server_info();
        format!("nats-server {} ({})", server.version, server.server_name)
    }

    async fn ping(&self) -> Result<u64, LogError> {
        if !self.link.is_connected() {
            return Err(LogError::Unavailable("the connection to nats-server is lost".to_owned()));
        }
        self.link.ask::<Value>("INFO", &json!({})).await?;
        Ok(self.link.losses().seen())
    }

    async fn probe(&self, shard: Shard) -> Result<(), LogError> {
        probe::of_shard(&self.link, &self.subjects, shard).await
    }

    async fn check(&self) -> Result<(), LogError> {
        setup::check(&self.link, &self.subjects, &self.options).await
    }

    async fn close(&self) {
        self.link.close().await;
    }
}

fn new_id() -> String {
    uuid::Uuid::now_v7().simple().to_string()
}

fn invalid(error: &serde_json::Error) -> LogError {
    LogError::Invalid(error.to_string())
}
