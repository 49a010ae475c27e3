//! The size of shards and queues, and the listing of ended jobs.

use std::collections::BTreeSet;

use broker::{
    log::{Depth, QueueLoad},
    testing::wait::until,
};
use proto::{fact::Signal, id::Shard};

use super::{fixtures::Fixture, on_every_broker, words::*};

on_every_broker![
    a_shard_says_what_it_holds_and_what_waits_in_it,
    the_oldest_command_is_the_one_that_is_not_done,
    jobs_that_ended_are_told_from_others,
    storage_grows_with_what_is_stored,
];

async fn a_shard_says_what_it_holds_and_what_waits_in_it(f: &impl Fixture) {
    let broker = f.broker().await;
    let (one, two) = (job_in(Shard(1), "here"), job_in(Shard(2), "there"));
    // A request for the depth creates the queue, as a worker does.
    broker.log.depth(CALL, &pool("p")).await.unwrap();
    command(&broker, &one, "p", 0..3).await;
    append(&broker, &one, 3..5).await;
    command(&broker, &two, "p", 0..1).await;
    let load = broker.log.load(Shard(1)).await.unwrap();
    let depths: Vec<_> = load.queues.iter().map(|q| (q.kind, q.pool.clone(), q.depth)).collect();
    assert_eq!(depths, [(CALL, pool("p"), Depth { pending: 3, in_flight: 0 })]);
    assert_eq!(load.records, 5);
    assert!(load.bytes > 100, "{}", load.bytes);
    assert_eq!(broker.log.load(Shard(3)).await.unwrap().records, 0);
}

async fn the_oldest_command_is_the_one_that_is_not_done(f: &impl Fixture) {
    let broker = f.broker().await;
    let here = job_in(Shard(1), "aging");
    let mut worker = broker.log.commands(CALL, &pool("p"), slots(2)).await.unwrap();
    command(&broker, &here, "p", 0..3).await;
    let times: Vec<_> = broker.log.read(&here, proto::id::Seq(0)).await.unwrap();
    let oldest = async || {
        let load = broker.log.load(Shard(1)).await.unwrap();
        load.queues.into_iter().map(|QueueLoad { oldest, .. }| oldest).next().flatten()
    };
    let first = next_command(&mut worker).await;
    assert_eq!(oldest().await, Some(times[0].time), "in hand is not done");
    first.ack.done().await;
    drop(first);
    let second = next_command(&mut worker).await;
    let is_oldest = async |time| oldest().await == time;
    until("the second", async || is_oldest(Some(times[1].time)).await).await;
    second.ack.done().await;
    drop(second);
    next_command(&mut worker).await.ack.done().await;
    until("none", async || is_oldest(None).await).await;
}

async fn jobs_that_ended_are_told_from_others(f: &impl Fixture) {
    let broker = f.broker().await;
    let jobs: Vec<_> = ["a", "b", "c"].map(|name| job_in(Shard(1), name)).into();
    for job in &jobs {
        submit(&broker, job).await;
        command(&broker, job, "p", 0..2).await;
    }
    let after = last_decision(&broker, &jobs[1]).await;
    stored(broker.log.decide(&jobs[1], &finish(), after, None, trace(1)).await);
    assert_eq!(broker.log.finished_among(&jobs).await.unwrap(), BTreeSet::from([jobs[1].clone()]));
    // A late result changes nothing; a fact from the door may have rolled the job back.
    append(&broker, &jobs[1], 7..8).await;
    assert_eq!(broker.log.finished_among(&jobs).await.unwrap(), BTreeSet::from([jobs[1].clone()]));
    broker.log.append(&jobs[1], &signaled(Signal::Pause), trace(2)).await.unwrap();
    assert!(broker.log.finished_among(&jobs).await.unwrap().is_empty());
    // An end stored without knowledge of that fact does not count once another decision follows.
    let after = last_decision(&broker, &jobs[1]).await;
    stored(broker.log.decide(&jobs[1], &finish(), after, None, trace(3)).await);
    assert_eq!(broker.log.finished_among(&jobs).await.unwrap(), BTreeSet::from([jobs[1].clone()]));
    command(&broker, &jobs[1], "p", 8..9).await;
    assert!(broker.log.finished_among(&jobs).await.unwrap().is_empty());
    assert!(broker.log.finished_among(&[]).await.unwrap().is_empty());
    assert!(broker.log.finished_among(&[job_in(Shard(1), "never")]).await.unwrap().is_empty());
}

async fn storage_grows_with_what_is_stored(f: &impl Fixture) {
    let broker = f.broker().await;
    let before = broker.log.storage().await.unwrap();
    append(&broker, &job("big"), 0..5).await;
    let after = broker.log.storage().await.unwrap();
    assert!(after.used > before.used + 100, "{before:?} {after:?}");
}
