//! A pool on a log that the test controls step by step.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use broker::{
    Broker,
    log::{
        Ack, CasOutcome, Composed, Delivery, Depth, Feed, LogError, OutboxState, Posted, Queues,
        Reader, Submission, Writer,
    },
    memory::{self, MemoryOptions},
    testing::wait::until,
};
use futures::{StreamExt, stream::BoxStream};
use jiff::Timestamp;
use proto::{
    decision::{CallWork, Decision, DecisionKind, Finish, pools},
    entry::Entry,
    fact::{Called, Fact, Source},
    id::{Attempt, HookName, JobId, Pool, Seq, Shard, TimerName, WorkerId},
    job::Outcome,
    lang::Language,
    message::Usage,
    record::Record,
    subject::{Family, Subjects},
    tool::{Effect, ToolResult},
    trace::TraceContext,
};
use ractor::{Actor, ActorRef};
use tokio::{
    sync::{Notify, Semaphore, mpsc},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::super::*;

pub(super) const ACK_WAIT: Duration = Duration::from_secs(30);

/// An effect of the pool that the test observes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Seen {
    Stored(Box<Fact>),
    Done,
    Later(Duration),
    Working,
}

/// A log that the test writes and reads.
pub(super) struct Scripted {
    pub(super) subjects: Subjects,
    pub(super) commands: Mutex<Option<mpsc::UnboundedReceiver<Delivery>>>,
    pub(super) entries: Mutex<Vec<Entry>>,
    /// The errors of the next appends, before one succeeds.
    pub(super) refusals: Mutex<VecDeque<LogError>>,
    pub(super) cut_off: Mutex<bool>,
    /// The number of commands that were delivered.
    pub(super) taken: Arc<AtomicU64>,
    pub(super) seen: mpsc::UnboundedSender<Seen>,
}

#[async_trait]
impl Reader for Scripted {
    fn subjects(&self) -> &Subjects {
        &self.subjects
    }
    async fn read(&self, _: &JobId, after: Seq) -> Result<Vec<Entry>, LogError> {
        if *self.cut_off.lock().unwrap() {
            return Err(LogError::Unavailable("cut off".into()));
        }
        let entries = self.entries.lock().unwrap();
        Ok(entries.iter().filter(|e| e.seq > after).cloned().collect())
    }
    async fn watch(
        &self,
        _: &JobId,
        _: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError> {
        unimplemented()
    }
    async fn submissions(
        &self,
        _: Shard,
        _: Option<Seq>,
        _: usize,
    ) -> Result<Vec<Entry>, LogError> {
        unimplemented()
    }
    async fn finished_among(&self, _: &[JobId]) -> Result<BTreeSet<JobId>, LogError> {
        unimplemented()
    }
}

#[async_trait]
impl Writer for Scripted {
    async fn submit(&self, _: &JobId, _: &Fact, _: TraceContext) -> Result<Submission, LogError> {
        unimplemented()
    }
    async fn append_from(
        &self,
        _: &Source,
        _: &JobId,
        fact: &Fact,
        _: TraceContext,
    ) -> Result<Seq, LogError> {
        if let Some(refusal) = self.refusals.lock().unwrap().pop_front() {
            return Err(refusal);
        }
        self.seen.send(Seen::Stored(Box::new(fact.clone()))).unwrap();
        Ok(Seq(99))
    }
    async fn append_after(
        &self,
        _: &JobId,
        _: &Fact,
        _: Seq,
        _: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        unimplemented()
    }
    async fn answer(
        &self,
        _: &JobId,
        _: &Fact,
        _: Seq,
        _: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        unimplemented()
    }
    async fn decide(
        &self,
        _: &JobId,
        _: &Decision,
        _: Seq,
        _: Option<&TimerName>,
        _: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        unimplemented()
    }
    async fn arm(
        &self,
        _: &JobId,
        _: &TimerName,
        _: Timestamp,
        _: TraceContext,
    ) -> Result<(), LogError> {
        unimplemented()
    }
    async fn disarm(&self, _: &JobId, _: &TimerName) -> Result<(), LogError> {
        unimplemented()
    }
}

#[async_trait]
impl Queues for Scripted {
    async fn facts(
        &self,
        _: Shard,
    ) -> Result<BoxStream<'static, Result<Feed, LogError>>, LogError> {
        unimplemented()
    }
    async fn unsettled(&self, _: Shard) -> Result<Vec<JobId>, LogError> {
        unimplemented()
    }
    async fn commands(
        &self,
        _: DecisionKind,
        _: &Pool,
        slots: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Delivery, LogError>>, LogError> {
        let Some(commands) = self.commands.lock().unwrap().take() else {
            return Err(LogError::Drift("there is one stream".into()));
        };
        let from = (commands, slots, Arc::clone(&self.taken));
        let stream = futures::stream::unfold(from, |(mut commands, slots, taken)| async {
            let permit = Arc::clone(&slots).acquire_owned().await.ok()?;
            let mut delivery: Delivery = commands.recv().await?;
            delivery.slot = Some(permit);
            taken.fetch_add(1, Ordering::SeqCst);
            Some((Ok(delivery), (commands, slots, taken)))
        });
        Ok(stream.boxed())
    }
    async fn depth(&self, _: DecisionKind, _: &Pool) -> Result<Depth, LogError> {
        unimplemented()
    }
    async fn outbox(
        &self,
        _: &HookName,
        _: Arc<Semaphore>,
    ) -> Result<BoxStream<'static, Result<Posted, LogError>>, LogError> {
        unimplemented()
    }
    async fn switch_outbox(&self, _: &HookName, _: bool) -> Result<(), LogError> {
        unimplemented()
    }
    async fn outbox_state(&self, _: &HookName) -> Result<OutboxState, LogError> {
        unimplemented()
    }
    fn ack_wait(&self) -> Duration {
        ACK_WAIT
    }
}

