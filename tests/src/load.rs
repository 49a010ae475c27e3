//! Load: many jobs that are submitted and awaited, with checks of their logs. The test defines the
//! work of the jobs.

use std::collections::BTreeMap;

use broker::{
    Broker,
    nats::{self, NatsOptions},
    testing::wait::eventually,
};
use client::Client;
use futures::{StreamExt, stream};
use machine::check::{Checked, check};
use operator::fsck::{self, Report, Scope};
use proto::{
    door::{AgentChoice, Submit},
    entry::Entry,
    id::{AgentName, JobId, Shard, WorkerId},
    subject::Subjects,
};

use crate::{
    company::{self, Company},
    wait,
};

/// The number of jobs that are awaited concurrently.
const WATCHED: usize = 64;

/// Connects to the broker of an installation with the given numbers of shards and replicas.
///
/// # Panics
/// Panics if the broker cannot be reached.
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

/// Returns `count` job ids that begin with `name`.
///
/// # Panics
/// Panics if `name` is not valid in an id.
#[must_use]
pub fn ids(name: &str, count: usize) -> Vec<JobId> {
    (0..count).map(|n| JobId::new(format!("{name}{n}")).expect("a name and a number")).collect()
}

/// Submits jobs for an agent that asks no questions. `goal` returns the goal of each.
///
/// # Panics
/// Panics if a submission is refused.
pub async fn submit(client: &Client, ids: &[JobId], goal: impl Fn(&JobId) -> String) {
    let all = stream::iter(unattended(ids, goal)).for_each_concurrent(32, |submit| async move {
        client.submit(submit).await.expect("a submission is taken");
    });
    all.await;
}

/// Like [`submit`], with retries while the broker is away.
///
/// # Panics
/// Panics if a submission is never accepted.
pub async fn submit_patiently(client: &Client, ids: &[JobId], goal: impl Fn(&JobId) -> String) {
    let all = stream::iter(unattended(ids, goal)).for_each_concurrent(32, |submit| async move {
        eventually("a submission that is taken", async || client.submit(submit.clone()).await)
            .await;
    });
    all.await;
}

fn unattended(ids: &[JobId], goal: impl Fn(&JobId) -> String) -> Vec<Submit> {
    let submit = |id: &JobId| {
        let agent = AgentName::new("unattended").expect("a word is a name");
        let agent = Some(AgentChoice::Named(agent));
        Submit { id: Some(id.clone()), agent, ..Submit::goal(goal(id)) }
    };
    ids.iter().map(submit).collect()
}

/// Waits until jobs have ended, and checks their logs.
///
/// # Panics
/// Panics if a job never ends, with the job's view.
pub async fn ended(broker: &Broker, ids: &[JobId]) -> BTreeMap<JobId, Checked> {
    let ended = stream::iter(ids).map(|id| async move {
        // Only the last end counts, since a rollback can follow an end.
        let is_over = |entries: &[Entry]| {
            let last =
                entries.iter().rfind(|e| e.record.as_ref().is_ok_and(|r| r.kind == "finish"));
            last.map(|_| check(id, entries)).filter(|checked| checked.outcome.is_some())
        };
        (id.clone(), wait::log(broker, id, is_over).await)
    });
    ended.buffer_unordered(WATCHED).collect().await
}

/// Returns the violations of jobs that should all have completed with a clean log.
#[must_use]
pub fn unclean(ended: &BTreeMap<JobId, Checked>) -> Vec<String> {
    let unclean = ended.iter().filter(|(_, checked)| !checked.is_clean());
    unclean.map(|(id, checked)| format!("{id}: {checked:?}")).collect()
}

/// Checks every job of an installation, as `callboard fsck` does, and returns the report.
///
/// # Panics
/// Panics with the findings if a job is not where it should be, or if a log cannot be read.
pub async fn proved(broker: &Broker) -> Report {
    let report = fsck::look(broker, &Scope::default()).await.expect("an installation can be read");
    assert!(report.is_clean(), "{:#?}", report.wrong);
    eprintln!("fsck: {} jobs, each where it should be", report.jobs);
    report
}

/// Returns one job id for each shard.
///
/// # Panics
/// Panics if `name` is not valid in an id.
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

/// Waits until each job has a decision in its log, which shows that its shard has an owner.
///
/// # Panics
/// Panics if a job never has a decision.
pub async fn decided(broker: &Broker, ids: &[JobId]) {
    for id in ids {
        wait::log(broker, id, |entries| (entries.len() > 1).then_some(())).await;
    }
}
