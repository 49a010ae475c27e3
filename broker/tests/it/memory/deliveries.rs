//! Deliveries and timers under injected faults.

use std::time::Duration;

use broker::{log::Feed, memory::TimerFault};
use jiff::SignedDuration;
use proto::id::{Seq, Shard};
use tokio::time::Instant;

use crate::contract::{
    fixtures::{ACK_WAIT, Fixture, InMemory},
    words::*,
};

const SHARD: Shard = Shard(1);

#[tokio::test(start_paused = true)]
async fn a_delivery_can_come_twice_and_out_of_order() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job_in(SHARD, "wild"));
    append(&broker, &job, 0..4).await;
    let mut feed = broker.log.facts(SHARD).await.unwrap();
    f.faults.reorder_deliveries(1);
    f.faults.duplicate_deliveries(1);
    let mut got = Vec::new();
    for _ in 0..5 {
        let delivery = next_fact(&mut feed).await;
        got.push((number(&delivery.entry), delivery.delivered));
        delivery.ack.done().await;
    }
    // The duplicate was in transit when the first delivery was acknowledged.
    assert_eq!(got, [(3, 1), (3, 2), (0, 1), (1, 1), (2, 1)]);
}

#[tokio::test(start_paused = true)]
async fn everything_in_hand_can_come_again_at_once() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("again"));
    command(&broker, &job, "p", 0..3).await;
    let mut worker = broker.log.commands(CALL, &pool("p"), slots(9)).await.unwrap();
    let held = [next_command(&mut worker).await, next_command(&mut worker).await];
    f.memory.redeliver_now();
    let mut got = Vec::new();
    for _ in 0..3 {
        let delivery = next_command(&mut worker).await;
        got.push((number(&delivery.entry), delivery.delivered));
    }
    assert_eq!(got, [(0, 2), (1, 2), (2, 1)]);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn an_acknowledgement_that_is_lost_brings_it_again() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job_in(SHARD, "lost"));
    append(&broker, &job, 0..1).await;
    let mut feed = broker.log.facts(SHARD).await.unwrap();
    f.faults.lose_acks(1);
    next_fact(&mut feed).await.ack.done().await;
    let again = next_fact(&mut feed).await;
    assert_eq!((number(&again.entry), again.delivered), (0, 2));
}

/// A redelivery is neither early nor late, after silence and after a postponement.
#[tokio::test(start_paused = true)]
async fn a_delivery_comes_again_at_its_time() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("timely"));
    command(&broker, &job, "p", 0..1).await;
    let mut worker = broker.log.commands(CALL, &pool("p"), slots(9)).await.unwrap();
    next_command(&mut worker).await;
    let began = Instant::now();
    let again = next_command(&mut worker).await;
    assert_eq!((began.elapsed(), again.delivered), (ACK_WAIT, 2));
    again.ack.later(ACK_WAIT / 2).await;
    let again = next_command(&mut worker).await;
    assert_eq!((began.elapsed(), again.delivered), (ACK_WAIT * 3 / 2, 3));
}

#[tokio::test(start_paused = true)]
async fn a_feed_that_loses_the_pin_is_reset_when_it_has_it_again() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job_in(SHARD, "pinned"));
    let mut one = broker.log.facts(SHARD).await.unwrap();
    let mut two = f.broker().await.log.facts(SHARD).await.unwrap();
    append(&broker, &job, 0..1).await;
    let held = next_fact(&mut one).await;
    nothing(&mut two).await;
    f.memory.unpin(SHARD);
    append(&broker, &job, 1..2).await;
    assert!(matches!(next(&mut two).await.unwrap(), Feed::Reset));
    let other = next_fact(&mut two).await;
    assert_eq!(number(&other.entry), 1);
    // A pin is not a fence: the first feed may still acknowledge its deliveries.
    held.ack.done().await;
    other.ack.done().await;
    assert!(broker.log.unsettled(SHARD).await.unwrap().is_empty());
    nothing(&mut one).await;
    f.memory.unpin(SHARD);
    append(&broker, &job, 2..3).await;
    assert!(matches!(next(&mut one).await.unwrap(), Feed::Reset));
    assert_eq!(number(&next_fact(&mut one).await.entry), 2);
}

#[tokio::test(start_paused = true)]
async fn timers_can_fire_twice_or_never() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("timers"));
    f.faults.inject_timer(TimerFault::Twice, 1);
    f.faults.inject_timer(TimerFault::Never, 1);
    for (n, name) in [(1, "twice"), (2, "never"), (3, "once")] {
        let at = f.now() + SignedDuration::from_secs(n);
        broker.log.arm(&job, &timer(name), at, trace(1)).await.unwrap();
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    let got: Vec<_> = entries.iter().map(fact).collect();
    assert_eq!(got, [fired("twice"), fired("twice"), fired("once")]);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_down_hands_nothing_out_and_fires_what_was_due_when_it_is_back() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job_in(SHARD, "down"));
    append(&broker, &job, 0..1).await;
    broker
        .log
        .arm(&job, &timer("t"), f.now() + SignedDuration::from_secs(1), trace(1))
        .await
        .unwrap();
    let mut feed = broker.log.facts(SHARD).await.unwrap();
    f.faults.set_down(true);
    tokio::time::sleep(Duration::from_secs(60)).await;
    nothing(&mut feed).await;
    f.faults.set_down(false);
    let got = next_fact(&mut feed).await;
    assert_eq!(number(&got.entry), 0);
    got.ack.done().await;
    assert_eq!(fact(&next_fact(&mut feed).await.entry), fired("t"));
}

/// A month passes on the virtual clock, and no timer is late.
#[tokio::test(start_paused = true)]
async fn a_timer_a_month_away_fires_on_time() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("month"));
    let at = f.now() + SignedDuration::from_hours(30 * 24);
    broker.log.arm(&job, &timer("t"), at, trace(1)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30 * 24 * 3600 + 1)).await;
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(entries.len(), 1);
    assert!(entries[0].time.duration_since(at) < SignedDuration::from_secs(1));
}