pub(super) fn unimplemented<T>() -> Result<T, LogError> {
    Err(LogError::Drift("the worker loop has no business with this".into()))
}

#[derive(Debug)]
pub(super) struct Acks(pub(super) mpsc::UnboundedSender<Seen>);

#[async_trait]
impl Ack for Acks {
    async fn done(&self) {
        self.0.send(Seen::Done).unwrap();
    }
    async fn working(&self) {
        self.0.send(Seen::Working).unwrap();
    }
    async fn later(&self, wait: Duration) {
        self.0.send(Seen::Later(wait)).unwrap();
    }
}

/// A role whose behaviour is the name of the tool.
#[derive(Clone)]
pub(super) struct ToolRole {
    pub(super) release: Arc<Notify>,
    pub(super) running: Arc<AtomicU64>,
}

/// A call, parsed by the pool.
pub(super) struct ToolCommand(CallWork);

impl Command for ToolCommand {
    fn parse(decision: &Decision) -> Option<Self> {
        let Decision::Call(call) = decision else { return None };
        Some(Self(call.clone()))
    }
    fn failed(&self, failure: &Failure) -> Option<Fact> {
        let Fact::Called(called) = result(&self.0) else { return None };
        let result = ToolResult::failed(failure.message());
        Some(Fact::Called(Called { result, fault: Some(failure.fault()), ..called }))
    }
    fn stops_when_cut_off(&self) -> bool {
        self.0.effect != Effect::Pure
    }
}

crate::role!(ToolRole, "tools", ToolCommand, run);

impl ToolRole {
    async fn run(&self, task: Task<ToolCommand>) -> Option<Fact> {
        let ToolCommand(call) = &*task.command;
        self.running.fetch_add(1, Ordering::SeqCst);
        match call.tool.as_str() {
            "panic" => panic!("the tool broke"),
            "wait" => self.release.notified().await,
            "polite" => {
                task.canceled.cancelled().await;
            }
            "endless" => std::future::pending().await,
            _ => {}
        }
        Some(result(call))
    }
}

pub(super) fn result(call: &CallWork) -> Fact {
    Fact::Called(Called {
        work: call.work.clone(),
        attempt: call.attempt,
        result: ToolResult::ok(call.tool.as_str().into()),
        fault: None,
        outage: false,
        duration_ms: 0,
        cost: Default::default(),
        files: Vec::new(),
    })
}

pub(super) fn job() -> JobId {
    JobId::new("j").unwrap()
}

pub(super) fn call(tool: &str, effect: Effect) -> Decision {
    Decision::Call(CallWork {
        work: "g0.s1".parse().unwrap(),
        attempt: Attempt::FIRST,
        step: "s1".parse().unwrap(),
        tool: tool.parse().unwrap(),
        version: "1".into(),
        pool: pools::builtin(),
        effect,
        destructive: false,
        untrusted: false,
        args: serde_json::json!({}),
        idempotency_key: "j.g0.s1".into(),
        language: Language::En,
        approved: None,
        remembered: None,
        hosts: None,
        refused: None,
    })
}

pub(super) fn by() -> WorkerId {
    WorkerId::new("w1").unwrap()
}

