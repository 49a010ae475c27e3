//! A Callboard of a later release, on the broker of this one. It knows two kinds of record that
//! this release does not, a later version of a third kind, and new fields in every record. It
//! converts the records that it reads to the meaning of this release, as a later release would.
//!
//! It writes only what the roles of this release decide; only the format is newer.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use broker::{
    Broker,
    log::{
        CasOutcome, Composed, Delivery, Depth, Feed, Log, LogError, OutboxState, Posted, Queues,
        Reader, Submission, Writer,
    },
    testing::RawWriter,
};
use futures::{StreamExt, stream::BoxStream};
use jiff::Timestamp;
use proto::{
    decision::{Decision, DecisionKind, pools},
    entry::Entry,
    fact::{Fact, Source},
    id::{HookName, JobId, Pool, Seq, Shard, TimerName, WorkerId},
    record::Record,
    subject::{Family, Subjects},
    trace::TraceContext,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// A kind of fact of the later release, which corresponds to `called`.
pub const TALLIED: &str = "tallied";
/// A kind of decision of the later release, which corresponds to `wait`.
pub const REST: &str = "rest";
/// The later version of the record format.
pub const VERSION: u16 = 2;
/// A new field of every record, and a new field of every body.
pub const NEW_FIELDS: [&str; 2] = ["weight", "because"];

/// The form in which the later release writes the results of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// The kind of this release, with new fields.
    SameKind,
    /// A new kind, which has the later version: workers write no unknown kind of an older version.
    NewKind,
    /// A new version of the record format.
    NewVersion,
}

/// The log as the later release reads and writes it.
pub struct NewerLog {
    inner: Arc<dyn Log>,
    raw: RawWriter,
    by: WorkerId,
    results: fn(&JobId) -> Results,
}

/// Returns a broker whose log is that of the later release.
pub async fn broker(
    of: &Broker,
    url: &str,
    by: &WorkerId,
    results: fn(&JobId) -> Results,
) -> Broker {
    let raw = RawWriter::connect(url).await;
    let inner = Arc::clone(&of.log);
    let log = Arc::new(NewerLog { inner: Arc::clone(&inner), raw, by: by.clone(), results });
    let log = Composed {
        reader: Arc::clone(&log) as _,
        writer: Arc::clone(&log) as _,
        queues: log,
        ..Composed::from(inner)
    };
    Broker { log: Arc::new(log), ..of.clone() }
}

/// Converts a record of the later release to its meaning in this release.
#[must_use]
pub fn understood(mut entry: Entry) -> Entry {
    if let Ok(record) = &mut entry.record {
        record.v = record.v.min(1);
        if record.kind == TALLIED {
            "called".clone_into(&mut record.kind);
        }
        if record.kind == REST && entry.family == Family::UnknownDo(REST.to_owned()) {
            "wait".clone_into(&mut record.kind);
            entry.family = Family::Do(DecisionKind::Wait, pools::nobody());
        }
    }
    entry
}

fn understood_delivery(delivery: Delivery) -> Delivery {
    Delivery { entry: understood(delivery.entry), ..delivery }
}

/// Converts a record to the format of the later release.
fn newer(record: &Record, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = serde_json::to_value(record).expect("a record is JSON");
    let [weight, because] = NEW_FIELDS;
    value[weight] = json!(1.5);
    value["body"][because] = json!({"nobody": "asked"});
    change(&mut value);
    serde_json::to_vec(&value).expect("JSON can be written")
}

fn invalid(error: &serde_json::Error) -> LogError {
    LogError::Invalid(error.to_string())
}

fn new_id() -> String {
    client::new_id().to_string()
}

#[async_trait]
impl Reader for NewerLog {
    fn subjects(&self) -> &Subjects {
        self.inner.subjects()
    }

