//! Many jobs, and what became of them: submitted, waited for, and their logs checked. What the jobs
//! do is the test's own business.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use broker::{
    Broker,
    nats::{self, NatsOptions},
};
use client::Client;
use futures::{StreamExt, stream};
use machine::check::{Checked, check};
use operator::fsck::{self, Report, Scope};
use proto::{
    door::{AgentChoice, Submit},
    id::{AgentName, JobId, Seq, Shard, WorkerId},
    subject::Subjects,
};

use crate::company::{self, Company};

/// How often something that is waited for is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// Connects as the processes of a company do, to an installation that has these shards and replicas.
///
/// # Panics
/// When there is no broker.
pub async fn connect<N: company::Broker>(
    company: &Company<N>,
    shards: u16,
    replicas: u8,
) -> Broker {
    let options = NatsOptions {
        servers: company.nats.address().split(',').map(str::to_owned).collect(),
        replicas,
        connect_timeout_ms: 30_000,
        ..NatsOptions::default()
    };
    let subjects = Subjects::new("cb", shards).expect("a prefix and some shards");
    let test = WorkerId::new("test").expect("a word is an id");
    nats::connect(&options, subjects, test).await.expect("a company has a broker")
}

/// Ids for some jobs.
///
/// # Panics
/// When the name is no id.
#[must_use]
pub fn ids(name: &str, count: usize) -> Vec<JobId> {
    (0..count).map(|n| JobId::new(format!("{name}{n}")).expect("a name and a number")).collect()
}

/// Submits jobs for an agent that asks nobody; each has the goal that `goal` gives it.
///
/// # Panics
/// When one is refused.
pub async fn submit(client: &Client, ids: &[JobId], goal: impl Fn(&JobId) -> String) {
    let submits = ids.iter().map(|id| {
        let agent = AgentName::new("unattended").expect("a word is a name");
        let agent = Some(AgentChoice::Named(agent));
        Submit { id: Some(id.clone()), agent, ..Submit::goal(goal(id)) }
    });
    let all = stream::iter(submits).for_each_concurrent(32, |submit| async move {
        client.submit(submit).await.expect("a submission is taken");
    });
    all.await;
}

/// Waits until jobs have ended, and checks their logs.
///
/// # Panics
/// When one has not ended in time; it says where that one stands.
#[expect(clippy::panic, reason = "a test that waits in vain fails, and says where the job stands")]
pub async fn ended(broker: &Broker, ids: &[JobId], patience: Duration) -> BTreeMap<JobId, Checked> {
    let began = Instant::now();
    let mut ended = BTreeMap::new();
    loop {
        for id in ids.iter().filter(|id| !ended.contains_key(*id)).collect::<Vec<_>>() {
            // The broker may be away for the moment.
            let Ok(entries) = broker.log.read(id, Seq(0)).await else { continue };
            let checked = check(id, &entries);
            if checked.outcome.is_some() {
                ended.insert(id.clone(), checked);
            } else if began.elapsed() > patience {
                let view = machine::replay(id, &entries).view();
                panic!(
                    "{} of {} jobs have not ended, such as {checked:#?}: {view:#?}",
                    ids.len() - ended.len(),
                    ids.len()
                );
            }
        }
        if ended.len() == ids.len() {
            return ended;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// What is wrong with jobs that should all have completed with a clean log.
#[must_use]
pub fn unclean(ended: &BTreeMap<JobId, Checked>) -> Vec<String> {
    let unclean = ended.iter().filter(|(_, checked)| !checked.is_clean());
    unclean.map(|(id, checked)| format!("{id}: {checked:?}")).collect()
}

/// Proves of every job of an installation that it is where it should be, as `callboard fsck` does.
///
/// # Panics
/// When one is not, with what is wrong; or when something cannot be read.
pub async fn proved(broker: &Broker) -> Report {
    let report = fsck::look(broker, &Scope::default()).await.expect("an installation can be read");
    assert!(report.is_clean(), "{:#?}", report.wrong);
    eprintln!("fsck: {} jobs, each where it should be", report.jobs);
    report
}

/// One id in each shard.
///
/// # Panics
/// When the name is no id.
#[must_use]
pub fn one_a_shard(subjects: &Subjects, name: &str) -> Vec<JobId> {
    let mut found: BTreeMap<Shard, JobId> = BTreeMap::new();
    for n in 0u32.. {
        let id = JobId::new(format!("{name}{n}")).expect("a name and a number");
        found.entry(subjects.shard_of(&id)).or_insert(id);
        if found.len() == usize::from(subjects.shards()) {
            break;
        }
    }
    found.into_values().collect()
}

/// Waits until a job has a decision in its log: its shard is looked after.
///
/// # Panics
/// When it takes longer than a minute.
pub async fn decided(broker: &Broker, ids: &[JobId]) -> Duration {
    let began = Instant::now();
    for id in ids {
        loop {
            let read = broker.log.read(id, Seq(0)).await;
            if read.is_ok_and(|entries| entries.len() > 1) {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "nobody looks after {id}");
            tokio::time::sleep(LOOK).await;
        }
    }
    began.elapsed()
}
