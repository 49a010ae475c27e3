//! Writes whose replies are wrong, lost or never sent.

use broker::{
    log::{CasOutcome, LogError, Submission},
    memory::{Call, Fault},
};
use proto::id::Seq;
use rstest::rstest;

use crate::contract::{
    fixtures::{Fixture, InMemory},
    words::*,
};

#[rstest]
#[case::a_lying_conflict(Fault::LyingConflict, 1)]
#[case::lying_conflicts(Fault::LyingConflict, 3)]
#[case::a_lost_reply(Fault::LostReply, 1)]
#[case::lost_replies(Fault::LostReply, 3)]
#[case::a_lost_request(Fault::LostRequest, 1)]
#[case::lost_requests(Fault::LostRequest, 3)]
#[case::no_leader(Fault::Unavailable, 3)]
#[tokio::test(start_paused = true)]
async fn whatever_the_reply_a_write_is_stored_once_and_said_to_be(
    #[case] fault: Fault,
    #[case] times: usize,
) {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("faulty"));
    f.faults.inject(Call::Submit, &fault, times);
    let first = submit(&broker, &job).await;
    f.faults.inject(Call::Decide, &fault, times);
    let decided = stored(broker.log.decide(&job, &call("p", 1), Seq(0), None, trace(1)).await);
    f.faults.inject(Call::Answer, &fault, times);
    let answer = stored(broker.log.answer(&job, &answered("ann"), Seq(0), trace(1)).await);
    f.faults.inject(Call::Append, &fault, times);
    let fact = broker.log.append(&job, &called(1), trace(1)).await.unwrap();
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(seqs(&entries), [first.0, decided.0, answer.0, fact.0]);
}

#[rstest]
#[case(Fault::LyingConflict)]
#[case(Fault::LostReply)]
#[case(Fault::LostRequest)]
#[case(Fault::Unavailable)]
#[tokio::test(start_paused = true)]
async fn a_conflict_is_a_conflict_through_every_fault(#[case] fault: Fault) {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("taken"));
    let first = submit(&broker, &job).await;
    command(&broker, &job, "p", 0..2).await;
    f.faults.inject(Call::Decide, &fault, 2);
    let decided = broker.log.decide(&job, &call("p", 9), Seq(0), None, trace(1)).await.unwrap();
    assert_eq!(decided, CasOutcome::Conflict);
    f.faults.inject(Call::Submit, &fault, 2);
    let again = broker.log.submit(&job, &submitted("other"), trace(1)).await.unwrap();
    assert!(matches!(again, Submission::Exists(entry) if entry.seq == first));
    assert_eq!(broker.log.read(&job, Seq(0)).await.unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_cannot_be_found_out_is_unknown_and_asking_again_is_safe() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("unknown"));
    f.faults.inject(Call::Decide, &Fault::LostReply, 1);
    f.faults.inject(Call::Decide, &Fault::Unavailable, 1000);
    f.faults.inject(Call::Read, &Fault::Unavailable, 1000);
    let error = broker.log.decide(&job, &call("p", 1), Seq(0), None, trace(1)).await.unwrap_err();
    assert!(matches!(error, LogError::Unknown(_)) && error.is_transient(), "{error}");
    let f2 = InMemory::start();
    f2.faults.inject(Call::Submit, &Fault::LostReply, 1);
    f2.faults.inject(Call::Submit, &Fault::Unavailable, 20);
    f2.faults.inject(Call::Read, &Fault::Unavailable, 20);
    let broker = f2.broker().await;
    let error = broker.log.submit(&job, &submitted("a goal"), trace(1)).await.unwrap_err();
    assert!(matches!(error, LogError::Unknown(_)), "{error}");
    while f2.faults.left() > 0 {
        let _ = broker.log.submit(&job, &submitted("a goal"), trace(1)).await;
        let _ = broker.log.read(&job, Seq(0)).await;
    }
    let again = broker.log.submit(&job, &submitted("a goal"), trace(1)).await.unwrap();
    assert!(matches!(again, Submission::Exists(_)));
    assert_eq!(broker.log.read(&job, Seq(0)).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_away_is_unavailable_and_nothing_is_stored() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("away"));
    f.faults.set_down(true);
    let unavailable = |e: LogError| assert!(matches!(e, LogError::Unavailable(_)), "{e}");
    unavailable(broker.log.append(&job, &called(1), trace(1)).await.unwrap_err());
    unavailable(broker.log.submit(&job, &submitted(""), trace(1)).await.unwrap_err());
    unavailable(broker.log.read(&job, Seq(0)).await.unwrap_err());
    unavailable(broker.log.arm(&job, &timer("t"), f.now(), trace(1)).await.unwrap_err());
    assert!(broker.kv.get(broker::kv::Bucket::Tools, "k").await.is_err());
    assert!(broker.bus.publish("it.x".into(), bytes::Bytes::new()).await.is_err());
    f.faults.set_down(false);
    assert!(broker.log.read(&job, Seq(0)).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_forgetful_broker_stores_a_fact_twice_and_a_guarded_write_once() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("forgetful"));
    f.faults.set_forgetful(true);
    for call in [Call::Submit, Call::Append, Call::Decide] {
        f.faults.inject(call, &Fault::LostReply, 1);
    }
    submit(&broker, &job).await;
    append(&broker, &job, 1..2).await;
    stored(broker.log.decide(&job, &call("p", 1), Seq(0), None, trace(1)).await);
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    let ids: Vec<_> = entries.iter().map(|e| e.record.as_ref().unwrap().id.clone()).collect();
    assert_eq!(ids.len(), 4);
    assert_eq!(ids[1], ids[2], "the second copy is told by its id");
}