    async fn read(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError> {
        Ok(self.inner.read(job, after).await?.into_iter().map(understood).collect())
    }

    async fn watch(
        &self,
        job: &JobId,
        after: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError> {
        let entries = self.inner.watch(job, after).await?;
        Ok(entries.map(|entry| entry.map(understood)).boxed())
    }

    async fn submissions(
        &self,
        shard: Shard,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Entry>, LogError> {
        self.inner.submissions(shard, before, limit).await
    }

    async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError> {
        self.inner.finished_among(jobs).await
    }
}

#[async_trait]
impl Writer for NewerLog {
    async fn submit(
        &self,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Submission, LogError> {
        self.inner.submit(job, fact, trace).await
    }

    async fn append_from(
        &self,
        source: &Source,
        job: &JobId,
        fact: &Fact,
        _: TraceContext,
    ) -> Result<Seq, LogError> {
        let record = Record::of_fact(fact, new_id(), &self.by).map_err(|e| invalid(&e))?;
        let is_result = matches!(fact, Fact::Called(_));
        let payload = newer(&record, |value| match (self.results)(job) {
            Results::NewKind if is_result => {
                value["kind"] = json!(TALLIED);
                value["v"] = json!(VERSION);
            }
            Results::NewVersion if is_result => value["v"] = json!(VERSION),
            Results::SameKind | Results::NewKind | Results::NewVersion => {}
        });
        let subject = self.inner.subjects().fact(job, source);
        let stored = self.raw.store(subject, payload, None).await;
        stored.ok_or_else(|| LogError::Unknown("a write without a guard was refused".to_owned()))
    }

    async fn append_after(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        self.inner.append_after(job, fact, after, trace).await
    }

    async fn answer(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        self.inner.answer(job, fact, after, trace).await
    }

    async fn decide(
        &self,
        job: &JobId,
        decision: &Decision,
        after: Seq,
        disarm: Option<&TimerName>,
        _: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let record = Record::of_decision(decision, new_id(), &self.by).map_err(|e| invalid(&e))?;
        let (subjects, kind) = (self.inner.subjects(), decision.kind());
        let mut subject = subjects.decision(job, kind, &decision.pool());
        let payload = newer(&record, |value| {
            if kind == DecisionKind::Wait {
                value["kind"] = json!(REST);
                subject = subject.replace(".do.wait.", &format!(".do.{REST}."));
            }
        });
        let guard = subjects.decisions_of(job);
        let stored = self.raw.store(subject, payload, Some((&guard, after))).await;
        if let (Some(_), Some(timer)) = (stored, disarm) {
            self.inner.disarm(job, timer).await?;
        }
        Ok(stored.map_or(CasOutcome::Conflict, CasOutcome::Stored))
    }

    async fn arm(
        &self,
        job: &JobId,
        timer: &TimerName,
        at: Timestamp,
        trace: TraceContext,
    ) -> Result<(), LogError> {
        self.inner.arm(job, timer, at, trace).await
    }

    async fn disarm(&self, job: &JobId, timer: &TimerName) -> Result<(), LogError> {
        self.inner.disarm(job, timer).await
    }
}

#[async_trait]
impl Queues for NewerLog {
    async fn facts(
        &self,
        shard: Shard,
    ) -> Result<BoxStream<'static, Result<Feed, LogError>>, LogError> {
        let feed = self.inner.facts(shard).await?;
        let newer = |fed| match fed {
            Feed::Fact(delivery) => Feed::Fact(understood_delivery(delivery)),
            Feed::Reset => Feed::Reset,
        };
        Ok(feed.map(move |fed| fed.map(newer)).boxed())
    }

    async fn unsettled(&self, shard: Shard) -> Result<Vec<JobId>, LogError> {
        self.inner.unsettled(shard).await
    }

    async fn commands(
        &self,
        kind: DecisionKind,
        pool: &Pool,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Delivery, LogError>>, LogError> {
        let commands = self.inner.commands(kind, pool, slots).await?;
        Ok(commands.map(|delivery| delivery.map(understood_delivery)).boxed())
    }

    async fn depth(&self, kind: DecisionKind, pool: &Pool) -> Result<Depth, LogError> {
        self.inner.depth(kind, pool).await
    }

    async fn outbox(
        &self,
        hook: &HookName,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Posted, LogError>>, LogError> {
        self.inner.outbox(hook, slots).await
    }

    async fn switch_outbox(&self, hook: &HookName, is_on: bool) -> Result<(), LogError> {
        self.inner.switch_outbox(hook, is_on).await
    }

    async fn outbox_state(&self, hook: &HookName) -> Result<OutboxState, LogError> {
        self.inner.outbox_state(hook).await
    }

    fn ack_wait(&self) -> Duration {
        self.inner.ack_wait()
    }
}