pub(super) fn entry(seq: u64, family: Family, record: Record) -> Entry {
    let (seq, time) = (Seq(seq), Timestamp::UNIX_EPOCH);
    Entry { seq, time, job: job(), family, record: Ok(record), trace: None }
}

pub(super) fn command(decision: &Decision) -> Entry {
    let record = Record::of_decision(decision, "r", &by()).unwrap();
    entry(5, Family::Do(decision.kind(), decision.pool()), record)
}

pub(super) fn finish() -> Entry {
    let outcome = Outcome::Canceled { reason: None };
    let decision = Decision::Finish(Finish {
        outcome,
        usage: Usage::default(),
        generation: proto::id::Generation::FIRST,
    });
    Entry { seq: Seq(8), ..command(&decision) }
}

/// A pool on a scripted log.
pub(super) struct Stage {
    pub(super) log: Arc<Scripted>,
    pub(super) broker: Broker,
    pub(super) queue: mpsc::UnboundedSender<Delivery>,
    pub(super) acks: mpsc::UnboundedSender<Seen>,
    pub(super) seen: mpsc::UnboundedReceiver<Seen>,
    pub(super) release: Arc<Notify>,
    pub(super) running: Arc<AtomicU64>,
    calls: AtomicU64,
    pub(super) gauge: Gauge,
    pub(super) shutdown: CancellationToken,
    pub(super) actor: ActorRef<PoolMsg>,
    pub(super) pool: JoinHandle<()>,
}

pub(super) async fn stage(slots: usize) -> Stage {
    let (queue, commands) = mpsc::unbounded_channel();
    let (acks, seen) = mpsc::unbounded_channel();
    let log = Arc::new(Scripted {
        subjects: Subjects::new("cb", 8).unwrap(),
        commands: Mutex::new(Some(commands)),
        entries: Mutex::default(),
        refusals: Mutex::default(),
        cut_off: Mutex::new(false),
        taken: Arc::default(),
        seen: acks.clone(),
    });
    let mut broker = memory::start(log.subjects.clone(), MemoryOptions::default());
    broker.log = Arc::new(Composed {
        reader: Arc::clone(&log) as _,
        writer: Arc::clone(&log) as _,
        queues: Arc::clone(&log) as _,
        ..Composed::from(broker.log)
    });
    let (release, running) = (Arc::new(Notify::new()), Arc::new(AtomicU64::new(0)));
    let role = ToolRole { release: Arc::clone(&release), running: Arc::clone(&running) };
    let options = PoolOptions::new(DecisionKind::Call, pools::builtin(), slots);
    let shutdown = CancellationToken::new();
    let args = PoolArgs::new(broker.clone(), by(), role, options, shutdown.clone());
    let gauge = args.gauge.clone();
    let (actor, pool) = Actor::spawn(None, PoolActor::default(), args).await.unwrap();
    let calls = AtomicU64::new(0);
    Stage { log, broker, queue, acks, seen, release, running, calls, gauge, shutdown, actor, pool }
}

impl Stage {
    pub(super) fn give(&self, entry: Entry, delivered: u64) {
        let ack = Box::new(Acks(self.acks.clone()));
        self.queue.send(Delivery { entry, delivered, ack, slot: None }).unwrap();
    }
    /// Delivers another command.
    pub(super) fn call(&self, tool: &str, effect: Effect) {
        let seq = Seq(5 + self.calls.fetch_add(1, Ordering::Relaxed));
        self.give(Entry { seq, ..command(&call(tool, effect)) }, 1);
    }
    /// Returns the next observation other than a heartbeat.
    pub(super) async fn next(&mut self) -> Seen {
        loop {
            match self.seen.recv().await.unwrap() {
                Seen::Working => {}
                seen @ (Seen::Stored(_) | Seen::Done | Seen::Later(_)) => return seen,
            }
        }
    }
    pub(super) async fn started(&self, count: u64) {
        until("a running task", async || self.running.load(Ordering::SeqCst) >= count).await;
    }
    pub(super) async fn emptied(&self) {
        until("an idle pool", async || self.gauge.load().in_flight == 0).await;
    }
    pub(super) fn happens(&self, entry: Entry) {
        self.log.entries.lock().unwrap().push(entry);
    }
    pub(super) async fn hint(&self) {
        let subject = self.log.subjects.stop(&job());
        self.broker.bus.publish(subject, bytes::Bytes::new()).await.unwrap();
    }
    pub(super) fn stored(&self, seen: &Seen) -> Called {
        if let Seen::Stored(fact) = seen
            && let Fact::Called(called) = &**fact
        {
            return called.clone();
        }
        panic!("not a result: {seen:?}")
    }
}
