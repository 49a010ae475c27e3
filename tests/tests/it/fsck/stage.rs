//! Jobs that the test moves by hand, record by record, so that it can leave out each record.

use std::{
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};

use broker::{
    log::{Delivery, Feed},
    memory::{MemoryOptions, VirtualClock},
    testing::{
        RawWriter, jobs,
        wait::{soon, until},
    },
};
use callboard_tests::{
    company::Company,
    drive::{Timers, drive},
    load,
};
use futures::StreamExt;
use operator::fsck::{self, JobCondition, Report, Scope};
use proto::{
    agent::Agent,
    decision::{DecisionKind, pools},
    entry::Entry,
    fact::{Called, Fact, PlanReply, Submitted},
    id::{Attempt, JobId, Pool, Seq, Shard},
    subject::Family,
    tool::{Binding, Effect},
};
use serde_json::json;
use tokio::sync::Semaphore;

/// The number of shards: one for each job that needs queues of its own.
const SHARDS: u16 = 12;

/// An installation without processes, whose jobs the test moves by hand.
pub(super) struct Jobs {
    pub(super) by_hand: jobs::Jobs,
    /// Deliveries that a worker is supposed to hold.
    pub(super) held: Vec<Delivery>,
    pub(super) next: u16,
}

/// The same on a nats-server, with access to it.
pub(super) struct Stage {
    pub(super) company: Company,
    pub(super) raw: RawWriter,
    jobs: Jobs,
}

impl Deref for Stage {
    type Target = Jobs;

    fn deref(&self) -> &Jobs {
        &self.jobs
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut Jobs {
        &mut self.jobs
    }
}

impl Stage {
    pub(super) async fn new() -> Self {
        let mut company =
            Company::start("rules: [ { name: none, when: { any: 'x' }, reply: { text: x } } ]")
                .await;
        company.set("NATS__SHARDS", &SHARDS.to_string());
        company.set("NATS__ACK_WAIT_MS", "30000");
        company.set("NATS__FACTS_ACK_WAIT_MS", "30000");
        company.set("NATS__PIN_TIMEOUT_MS", "2000");
        let broker = load::connect(&company, SHARDS, 1).await;
        let raw = RawWriter::connect(company.nats.url()).await;
        Self { company, raw, jobs: Jobs::on(jobs::Jobs { broker }).await }
    }
}

impl Jobs {
    /// Creates an installation on the in-memory broker, whose clock advances only while every task
    /// waits.
    pub(super) async fn in_memory() -> Self {
        let clock = Arc::new(VirtualClock::new());
        let options = MemoryOptions { clock, ..MemoryOptions::default() };
        Self::on(jobs::Jobs::in_memory(SHARDS, options).1).await
    }

    async fn on(by_hand: jobs::Jobs) -> Self {
        let broker = &by_hand.broker;
        for (kind, pool) in [
            (DecisionKind::Plan, pools::models()),
            (DecisionKind::Call, pools::builtin()),
            (DecisionKind::Ask, pools::people()),
            (DecisionKind::Note, pools::people()),
        ] {
            broker.log.depth(kind, &pool).await.unwrap();
        }
        Self { by_hand, held: Vec::new(), next: 0 }
    }

    /// Submits a job in a shard without other jobs.
    pub(super) async fn job(&mut self, name: &str, change: impl FnOnce(&mut Agent)) -> JobId {
        let shard = Shard(self.next);
        self.next += 1;
        self.job_in(shard, name, change).await
    }

    pub(super) async fn job_in(
        &self,
        shard: Shard,
        name: &str,
        change: impl FnOnce(&mut Agent),
    ) -> JobId {
        let subjects = self.by_hand.broker.log.subjects();
        let names = (0u32..).map(|n| JobId::new(format!("{name}-{n}")).unwrap());
        let id = names.into_iter().find(|id| subjects.shard_of(id) == shard).unwrap();
        let mut agent = Agent { confirm: false, ..Agent::default() };
        change(&mut agent);
        self.by_hand.submit(id.as_str(), Submitted { agent, ..jobs::submitted("g") }).await
    }

