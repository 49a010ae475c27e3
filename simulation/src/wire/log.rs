//! The log behind a link, with the deceptions of planted bugs.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use broker::log::{
    Armed, CasOutcome, Delivery, Depth, Feed, Log, LogError, Maintenance, ObjectRefs, OutboxState,
    Posted, Progress, Queues, Reader, ShardLoad, Storage, Submission, Writer,
};
use futures::{StreamExt, stream::BoxStream};
use jiff::Timestamp;
use proto::{
    decision::{Decision, DecisionKind},
    entry::Entry,
    fact::{Fact, Signal, Source},
    id::{HookName, JobId, Pool, Seq, Shard, TimerName},
    subject::{Family, Subjects},
    trace::TraceContext,
};
use tokio::sync::Semaphore;

use super::{Wire, ack::WiredAck, feed, misread::Misreading};
use crate::{link::LinkState, mutation::Mutation};

pub(super) struct WiredLog {
    wire: Wire,
    inner: Arc<dyn Log>,
    /// The first read of each job, for [`Mutation::DecideBeforeReading`].
    first_read: Mutex<BTreeMap<JobId, Vec<Entry>>>,
    /// The misread records of a supervisor with a planted bug.
    misreading: Arc<Misreading>,
}

impl WiredLog {
    pub(super) fn new(wire: Wire, inner: Arc<dyn Log>) -> Self {
        Self { wire, inner, first_read: Mutex::default(), misreading: Arc::default() }
    }

    fn planted(&self, mutation: Mutation) -> bool {
        self.wire.mutation == Some(mutation)
    }

    /// Returns whether a planted bug withholds this fact from another job of the family.
    fn forgets(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Child(_) => self.planted(Mutation::ForgetParent),
            Fact::Signaled(said) => {
                let is_passed_on = said.signal == Signal::Cancel && said.parent_seq.is_some();
                is_passed_on && self.planted(Mutation::ForgetChildren)
            }
            Fact::Submitted(_)
            | Fact::Planned(_)
            | Fact::Turned(_)
            | Fact::Started(_)
            | Fact::Called(_)
            | Fact::Answered(_)
            | Fact::Fired(_) => false,
        }
    }

    /// Returns the log as a process with a planted bug sees it.
    fn lie(&self, job: &JobId, after: Seq, mut entries: Vec<Entry>) -> Vec<Entry> {
        if self.planted(Mutation::DecideBeforeReading) {
            let mut first = self.first_read.lock().unwrap_or_else(PoisonError::into_inner);
            let seen = first.entry(job.clone()).or_insert_with(|| entries.clone());
            entries = seen.iter().filter(|entry| entry.seq > after).cloned().collect();
        }
        if self.planted(Mutation::BlindIntents) {
            let of_another = |entry: &Entry| {
                entry.record.as_ref().is_ok_and(|record| {
                    record.kind == "started" && record.by != self.wire.name.as_str()
                })
            };
            entries.retain(|entry| !of_another(entry));
        }
        // Supervisors see these records, since only workers have the bug.
        if self.planted(Mutation::NeverUnwanted) && !self.wire.decides {
            let end = |entry: &Entry| matches!(entry.family, Family::Do(DecisionKind::Finish, _));
            let signal =
                |entry: &Entry| entry.record.as_ref().is_ok_and(|record| record.kind == "signaled");
            entries.retain(|entry| !end(entry) && !signal(entry));
        }
        let take = |entry| self.misreading.of(self.wire.misreads(), entry);
        entries.into_iter().map(take).collect()
    }
}

#[async_trait]
impl Reader for WiredLog {
    fn subjects(&self) -> &Subjects {
        self.inner.subjects()
    }

