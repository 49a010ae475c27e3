//! Timers: kept by the broker, never early, never lost.

use std::{collections::BTreeSet, time::Duration};

use broker::{Broker, log::CasOutcome};
use jiff::{SignedDuration, Timestamp};
use proto::{
    entry::Entry,
    fact::{Fact, Source},
    id::{JobId, Seq},
    subject::Family,
};

use super::{fixtures::Fixture, on_every_broker, words::*};

on_every_broker![
    a_timer_fires_at_its_time_and_not_before,
    a_timer_of_the_past_fires_now,
    a_timer_of_the_same_name_is_replaced,
    a_timer_that_is_disarmed_does_not_fire,
    a_timer_that_is_not_there_can_be_disarmed,
    a_decision_disarms_in_the_same_write,
    a_conflict_leaves_the_timer_armed,
    a_timer_that_fired_can_be_disarmed_and_armed_again,
    timers_of_other_jobs_and_names_go_on,
    many_timers_that_are_due_at_once_all_fire,
    what_fired_is_handed_to_the_supervisor,
];

/// Delay of timers in tests: short, but long enough to act before it ends.
const NEAR: Duration = Duration::from_millis(1500);
/// A later time: brokers check timers every quarter of a second.
const LATER: Duration = Duration::from_millis(2100);

fn after(f: &impl Fixture, wait: Duration) -> Timestamp {
    f.now() + SignedDuration::try_from(wait).unwrap()
}

async fn arm(broker: &Broker, job: &JobId, name: &str, at: Timestamp) {
    broker.log.arm(job, &timer(name), at, trace(9)).await.unwrap();
}

/// The timers that have fired for a job.
async fn fired_of(broker: &Broker, job: &JobId) -> Vec<Entry> {
    let mut entries = broker.log.read(job, Seq(0)).await.unwrap();
    entries.retain(|e| e.family == Family::In(Source::Clock));
    entries
}

/// The first record of a job that the clock wrote.
async fn first_fired(broker: &Broker, job: &JobId) -> Entry {
    let mut watch = broker.log.watch(job, Seq(0)).await.unwrap();
    loop {
        let entry = next(&mut watch).await.unwrap();
        if entry.family == Family::In(Source::Clock) {
            return entry;
        }
    }
}

async fn a_timer_fires_at_its_time_and_not_before(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("timely"));
    submit(&broker, &job).await;
    let at = after(f, NEAR);
    arm(&broker, &job, "t", at).await;
    assert!(fired_of(&broker, &job).await.is_empty());
    let entry = first_fired(&f.broker().await, &job).await;
    assert!(entry.time >= at, "{} is before {at}", entry.time);
    assert_eq!((fact(&entry), entry.trace), (fired("t"), Some(trace(9))));
    assert_eq!(entry.record.unwrap().kind, "fired");
}

async fn a_timer_of_the_past_fires_now(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("past"));
    arm(&broker, &job, "t", f.now() - SignedDuration::from_hours(3)).await;
    assert_eq!(fact(&first_fired(&broker, &job).await), fired("t"));
}

async fn a_timer_of_the_same_name_is_replaced(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("replaced"));
    arm(&broker, &job, "t", after(f, NEAR)).await;
    let at = after(f, LATER);
    arm(&broker, &job, "t", at).await;
    let entry = first_fired(&broker, &job).await;
    assert!(entry.time >= at, "the timer that was replaced fired");
}

async fn a_timer_that_is_disarmed_does_not_fire(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("disarmed"));
    arm(&broker, &job, "t", after(f, NEAR)).await;
    f.broker().await.log.disarm(&job, &timer("t")).await.unwrap();
    arm(&broker, &job, "u", after(f, LATER)).await;
    assert_eq!(fact(&first_fired(&broker, &job).await), fired("u"));
}

async fn a_timer_that_is_not_there_can_be_disarmed(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("absent"));
    broker.log.disarm(&job, &timer("t")).await.unwrap();
    let decided = broker.log.decide(&job, &call("p", 1), Seq(0), Some(&timer("t")), trace(1)).await;
    stored(decided);
}

async fn a_decision_disarms_in_the_same_write(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("decided"));
    arm(&broker, &job, "t", after(f, NEAR)).await;
    arm(&broker, &job, "u", after(f, LATER)).await;
    let decided = broker.log.decide(&job, &call("p", 1), Seq(0), Some(&timer("t")), trace(1)).await;
    stored(decided);
    assert_eq!(fact(&first_fired(&broker, &job).await), fired("u"));
}

async fn a_conflict_leaves_the_timer_armed(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("conflict"));
    command(&broker, &job, "p", 0..1).await;
    arm(&broker, &job, "t", after(f, NEAR)).await;
    let stale = broker.log.decide(&job, &call("p", 1), Seq(0), Some(&timer("t")), trace(1)).await;
    assert_eq!(stale.unwrap(), CasOutcome::Conflict);
    assert_eq!(fact(&first_fired(&broker, &job).await), fired("t"));
}

async fn a_timer_that_fired_can_be_disarmed_and_armed_again(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("again"));
    arm(&broker, &job, "t", f.now()).await;
    first_fired(&broker, &job).await;
    broker.log.disarm(&job, &timer("t")).await.unwrap();
    let decided = broker.log.decide(&job, &call("p", 1), Seq(0), Some(&timer("t")), trace(1)).await;
    let after = stored(decided);
    arm(&broker, &job, "t", f.now()).await;
    let mut watch = broker.log.watch(&job, after).await.unwrap();
    assert_eq!(fact(&next(&mut watch).await.unwrap()), fired("t"));
}

async fn timers_of_other_jobs_and_names_go_on(f: &impl Fixture) {
    let broker = f.broker().await;
    let (one, two) = (job("one"), job("two"));
    for (job, name) in [(&one, "t"), (&one, "u"), (&two, "t")] {
        arm(&broker, job, name, after(f, NEAR)).await;
    }
    broker.log.disarm(&one, &timer("t")).await.unwrap();
    assert_eq!(fact(&first_fired(&broker, &one).await), fired("u"));
    assert_eq!(fact(&first_fired(&broker, &two).await), fired("t"));
    assert_eq!(fired_of(&broker, &one).await.len(), 1);
}

async fn many_timers_that_are_due_at_once_all_fire(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("many"));
    let at = after(f, NEAR);
    let mut left = BTreeSet::new();
    for n in 0..200 {
        let name = format!("t{n}");
        arm(&broker, &job, &name, at).await;
        left.insert(name);
    }
    let mut watch = broker.log.watch(&job, Seq(0)).await.unwrap();
    while !left.is_empty() {
        let entry = next(&mut watch).await.unwrap();
        let Fact::Fired(fired) = fact(&entry) else { panic!("{entry:?}") };
        assert!(entry.time >= at);
        left.remove(fired.timer.as_str());
    }
}

async fn what_fired_is_handed_to_the_supervisor(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("fed"));
    let mut feed = broker.log.facts(broker.log.subjects().shard_of(&job)).await.unwrap();
    arm(&broker, &job, "t", after(f, NEAR)).await;
    let delivery = next_fact(&mut feed).await;
    assert_eq!((fact(&delivery.entry), &delivery.entry.job), (fired("t"), &job));
}
