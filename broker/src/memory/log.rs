//! [`Log`](crate::log::Log) in memory.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures::stream::BoxStream;
use jiff::Timestamp;
use proto::{
    decision::{Decision, DecisionKind},
    entry::Entry,
    fact::{Fact, Fired, Source},
    id::{HookName, JobId, Pool, Seq, Shard, TimerName, WorkerId},
    record::Record,
    subject::{Family, Subjects},
    trace::TraceContext,
};
use tokio::sync::Semaphore;

use super::{
    Call, Fault, MemoryObjects,
    queue::QueueKey,
    state::Shared,
    stream::{Filter, Message},
    timers::Timer,
    write::Publish,
};
use crate::backoff::{Backoff, Retryable};
use crate::log::{
    Armed, CasOutcome, Delivery, Depth, Feed, LogError, Maintenance, ObjectRefs, OutboxState,
    Posted, Progress, Queues, Reader, ShardLoad, Storage, Submission, Writer, claim,
    settle::{self, RetryBounds},
};

/// Short waits, as the broker is in this process: a write that is absent now will hardly appear.
const PATIENCE: RetryBounds = RetryBounds {
    wait_first: Duration::from_millis(1),
    wait_max: Duration::from_millis(50),
    total: Duration::from_millis(500),
    overloaded_after: None,
};

/// The log, through one connection.
#[derive(Debug, Clone)]
pub(super) struct MemoryLog {
    pub(super) shared: Arc<Shared>,
    objects: Arc<MemoryObjects>,
    writer: WorkerId,
    /// Writer of the records of fired timers.
    broker: WorkerId,
}

impl MemoryLog {
    pub(super) fn new(shared: Arc<Shared>, objects: Arc<MemoryObjects>, writer: WorkerId) -> Self {
        let broker = WorkerId::new("broker").expect("a plain word is an id");
        Self { shared, objects, writer, broker }
    }

    async fn fact(
        &self,
        call: Call,
        source: &Source,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Publish, LogError> {
        let id = new_id();
        let record = Record::of_fact(fact, &id, &self.writer).map_err(|e| invalid(&e))?;
        Ok(Publish {
            shared: Arc::clone(&self.shared),
            call,
            job: job.clone(),
            family: Family::In(source.clone()),
            id,
            payload: claim::encode(record, &*self.objects).await?,
            trace,
            guard: None,
            disarm: None,
        })
    }

    pub(super) async fn entry(&self, message: &Message) -> Result<Entry, LogError> {
        Ok(Entry {
            seq: message.seq,
            time: message.time,
            job: message.job.clone(),
            family: message.family.clone(),
            record: claim::decode(&message.payload, &*self.objects).await?,
            trace: message.trace.as_deref().and_then(|t| TraceContext::parse(t).ok()),
        })
    }

    async fn entries(&self, messages: &[Arc<Message>]) -> Result<Vec<Entry>, LogError> {
        let mut entries = Vec::with_capacity(messages.len());
        for message in messages {
            entries.push(self.entry(message).await?);
        }
        Ok(entries)
    }

    fn reach(&self, call: Call) -> Result<(), LogError> {
        self.shared.options.faults.failure(call).map_or(Ok(()), Err)
    }

    /// Sends an idempotent change that is not a record, and repeats it if the reply is lost.
    async fn change(
        &self,
        call: Call,
        apply: impl Fn(&Shared) + Send + Sync,
    ) -> Result<(), LogError> {
        let start = tokio::time::Instant::now();
        let send = || async {
            tokio::task::yield_now().await;
            match self.shared.options.faults.take(call) {
                None => {
                    apply(&self.shared);
                    Ok(())
                }
                Some(Fault::LostReply | Fault::LyingConflict) => {
                    apply(&self.shared);
                    Err((LogError::Unknown("no reply in time".into()), true))
                }
                Some(Fault::LostRequest) => {
                    Err((LogError::Unknown("no reply in time".into()), true))
                }
                Some(Fault::Unavailable) => Err((LogError::Unavailable("no leader".into()), true)),
                Some(Fault::Fails(error)) => Err((error, false)),
            }
        };
        let may_pass = |(_, may_pass): &(LogError, bool)| *may_pass;
        send.retry(Backoff::constant(PATIENCE.wait_max))
            .when(|error| may_pass(error) && start.elapsed() < PATIENCE.total)
            .await
            .map_err(|(error, _)| error)
    }

    fn first_from_the_door(&self, job: &JobId) -> Option<Arc<Message>> {
        let shard = self.shared.subjects.shard_of(job);
        let door = Filter::Door;
        self.shared.lock().stream(shard).first_after(job, door, Seq(0)).cloned()
    }

    fn records_after(&self, job: &JobId, after: Seq) -> Vec<Arc<Message>> {
        let shard = self.shared.subjects.shard_of(job);
        self.shared.lock().stream(shard).after(job, after).to_vec()
    }
}

#[async_trait]
impl Reader for MemoryLog {
    fn subjects(&self) -> &Subjects {
        &self.shared.subjects
    }