    async fn read(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError> {
        self.wire.link.note(|| format!("{} reads {job}", self.wire.name));
        let entries = self.wire.ask(self.inner.read(job, after)).await?;
        Ok(self.lie(job, after, entries))
    }

    async fn watch(
        &self,
        job: &JobId,
        after: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError> {
        let mut entries = self.wire.ask(self.inner.watch(job, after)).await?;
        let link = Arc::clone(&self.wire.link);
        Ok(Box::pin(async_stream::stream! {
            while let Some(entry) = entries.next().await {
                link.hold().await;
                yield entry;
            }
        }))
    }

    async fn submissions(
        &self,
        shard: Shard,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Entry>, LogError> {
        self.wire.ask(self.inner.submissions(shard, before, limit)).await
    }

    async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError> {
        self.wire.ask(self.inner.finished_among(jobs)).await
    }
}

#[async_trait]
impl Writer for WiredLog {
    async fn submit(
        &self,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Submission, LogError> {
        let (inner, job, mut fact) = (Arc::clone(&self.inner), job.clone(), fact.clone());
        if let (true, Fact::Submitted(submitted)) = (self.planted(Mutation::ShortFork), &mut fact)
            && let Some(forked) = &mut submitted.forked
            && forked.records.len() > 1
        {
            forked.records.pop();
        }
        self.wire.write(async move { inner.submit(&job, &fact, trace).await }).await
    }

    async fn append_from(
        &self,
        source: &Source,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Seq, LogError> {
        self.wire.link.note(|| format!("{} says {} to {job}", self.wire.name, fact.kind()));
        let props = self.wire.props.as_ref();
        let Some(fact) = props.map_or_else(|| Some(fact.clone()), |props| props.report(fact))
        else {
            self.wire.link.set(LinkState::Gone);
            return std::future::pending().await;
        };
        if self.wire.decides && self.forgets(&fact) {
            return Ok(Seq(0));
        }
        let (inner, job, source) = (Arc::clone(&self.inner), job.clone(), source.clone());
        self.wire.write(async move { inner.append_from(&source, &job, &fact, trace).await }).await
    }

    async fn append_after(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let (inner, job, fact) = (Arc::clone(&self.inner), job.clone(), fact.clone());
        self.wire.write(async move { inner.append_after(&job, &fact, after, trace).await }).await
    }

    async fn answer(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let (inner, job, fact) = (Arc::clone(&self.inner), job.clone(), fact.clone());
        self.wire.write(async move { inner.answer(&job, &fact, after, trace).await }).await
    }

    async fn decide(
        &self,
        job: &JobId,
        decision: &Decision,
        after: Seq,
        disarm: Option<&TimerName>,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let (inner, job, decision) = (Arc::clone(&self.inner), job.clone(), decision.clone());
        self.misreading.note(&job, &decision);
        self.wire
            .link
            .note(|| format!("{} decides {} of {job}", self.wire.name, decision.kind().as_str()));
        let (disarm, unguarded) = (disarm.cloned(), self.planted(Mutation::NoCompareAndSet));
        let call = async move {
            let after = if unguarded { last_decision(&*inner, &job).await? } else { after };
            inner.decide(&job, &decision, after, disarm.as_ref(), trace).await
        };
        self.wire.write(call).await
    }

    async fn arm(
        &self,
        job: &JobId,
        timer: &TimerName,
        at: Timestamp,
        trace: TraceContext,
    ) -> Result<(), LogError> {
        if self.planted(Mutation::DropTimers) {
            return Ok(());
        }
        let (inner, job, timer) = (Arc::clone(&self.inner), job.clone(), timer.clone());
        self.wire.write(async move { inner.arm(&job, &timer, at, trace).await }).await
    }

    async fn disarm(&self, job: &JobId, timer: &TimerName) -> Result<(), LogError> {
        let (inner, job, timer) = (Arc::clone(&self.inner), job.clone(), timer.clone());
        self.wire.write(async move { inner.disarm(&job, &timer).await }).await
    }
}

#[async_trait]
impl Queues for WiredLog {
    async fn facts(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Feed, LogError>>, LogError> {
        let facts = self.wire.ask(self.inner.facts(shard)).await?;
        let (misreading, queues) = (Arc::clone(&self.misreading), Arc::clone(&self.inner));
        Ok(feed::facts(self.wire.clone(), misreading, queues, shard, facts))
    }

    async fn unsettled(&self, shard: Shard) -> Result<Vec<JobId>, LogError> {
        self.wire.ask(self.inner.unsettled(shard)).await
    }

    async fn commands(
        &self,
        kind: DecisionKind,
        pool: &Pool,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Delivery, LogError>>, LogError> {
        let commands = self.wire.ask(self.inner.commands(kind, pool, slots)).await?;
        Ok(feed::commands(self.wire.clone(), commands))
    }

    async fn depth(&self, kind: DecisionKind, pool: &Pool) -> Result<Depth, LogError> {
        self.wire.ask(self.inner.depth(kind, pool)).await
    }

    async fn outbox(
        &self,
        hook: &HookName,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Posted, LogError>>, LogError> {
        self.wire.ask(self.inner.outbox(hook, slots)).await
    }

    async fn switch_outbox(&self, hook: &HookName, is_on: bool) -> Result<(), LogError> {
        self.wire.ask(self.inner.switch_outbox(hook, is_on)).await
    }

    async fn outbox_state(&self, hook: &HookName) -> Result<OutboxState, LogError> {
        self.wire.ask(self.inner.outbox_state(hook)).await
    }

    fn ack_wait(&self) -> Duration {
        self.inner.ack_wait()
    }
}

#[async_trait]
impl Maintenance for WiredLog {
    async fn progress(&self, shard: Shard) -> Result<Vec<Progress>, LogError> {
        self.wire.ask(self.inner.progress(shard)).await
    }

    async fn armed(&self, job: &JobId) -> Result<BTreeSet<TimerName>, LogError> {
        self.wire.ask(self.inner.armed(job)).await
    }

    async fn timers(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Armed, LogError>>, LogError> {
        self.wire.ask(self.inner.timers(shard)).await
    }

    async fn object_refs(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Vec<ObjectRefs>, LogError>>, LogError> {
        self.wire.ask(self.inner.object_refs(shard)).await
    }

    async fn purge(&self, job: &JobId) -> Result<(), LogError> {
        let (inner, job) = (Arc::clone(&self.inner), job.clone());
        self.wire.write(async move { inner.purge(&job).await }).await
    }

    async fn purge_until(&self, job: &JobId, until: Seq) -> Result<u64, LogError> {
        let (inner, job) = (Arc::clone(&self.inner), job.clone());
        self.wire.write(async move { inner.purge_until(&job, until).await }).await
    }

    async fn load(&self, shard: Shard) -> Result<ShardLoad, LogError> {
        self.wire.ask(self.inner.load(shard)).await
    }

    async fn storage(&self) -> Result<Storage, LogError> {
        self.wire.ask(self.inner.storage()).await
    }

    fn server_info(&self) -> String {
        self.inner.server_info()
    }

    async fn ping(&self) -> Result<u64, LogError> {
        self.wire.ask(self.inner.ping()).await
    }

    /// A probe decides nothing, so it takes no part in the faults of a seed.
    async fn probe(&self, shard: Shard) -> Result<(), LogError> {
        self.inner.probe(shard).await
    }

    async fn check(&self) -> Result<(), LogError> {
        self.wire.ask(self.inner.check()).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

async fn last_decision(log: &dyn Reader, job: &JobId) -> Result<Seq, LogError> {
    let entries = log.read(job, Seq(0)).await?;
    let decided = entries.iter().rev().find(|entry| matches!(entry.family, Family::Do(..)));
    Ok(decided.map_or(Seq(0), |entry| entry.seq))
}

/// Wraps a delivery so that its acknowledgement passes the link.
pub(super) fn wired(wire: &Wire, delivery: Delivery) -> Delivery {
    Delivery { ack: Box::new(WiredAck::new(wire.clone(), delivery.ack)), ..delivery }
}
