//! A cluster of three servers with three replicas of everything, one of which dies.

use std::collections::BTreeSet;

use broker::{
    Broker,
    log::{CasOutcome, Passed},
    nats::{self, NatsOptions},
    testing::{NatsCluster, wait::eventually},
};
use futures::TryStreamExt;
use proto::id::{JobId, Seq, WorkerId};

use crate::contract::{fixtures::subjects, words::*};

async fn broker(cluster: &NatsCluster) -> Broker {
    let options = NatsOptions {
        servers: cluster.urls().to_vec(),
        replicas: 3,
        connect_timeout_ms: 30_000,
        request_timeout_ms: 2_000,
        write_patience_ms: 200_000,
        ..NatsOptions::default()
    };
    nats::connect(&options, subjects(), WorkerId::new("test").unwrap()).await.unwrap()
}

async fn decide(
    broker: &Broker,
    job: &JobId,
    numbers: std::ops::Range<u64>,
    mut after: Seq,
) -> Seq {
    for n in numbers {
        match broker.log.decide(job, &call("p", n), after, None, trace(n)).await.unwrap() {
            CasOutcome::Stored(seq) => after = seq,
            CasOutcome::Conflict => panic!("nobody else decides"),
        }
    }
    after
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_goes_on_when_the_leader_of_a_stream_dies() {
    let mut cluster = NatsCluster::start().await;
    let (broker, reader) = (broker(&cluster).await, broker(&cluster).await);
    let job = job("copied");
    let shard = broker.log.subjects().shard_of(&job);
    let mut feed = broker.log.facts(shard).await.unwrap();
    let mut commands = broker.log.commands(CALL, &pool("p"), slots(8)).await.unwrap();
    submit(&broker, &job).await;
    let mut after = Seq(0);
    // An immediate read from any server: a replica that lags must not show.
    for n in 0..20 {
        after = decide(&broker, &job, n..n + 1, after).await;
        let last = reader.log.read(&job, Seq(0)).await.unwrap().last().map(|e| e.seq);
        assert_eq!(last, Some(after));
        let parts: Vec<_> = reader.log.read_in_parts(&job).try_collect().await.unwrap();
        assert_eq!(parts.concat().last().map(|e| e.seq), Some(after));
    }
    next_fact(&mut feed).await.ack.done().await;
    for n in 0..20 {
        let command = next_command(&mut commands).await;
        assert_eq!(number(&command.entry), n);
        command.ack.done().await;
    }
    // The state of a shard counts when the page has all that the leader has, however far a replica is.
    let mut found = BTreeSet::new();
    for n in 0..20 {
        let other = job_in(shard, &format!("other-{n}"));
        submit(&broker, &other).await;
        let page = reader.log.milestones(shard, Passed::default()).await.unwrap().unwrap();
        let jobs: BTreeSet<_> = page.found.into_iter().map(|milestone| milestone.job).collect();
        found.insert(other);
        assert!(page.passed.state.is_none() || jobs.is_superset(&found), "{n}: {jobs:?}");
    }
    let whole = async || {
        let page = reader.log.milestones(shard, Passed::default()).await.unwrap().unwrap();
        page.passed.state.ok_or("a replica is behind")
    };
    eventually("a state that counts", whole).await;
    let leader = cluster.leader(&broker.log.subjects().stream(shard)).await;
    cluster.kill9(leader);
    soon(decide(&broker, &job, 20..40, after)).await;
    append(&broker, &job, 40..41).await;
    let entries = reader.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(entries[1..].iter().map(number).collect::<Vec<_>>(), (0..41).collect::<Vec<_>>());
    loop {
        let fact = next_fact(&mut feed).await;
        fact.ack.done().await;
        if fact.entry.record.as_ref().unwrap().kind == "called" {
            break assert_eq!(number(&fact.entry), 40);
        }
    }
    loop {
        let command = next_command(&mut commands).await;
        command.ack.done().await;
        if number(&command.entry) == 39 {
            break;
        }
    }
}