    async fn read(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError> {
        tokio::task::yield_now().await;
        self.reach(Call::Read)?;
        self.entries(&self.records_after(job, after)).await
    }

    async fn first(&self, job: &JobId) -> Result<Option<Entry>, LogError> {
        self.reach(Call::Read)?;
        match self.first_from_the_door(job) {
            Some(message) => self.entry(&message).await.map(Some),
            None => Ok(None),
        }
    }

    async fn watch(
        &self,
        job: &JobId,
        after: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError> {
        self.reach(Call::Read)?;
        let (log, job, mut after) = (self.clone(), job.clone(), after);
        let news = self.shared.lock().watcher(&job);
        Ok(Box::pin(async_stream::try_stream! {
            loop {
                // Registers before the read, so that no notification is lost.
                let changed = news.notified();
                for message in log.records_after(&job, after) {
                    after = message.seq;
                    yield log.entry(&message).await?;
                }
                changed.await;
                log.reach(Call::Read)?;
            }
        }))
    }

    async fn submissions(
        &self,
        shard: Shard,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Entry>, LogError> {
        self.reach(Call::Read)?;
        let messages = self.shared.lock().stream(shard).submissions(before, limit);
        self.entries(&messages).await
    }

    async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError> {
        self.reach(Call::Read)?;
        let ended = |job: &&JobId| {
            let records = self.records_after(job, Seq(0));
            let last = |wanted: &dyn Fn(&Family) -> bool| {
                records.iter().rfind(|m| wanted(&m.family)).map(|m| m.seq)
            };
            let finish = last(&|family| matches!(family, Family::Do(DecisionKind::Finish, _)));
            finish.is_some()
                && finish > last(&|family| *family == Family::In(Source::Door))
                && finish == last(&|family| matches!(family, Family::Do(..)))
        };
        Ok(jobs.iter().filter(ended).cloned().collect())
    }
}

#[async_trait]
impl Writer for MemoryLog {
    async fn submit(
        &self,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Submission, LogError> {
        let mut write = self.fact(Call::Submit, &Source::Door, job, fact, trace).await?;
        write.guard = Some((Filter::Door, Seq(0)));
        loop {
            match settle::settle(&write, PATIENCE).await? {
                CasOutcome::Stored(seq) => return Ok(Submission::Stored(seq)),
                CasOutcome::Conflict => {
                    self.reach(Call::Read)?;
                    if let Some(first) = self.first_from_the_door(job) {
                        return Ok(Submission::Exists(Box::new(self.entry(&first).await?)));
                    }
                    // The job was purged in between and no longer exists.
                }
            }
        }
    }

    async fn append_from(
        &self,
        source: &Source,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Seq, LogError> {
        let write = self.fact(Call::Append, source, job, fact, trace).await?;
        settle::insist(&write, PATIENCE).await
    }

    async fn append_after(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let mut write = self.fact(Call::Append, &fact.source(), job, fact, trace).await?;
        write.guard = Some((Filter::Records, after));
        settle::settle(&write, PATIENCE).await
    }

    async fn answer(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let mut write = self.fact(Call::Answer, &Source::People, job, fact, trace).await?;
        write.guard = Some((Filter::People, after));
        settle::settle(&write, PATIENCE).await
    }

    async fn decide(
        &self,
        job: &JobId,
        decision: &Decision,
        after: Seq,
        disarm: Option<&TimerName>,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let id = new_id();
        let record = Record::of_decision(decision, &id, &self.writer).map_err(|e| invalid(&e))?;
        let write = Publish {
            shared: Arc::clone(&self.shared),
            call: Call::Decide,
            job: job.clone(),
            family: Family::Do(decision.kind(), decision.pool()),
            id,
            payload: claim::encode(record, &*self.objects).await?,
            trace,
            guard: Some((Filter::Decisions, after)),
            disarm: disarm.cloned(),
        };
        settle::settle(&write, PATIENCE).await
    }

    async fn arm(
        &self,
        job: &JobId,
        timer: &TimerName,
        at: Timestamp,
        trace: TraceContext,
    ) -> Result<(), LogError> {
        let fact = Fact::Fired(Fired { timer: timer.clone() });
        let record = Record::of_fact(&fact, new_id(), &self.broker).map_err(|e| invalid(&e))?;
        let payload = claim::encode(record, &*self.objects).await?;
        if self.shared.lock().is_full() {
            return Err(LogError::Full("the limit of records is reached".into()));
        }
        let scheduled = Timer { at, payload, trace };
        self.change(Call::Timer, |shared| {
            let mut state = shared.lock();
            state.stream(shared.subjects.shard_of(job)).next_seq();
            state.timers.arm(job, timer, scheduled.clone());
        })
        .await?;
        self.shared.timers.wake(&self.shared);
        Ok(())
    }

    async fn disarm(&self, job: &JobId, timer: &TimerName) -> Result<(), LogError> {
        self.change(Call::Timer, |shared| shared.lock().timers.disarm(job, timer)).await
    }
}

#[async_trait]
impl Queues for MemoryLog {
    async fn facts(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Feed, LogError>>, LogError> {
        self.reach(Call::Read)?;
        Ok(super::feed::open(self.clone(), shard))
    }

    async fn unsettled(&self, shard: Shard) -> Result<Vec<JobId>, LogError> {
        self.reach(Call::Read)?;
        let jobs = self.shared.lock().queue(QueueKey::Facts(shard)).unsettled();
        Ok(jobs.into_iter().collect())
    }

    async fn commands(
        &self,
        kind: DecisionKind,
        pool: &Pool,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Delivery, LogError>>, LogError> {
        self.reach(Call::Read)?;
        Ok(super::commands::open(self.clone(), QueueKey::Commands(kind, pool.clone()), slots))
    }

    async fn depth(&self, kind: DecisionKind, pool: &Pool) -> Result<Depth, LogError> {
        self.reach(Call::Read)?;
        Ok(self.shared.lock().queue(QueueKey::Commands(kind, pool.clone())).depth())
    }

    async fn outbox(
        &self,
        hook: &HookName,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Posted, LogError>>, LogError> {
        self.reach(Call::Read)?;
        let key = QueueKey::Outbox(hook.clone());
        // It begins with the records that are stored from now on.
        self.shared.lock().queue(key.clone());
        Ok(super::commands::outbox(self.clone(), key, slots))
    }

    async fn switch_outbox(&self, hook: &HookName, is_on: bool) -> Result<(), LogError> {
        self.reach(Call::Read)?;
        self.shared.lock().queue(QueueKey::Outbox(hook.clone())).switch(is_on);
        Ok(())
    }

    async fn outbox_state(&self, hook: &HookName) -> Result<OutboxState, LogError> {
        self.reach(Call::Read)?;
        Ok(self.shared.lock().queue(QueueKey::Outbox(hook.clone())).outbox())
    }

    fn ack_wait(&self) -> Duration {
        self.shared.options.ack_wait
    }
}

#[async_trait]
impl Maintenance for MemoryLog {
    async fn progress(&self, shard: Shard) -> Result<Vec<Progress>, LogError> {
        self.reach(Call::Read)?;
        Ok(self.shared.lock().progress(&self.shared.subjects, shard))
    }

    async fn armed(&self, job: &JobId) -> Result<BTreeSet<TimerName>, LogError> {
        self.reach(Call::Read)?;
        Ok(self.shared.lock().timers.of(job))
    }

    async fn timers(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Armed, LogError>>, LogError> {
        self.reach(Call::Read)?;
        let all = self.shared.lock().timers.all();
        let subjects = self.shared.subjects.clone();
        let there = all.into_iter().filter(move |armed| subjects.shard_of(&armed.job) == shard);
        Ok(Box::pin(futures::stream::iter(there.map(Ok))))
    }

    async fn object_refs(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Vec<ObjectRefs>, LogError>>, LogError> {
        self.reach(Call::Read)?;
        let mut state = self.shared.lock();
        let mention =
            |message: &Arc<Message>| ObjectRefs::of(Some(message.job.clone()), &message.payload);
        let mut all: Vec<ObjectRefs> = state.stream(shard).all().map(mention).collect();
        all.extend(state.timers.mentions(&self.shared.subjects, shard));
        Ok(Box::pin(futures::stream::iter([Ok(all)])))
    }

    async fn purge(&self, job: &JobId) -> Result<(), LogError> {
        let shard = self.shared.subjects.shard_of(job);
        self.change(Call::Purge, |shared| shared.lock().purge(shard, job)).await
    }

    async fn purge_until(&self, job: &JobId, until: Seq) -> Result<u64, LogError> {
        let shard = self.shared.subjects.shard_of(job);
        let removed = AtomicU64::new(0);
        self.change(Call::Purge, |shared| {
            let count = shared.lock().purge_until(shard, job, until);
            removed.fetch_add(count, Ordering::Relaxed);
        })
        .await?;
        Ok(removed.into_inner())
    }

    async fn load(&self, shard: Shard) -> Result<ShardLoad, LogError> {
        self.reach(Call::Read)?;
        Ok(self.shared.lock().load(&self.shared.subjects, shard))
    }

    async fn storage(&self) -> Result<Storage, LogError> {
        self.reach(Call::Read)?;
        let mut state = self.shared.lock();
        let loads = self.shared.subjects.all_shards().map(|s| state.stream(s).size().1);
        Ok(Storage { used: loads.sum(), limit: None })
    }

    fn server_info(&self) -> String {
        "this process's memory".to_owned()
    }

    async fn ping(&self) -> Result<u64, LogError> {
        self.reach(Call::Read).map(|()| 0)
    }

    async fn probe(&self, _: Shard) -> Result<(), LogError> {
        Ok(())
    }

    async fn check(&self) -> Result<(), LogError> {
        Ok(())
    }

    async fn close(&self) {}
}

/// Uses a generator that a simulation can seed: two runs of one seed must write the same records.
fn new_id() -> String {
    format!("{:032x}", fastrand::u128(..))
}

fn invalid(error: &serde_json::Error) -> LogError {
    LogError::Invalid(error.to_string())
}
