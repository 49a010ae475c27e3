//! Tests of a shard: the folds that it keeps, and the failure of its actor.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use broker::{
    Broker,
    log::{Composed, Feed, Log, LogError, Reader},
    memory::{self, MemoryOptions},
    testing::{
        ManualClock,
        jobs::{Jobs, binding, planned, step, submitted},
        wait::until,
    },
};
use futures::stream::BoxStream;
use jiff::Timestamp;
use proto::{
    entry::Entry,
    fact::{Fact, Signal, Signaled},
    id::{JobId, Seq, Shard, WorkerId},
    subject::Subjects,
    tool::Effect,
};
use ractor::{Actor, ActorProcessingErr};
use rstest::rstest;
use runtime::{presence::Status, registry::Registry, worker::LocalPools};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    observe::{Census, Labels},
    options::SupervisorOptions,
    shard::{ShardActor, ShardArgs, ShardError, ShardMsg, WAITING_MAX},
    supervisor::{all_read_done, reason},
};

#[tokio::test(start_paused = true)]
async fn nothing_of_a_shard_goes_on_when_its_actor_fails() {
    let shard = Shard(0);
    let broker = memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default());
    let (clock, shutdown) = (ManualClock::new(Timestamp::UNIX_EPOCH), CancellationToken::new());
    let worker = WorkerId::new("supervisor").unwrap();
    let args = ShardArgs {
        shard,
        status: Status::new(worker, Vec::new(), "0", &clock, shutdown),
        registry: Registry::open(&broker).await.unwrap(),
        broker,
        options: SupervisorOptions::default(),
        labels: Labels::default(),
        local: LocalPools::default(),
    };
    let (actor, ended) = Actor::spawn(None, ShardActor, args).await.unwrap();
    assert!(Census::is_shown(shard));
    actor.cast(ShardMsg::FeedEnded(None)).unwrap();
    ended.await.unwrap();
    // Otherwise its sweep and its figures would run beside those of the shard's next owner.
    until("the end of its figures", async || !Census::is_shown(shard)).await;
}

/// A log that counts the reads of each job.
struct Counted(Arc<dyn Log>, Mutex<BTreeMap<JobId, usize>>);

impl Counted {
    fn reads(&self, job: &JobId) -> usize {
        self.1.lock().unwrap().get(job).copied().unwrap_or_default()
    }
}

#[async_trait]
impl Reader for Counted {
    fn subjects(&self) -> &Subjects {
        self.0.subjects()
    }

    async fn read(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError> {
        *self.1.lock().unwrap().entry(job.clone()).or_default() += 1;
        self.0.read(job, after).await
    }

    async fn first(&self, job: &JobId) -> Result<Option<Entry>, LogError> {
        self.0.first(job).await
    }

    async fn watch(
        &self,
        job: &JobId,
        after: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError> {
        self.0.watch(job, after).await
    }

    async fn submissions(
        &self,
        shard: Shard,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Entry>, LogError> {
        self.0.submissions(shard, before, limit).await
    }

    async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError> {
        self.0.finished_among(jobs).await
    }
}

#[tokio::test(start_paused = true)]
async fn the_jobs_that_began_to_wait_last_are_not_read_again() {
    let shard = Shard(0);
    let (_memory, jobs) = Jobs::in_memory(1, MemoryOptions::default());
    let log = Arc::clone(&jobs.broker.log);
    let counted = Arc::new(Counted(Arc::clone(&log), Mutex::default()));
    let log = Composed { reader: Arc::clone(&counted) as Arc<dyn Reader>, ..Composed::from(log) };
    let broker = Broker { log: Arc::new(log), ..jobs.broker.clone() };
    let (clock, shutdown) = (ManualClock::new(Timestamp::UNIX_EPOCH), CancellationToken::new());
    let worker = WorkerId::new("supervisor").unwrap();
    let args = ShardArgs {
        shard,
        status: Status::new(worker, Vec::new(), "0", &clock, shutdown),
        registry: Registry::open(&broker).await.unwrap(),
        broker,
        options: SupervisorOptions::default(),
        labels: Labels::default(),
        local: LocalPools::default(),
    };
    let (actor, stopped) = Actor::spawn(None, ShardActor, args).await.unwrap();
    let mut all = Vec::new();
    // One more than the first that is not kept, so that the one before has come to rest.
    for n in 0..WAITING_MAX + 2 {
        let mut confirmed = submitted("compare the offers");
        confirmed.agent.confirm = true;
        let job = jobs.submit(&format!("j{n}"), confirmed).await;
        until("its planner", async || !jobs.positions(&job, "plan").await.is_empty()).await;
        let steps = vec![step("s1", "compare", json!({}), binding(Effect::Pure))];
        jobs.append(&job, Fact::Planned(planned(steps))).await;
        until("its question", async || !jobs.positions(&job, "ask").await.is_empty()).await;
        all.push(job);
    }
    // Returns the number of reads that the end of a waiting job takes.
    let ended = async |job: &JobId| {
        let before = counted.reads(job);
        let signal = Signal::Cancel;
        let cancel = Signaled { signal, reason: None, by: None, parent_seq: None };
        jobs.append(job, Fact::Signaled(cancel)).await;
        until("its end", async || !jobs.positions(job, "finish").await.is_empty()).await;
        counted.reads(job) - before
    };
    assert_eq!(ended(&all[0]).await, 1, "the longest at rest");
    assert_eq!(ended(&all[WAITING_MAX]).await, 0, "one of the last");
    // Another supervisor may have received facts of the jobs that are left.
    actor.cast(ShardMsg::Fed(Box::new(Feed::Reset))).unwrap();
    assert_eq!(ended(&all[WAITING_MAX - 1]).await, 1, "one of the last, after a reset");
    actor.stop(None);
    stopped.await.unwrap();
}

#[test]
fn why_a_shard_was_let_go_of_is_said_and_what_a_panic_said_is_not() {
    let canary = "canary-4711";
    let panicked: ActorProcessingErr = canary.into();
    assert!(!reason(&panicked).contains(canary));
    let away = || LogError::Unavailable("no leader".into());
    for known in [ActorProcessingErr::from(away()), ShardError::Broke(away()).into()] {
        assert!(reason(&known).contains("no leader"), "{known}");
    }
}

#[rstest]
#[case::all_of_this_release(&[("w1", "supervisor", "2"), ("w2", "tools", "2")], true)]
#[case::alone(&[("w1", "supervisor", "2")], true)]
#[case::workers_in_another_language(&[("w1", "supervisor", "2"), ("w2", "worker", "0.1")], true)]
#[case::an_older_release(&[("w1", "supervisor", "2"), ("w2", "gateway", "1")], false)]
#[case::a_newer_release(&[("w1", "supervisor", "2"), ("w2", "supervisor", "3")], false)]
#[case::does_not_hear_itself(&[("w2", "supervisor", "2")], false)]
#[case::hears_nobody(&[], false)]
fn local_work_waits_until_every_process_is_of_this_release(
    #[case] live: &[(&str, &str, &str)],
    #[case] expected: bool,
) {
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH);
    let crew = live.iter().map(|(worker, role, version)| {
        let worker = WorkerId::new(*worker).unwrap();
        let roles = vec![(*role).to_owned()];
        let status = Status::new(worker.clone(), roles, version, &clock, CancellationToken::new());
        (worker, status.presence())
    });
    let ours = WorkerId::new("w1").unwrap();
    assert_eq!(all_read_done((&ours, "2"), &crew.collect()), expected);
}
