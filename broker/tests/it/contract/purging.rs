//! Purges of a job's log.

use broker::{log::Depth, testing::wait::until};
use jiff::SignedDuration;
use proto::{fact::Source, id::Seq, subject::Family};

use super::{fixtures::Fixture, on_every_broker, words::*};

on_every_broker![
    a_purged_job_has_no_records_and_others_have_theirs,
    a_purged_job_can_be_submitted_again,
    what_waits_for_a_purged_job_is_gone,
    a_job_that_is_not_there_can_be_purged,
    what_is_stored_after_the_position_stays,
];

async fn a_purged_job_has_no_records_and_others_have_theirs(f: &impl Fixture) {
    let broker = f.broker().await;
    let gone = job("gone");
    let shard = broker.log.subjects().shard_of(&gone);
    let stays = job_in(shard, "stays");
    for job in [&gone, &stays] {
        submit(&broker, job).await;
        append(&broker, job, 0..3).await;
        command(&broker, job, "p", 3..5).await;
    }
    broker.log.purge(&gone).await.unwrap();
    let other = f.broker().await;
    assert!(other.log.read(&gone, Seq(0)).await.unwrap().is_empty());
    assert_eq!(other.log.read(&stays, Seq(0)).await.unwrap().len(), 6);
    let listed = other.log.submissions(shard, None, 10).await.unwrap();
    assert_eq!(listed.iter().map(|e| e.job.clone()).collect::<Vec<_>>(), [stays]);
}

async fn a_purged_job_can_be_submitted_again(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("reborn"));
    let before = submit(&broker, &job).await;
    command(&broker, &job, "p", 0..2).await;
    stored(broker.log.answer(&job, &answered("ann"), Seq(0), trace(1)).await);
    let mut watch = broker.log.watch(&job, Seq(0)).await.unwrap();
    assert_eq!(next(&mut watch).await.unwrap().seq, before);
    broker.log.purge(&job).await.unwrap();
    let reborn = submit(&broker, &job).await;
    assert!(reborn > before, "positions are not used twice");
    stored(broker.log.decide(&job, &call("p", 9), Seq(0), None, trace(1)).await);
    stored(broker.log.answer(&job, &answered("bob"), Seq(0), trace(1)).await);
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!((entries.len(), entries[0].seq), (3, reborn));
    // A watch continues with the new log, whatever it has read of the old one.
    loop {
        let entry = next(&mut watch).await.unwrap();
        if entry.seq >= reborn {
            break assert_eq!(entry.seq, reborn);
        }
    }
}

async fn what_waits_for_a_purged_job_is_gone(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("waiting"));
    submit(&broker, &job).await;
    command(&broker, &job, "p", 0..3).await;
    let soon = f.now() + SignedDuration::from_millis(900);
    broker.log.arm(&job, &timer("t"), soon, trace(1)).await.unwrap();
    let mut worker = broker.log.commands(CALL, &pool("p"), slots(1)).await.unwrap();
    let held = next_command(&mut worker).await;
    broker.log.purge(&job).await.unwrap();
    drop(held);
    // Another job's timer and command mark the time by which the purged job's would have arrived.
    let other = job_in(broker.log.subjects().shard_of(&job), "other");
    let later = f.now() + SignedDuration::from_millis(1500);
    broker.log.arm(&other, &timer("t"), later, trace(1)).await.unwrap();
    command(&broker, &other, "p", 9..10).await;
    for delivered in 1..3 {
        let taken = next_command(&mut worker).await;
        assert_eq!((number(&taken.entry), taken.delivered), (9, delivered));
        if delivered == 2 {
            taken.ack.done().await;
        }
    }
    let mut watch = broker.log.watch(&other, Seq(0)).await.unwrap();
    while next(&mut watch).await.unwrap().family != Family::In(Source::Clock) {}
    assert!(broker.log.read(&job, Seq(0)).await.unwrap().is_empty());
    let depth = async || broker.log.depth(CALL, &pool("p")).await.unwrap();
    until("an empty queue", async || depth().await == Depth::default()).await;
    let mut feed = broker.log.facts(broker.log.subjects().shard_of(&job)).await.unwrap();
    let fired = next_fact(&mut feed).await;
    assert_eq!(fired.entry.job, other);
    submit(&broker, &job).await;
    assert_eq!(fact(&next_fact(&mut feed).await.entry), submitted("a goal"));
    nothing(&mut feed).await;
    drop(fired);
}

async fn a_job_that_is_not_there_can_be_purged(f: &impl Fixture) {
    f.broker().await.log.purge(&job("nobody")).await.unwrap();
}

async fn what_is_stored_after_the_position_stays(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("partly"));
    submit(&broker, &job).await;
    append(&broker, &job, 0..3).await;
    let until = broker.log.read(&job, Seq(0)).await.unwrap().last().unwrap().seq;
    append(&broker, &job, 7..9).await;
    assert_eq!(broker.log.purge_until(&job, until).await.unwrap(), 4);
    let left = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(left.iter().map(number).collect::<Vec<_>>(), [7, 8]);
    assert!(left[0].seq > until);
    // A second purge has no effect, and a purge removes the rest once its position is known.
    assert_eq!(broker.log.purge_until(&job, until).await.unwrap(), 0);
    assert_eq!(broker.log.purge_until(&job, left[1].seq).await.unwrap(), 2);
    let reborn = submit(&broker, &job).await;
    assert_eq!(broker.log.purge_until(&job, left[1].seq).await.unwrap(), 0);
    assert_eq!(broker.log.read(&job, Seq(0)).await.unwrap()[0].seq, reborn);
}