#[tokio::test(start_paused = true)]
async fn a_full_log_says_so_and_takes_more_when_there_is_room() {
    let f = InMemory::with_room_for(Some(2));
    let (broker, job) = (f.broker().await, job("full"));
    submit(&broker, &job).await;
    append(&broker, &job, 1..2).await;
    let full = |e: LogError| assert!(matches!(e, LogError::Full(_)) && e.is_transient(), "{e}");
    full(broker.log.append(&job, &called(2), trace(1)).await.unwrap_err());
    full(broker.log.decide(&job, &call("p", 1), Seq(0), None, trace(1)).await.unwrap_err());
    full(broker.log.arm(&job, &timer("t"), f.now(), trace(1)).await.unwrap_err());
    let other = crate::contract::words::job("other");
    full(broker.log.submit(&other, &submitted(""), trace(1)).await.unwrap_err());
    broker.log.purge(&job).await.unwrap();
    submit(&broker, &other).await;
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_cannot_pass_is_told_at_once() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("forbidden"));
    let forbidden = Fault::Fails(LogError::Forbidden("no".into()));
    f.faults.inject(Call::Decide, &forbidden, 1);
    f.faults.inject(Call::Timer, &forbidden, 1);
    let error = broker.log.decide(&job, &call("p", 1), Seq(0), None, trace(1)).await.unwrap_err();
    assert!(matches!(error, LogError::Forbidden(_)) && !error.is_transient(), "{error}");
    assert!(broker.log.arm(&job, &timer("t"), f.now(), trace(1)).await.is_err());
    assert!(broker.log.read(&job, Seq(0)).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_object_store_that_is_away_makes_no_record_unreadable() {
    let f = InMemory::start();
    let (broker, job) = (f.broker().await, job("away"));
    let large = called_with(1, &"x".repeat(100_000));
    f.faults.inject(Call::Objects, &Fault::Unavailable, 1);
    let error = broker.log.append(&job, &large, trace(1)).await.unwrap_err();
    assert!(matches!(error, LogError::Unavailable(_)), "{error}");
    broker.log.append(&job, &large, trace(1)).await.unwrap();
    f.faults.inject(Call::Objects, &Fault::Unavailable, 2);
    let error = broker.log.read(&job, Seq(0)).await.unwrap_err();
    assert!(matches!(error, LogError::Unavailable(_)), "{error}");
    let mut feed = broker.log.facts(broker.log.subjects().shard_of(&job)).await.unwrap();
    next(&mut feed).await.unwrap();
    assert!(next(&mut feed).await.is_err(), "its body could not be fetched");
    let delivery = next_fact(&mut feed).await;
    assert!(fact(&delivery.entry) == large, "and comes again");
}
