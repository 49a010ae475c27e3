//! The progress of queues and the armed timers, from which `fsck` proves that no record was
//! forgotten.

use std::collections::BTreeSet;

use broker::{
    Broker,
    log::{Armed, Progress, Queue, Whereabouts},
    testing::wait::until,
};
use futures::TryStreamExt;
use jiff::SignedDuration;
use proto::id::{Seq, Shard};

use super::{fixtures::Fixture, on_every_broker, words::*};

on_every_broker![
    a_queue_says_how_far_it_has_come,
    a_queue_of_another_shard_says_nothing_of_this_one,
    timers_are_there_until_they_fire_or_are_canceled,
];

async fn progress(broker: &Broker, shard: u16) -> Option<Progress> {
    let all = broker.log.progress(Shard(shard)).await.unwrap();
    all.into_iter().find(|one| one.queue == Queue::Commands(CALL, pool("p")))
}

async fn a_queue_says_how_far_it_has_come(f: &impl Fixture) {
    use Whereabouts::{Delivered, Done, Queued};
    let broker = f.broker().await;
    let here = job_in(Shard(1), "moving");
    broker.log.depth(CALL, &pool("p")).await.unwrap();
    command(&broker, &here, "p", 0..4).await;
    let seqs: Vec<Seq> =
        broker.log.read(&here, Seq(0)).await.unwrap().iter().map(|entry| entry.seq).collect();
    let places = async || {
        let progress = progress(&broker, 1).await.unwrap();
        seqs.iter().map(|seq| progress.of(*seq)).collect::<Vec<_>>()
    };
    assert_eq!(places().await, [Queued; 4]);
    let mut worker = broker.log.commands(CALL, &pool("p"), slots(3)).await.unwrap();
    let first = next_command(&mut worker).await;
    let second = next_command(&mut worker).await;
    let third = next_command(&mut worker).await;
    let unacknowledged = async || progress(&broker, 1).await.unwrap().unacknowledged;
    until("three in hand", async || unacknowledged().await == 3).await;
    assert_eq!(places().await, [Delivered, Delivered, Delivered, Queued]);
    first.ack.done().await;
    third.ack.done().await;
    until("two acknowledgements", async || unacknowledged().await == 1).await;
    // One of the two after the first is unacknowledged; the broker does not say which.
    assert_eq!(places().await, [Done, Delivered, Delivered, Queued]);
    second.ack.done().await;
    until("the third", async || unacknowledged().await == 0).await;
    assert_eq!(places().await[..3], [Done; 3]);
}

async fn a_queue_of_another_shard_says_nothing_of_this_one(f: &impl Fixture) {
    let broker = f.broker().await;
    let (one, two) = (job_in(Shard(1), "here"), job_in(Shard(2), "there"));
    broker.log.depth(CALL, &pool("p")).await.unwrap();
    command(&broker, &one, "p", 0..1).await;
    command(&broker, &two, "p", 0..3).await;
    let mut worker = broker.log.commands(CALL, &pool("p"), slots(32)).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(next_command(&mut worker).await);
    }
    let unacknowledged = async |shard| progress(&broker, shard).await.unwrap().unacknowledged;
    until("all in hand", async || unacknowledged(2).await == 3).await;
    assert_eq!(unacknowledged(1).await, 1);
}

async fn timers_are_there_until_they_fire_or_are_canceled(f: &impl Fixture) {
    let broker = f.broker().await;
    let jobs = [job_in(Shard(1), "one"), job_in(Shard(1), "two"), job_in(Shard(2), "far")];
    let at = |ms| f.now() + SignedDuration::from_millis(ms);
    for job in &jobs {
        submit(&broker, job).await;
        for (name, ms) in [("soon", 500), ("late", 3_600_000), ("never", 3_600_000)] {
            broker.log.arm(job, &timer(name), at(ms), trace(9)).await.unwrap();
        }
        broker.log.disarm(job, &timer("never")).await.unwrap();
    }
    let late = BTreeSet::from([timer("late")]);
    for job in &jobs {
        until("the timer that fires", async || broker.log.armed(job).await.unwrap() == late).await;
    }
    assert!(broker.log.armed(&job_in(Shard(1), "nobody")).await.unwrap().is_empty());
    let all: BTreeSet<Armed> =
        broker.log.timers(Shard(1)).await.unwrap().try_collect().await.unwrap();
    let expected = jobs[..2].iter().map(|job| Armed { job: job.clone(), timer: timer("late") });
    assert_eq!(all, expected.collect());
}