    /// Stores every decision that should follow.
    pub(super) async fn drive(&self, job: &JobId, timers: Timers) {
        drive(&self.by_hand, job, timers).await;
    }

    /// Stores a plan with one call of a tool of this pool.
    pub(super) async fn plan(&self, job: &JobId, pool: &str) {
        let binding = Binding { pool: Pool::new(pool).unwrap(), ..jobs::binding(Effect::Pure) };
        let step = jobs::step("a", "echo", json!({}), binding);
        self.by_hand.append(job, Fact::Planned(jobs::planned(vec![step]))).await;
    }

    pub(super) async fn planned(&self, job: &JobId, reply: PlanReply) {
        // Built from JSON, so that fields without a meaning here can be omitted.
        let planned = json!({"work": "g0.p1", "attempt": 1, "reply": reply});
        let fact = Fact::Planned(serde_json::from_value(planned).unwrap());
        self.by_hand.append(job, fact).await;
    }

    pub(super) async fn called(&self, job: &JobId, attempt: u32) {
        let called = Called { attempt: Attempt(attempt), ..jobs::called("g0.r0.a") };
        self.by_hand.append(job, Fact::Called(called)).await;
    }

    /// Takes the next commands. Returns those of these jobs, and gives the others back.
    pub(super) async fn take(
        &self,
        kind: DecisionKind,
        pool: &Pool,
        jobs: &[&JobId],
    ) -> Vec<Delivery> {
        let slots = Arc::new(Semaphore::new(256));
        let mut commands = self.by_hand.broker.log.commands(kind, pool, slots).await.unwrap();
        let (mut taken, mut others) = (Vec::new(), Vec::new());
        while taken.len() < jobs.len() {
            let delivery: Delivery = soon("a command", commands.next()).await.unwrap().unwrap();
            if jobs.contains(&&delivery.entry.job) {
                taken.push(delivery);
            } else {
                others.push(delivery);
            }
        }
        for other in others {
            other.ack.later(Duration::ZERO).await;
        }
        taken
    }

    /// Acknowledges all facts of a job's shard, without the decisions that should follow.
    pub(super) async fn forget_facts(&self, job: &JobId) {
        let shard = self.by_hand.broker.log.subjects().shard_of(job);
        let mut facts = self.by_hand.broker.log.facts(shard).await.unwrap();
        let entries = self.by_hand.broker.log.read(job, Seq(0)).await.unwrap();
        let is_fact = |entry: &&Entry| matches!(entry.family, Family::In(_));
        let last = entries.iter().rev().find(is_fact).unwrap().seq;
        loop {
            if let Feed::Fact(delivery) = facts.next().await.unwrap().unwrap() {
                delivery.ack.done().await;
                if delivery.entry.seq >= last {
                    break;
                }
            }
        }
        // An acknowledgement has no reply.
        let progress = async || {
            let all = self.by_hand.broker.log.progress(shard).await.unwrap();
            all.into_iter().find(|one| one.queue == broker::log::Queue::Facts).unwrap()
        };
        until("the acknowledgement", async || progress().await.done >= last).await;
    }

    pub(super) async fn look(&self, jobs: &[&JobId]) -> Report {
        let jobs = jobs.iter().map(|job| (*job).clone()).collect();
        let scope = Scope { settle: Duration::from_millis(300), ..Scope::of(jobs) };
        fsck::look(&self.by_hand.broker, &scope).await.unwrap()
    }

    /// Returns the findings about some jobs as `word: text`.
    pub(super) async fn found(&self, jobs: &[&JobId]) -> Vec<String> {
        let report = self.look(jobs).await;
        let all = report.wrong.iter().flat_map(|wrong| &wrong.findings);
        all.map(|found| format!("{}: {found}", found.word())).collect()
    }

    pub(super) async fn stands(&self, job: &JobId, standing: JobCondition) {
        let report = self.look(&[job]).await;
        assert!(report.is_clean(), "{job}: {:?}", report.wrong);
        assert_eq!(report.standing(standing), 1, "{job}: {report:?}");
    }
}
