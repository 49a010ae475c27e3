//! Decisions: exactly one per position, however many writers compete.

use std::collections::BTreeMap;

use broker::log::{CasOutcome, Log};
use proto::{decision::DecisionKind, id::Seq, subject::Family};

use super::{fixtures::Fixture, on_every_broker, race_on_every_broker, words::*};

on_every_broker![
    a_decision_follows_the_last_one,
    a_decision_at_a_stale_position_is_a_conflict_and_stores_nothing,
    a_decision_at_a_position_that_is_not_there_is_a_conflict,
    facts_do_not_move_the_position,
    decisions_of_other_jobs_do_not_move_the_position,
    the_same_words_are_not_the_same_write,
];
race_on_every_broker![of_many_deciders_one_stores_at_each_position];

async fn a_decision_follows_the_last_one(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("follows");
    submit(&broker, &job).await;
    let first = stored(broker.log.decide(&job, &call("a", 1), Seq(0), None, trace(5)).await);
    // A decision of another kind and pool: one filter covers all of them.
    let second = stored(broker.log.decide(&job, &finish(), first, None, trace(6)).await);
    assert!(second > first);
    let entries = f.broker().await.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(seqs(&entries)[1..], [first.0, second.0]);
    assert_eq!(entries[1].family, Family::Do(DecisionKind::Call, pool("a")));
    assert_eq!(decision(&entries[1]), call("a", 1));
    assert_eq!(decision(&entries[2]), finish());
    assert_eq!((entries[1].trace, entries[2].trace), (Some(trace(5)), Some(trace(6))));
}

async fn a_decision_at_a_stale_position_is_a_conflict_and_stores_nothing(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("stale");
    submit(&broker, &job).await;
    let first = stored(broker.log.decide(&job, &call("a", 1), Seq(0), None, trace(1)).await);
    let second = stored(broker.log.decide(&job, &call("b", 2), first, None, trace(1)).await);
    for stale in [Seq(0), first] {
        let guarded = broker.log.decide(&job, &call("a", 3), stale, None, trace(1)).await.unwrap();
        assert_eq!(guarded, CasOutcome::Conflict, "after {stale}");
    }
    let entries = broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(seqs(&entries)[1..], [first.0, second.0]);
}

async fn a_decision_at_a_position_that_is_not_there_is_a_conflict(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("beyond");
    submit(&broker, &job).await;
    let guarded = broker.log.decide(&job, &call("a", 1), Seq(999), None, trace(1)).await.unwrap();
    assert_eq!(guarded, CasOutcome::Conflict);
    assert_eq!(broker.log.read(&job, Seq(0)).await.unwrap().len(), 1);
}

async fn facts_do_not_move_the_position(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("facts");
    submit(&broker, &job).await;
    let first = stored(broker.log.decide(&job, &call("a", 1), Seq(0), None, trace(1)).await);
    append(&broker, &job, 0..3).await;
    stored(broker.log.answer(&job, &answered("ann"), Seq(0), trace(1)).await);
    stored(broker.log.decide(&job, &call("a", 2), first, None, trace(1)).await);
}

async fn decisions_of_other_jobs_do_not_move_the_position(f: &impl Fixture) {
    let broker = f.broker().await;
    let shard = broker.log.subjects().shard_of(&job("mine"));
    let (mine, other) = (job("mine"), job_in(shard, "other"));
    let first = stored(broker.log.decide(&mine, &call("a", 1), Seq(0), None, trace(1)).await);
    stored(broker.log.decide(&other, &call("a", 1), Seq(0), None, trace(1)).await);
    stored(broker.log.decide(&mine, &call("a", 2), first, None, trace(1)).await);
}

async fn the_same_words_are_not_the_same_write(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("words");
    let first = stored(broker.log.decide(&job, &call("a", 1), Seq(0), None, trace(1)).await);
    let again = broker.log.decide(&job, &call("a", 1), Seq(0), None, trace(1)).await.unwrap();
    assert_eq!(again, CasOutcome::Conflict);
    assert_eq!(seqs(&broker.log.read(&job, Seq(0)).await.unwrap()), [first.0]);
}

const DECIDERS: u64 = 8;
const POSITIONS: usize = 40;

/// Appends decisions until there are enough, each after the last one it has read.
async fn decide_on(log: &dyn Log, me: u64) -> Vec<(Seq, Seq, u64)> {
    let job = job("raced");
    let mut stored = Vec::new();
    for n in 0.. {
        let entries = log.read(&job, Seq(0)).await.unwrap();
        if entries.len() >= POSITIONS {
            break;
        }
        let after = entries.last().map_or(Seq(0), |e| e.seq);
        let tag = me * 1_000_000 + n;
        // The subjects differ, so only the common filter can enforce the order.
        let decision = call(if tag.is_multiple_of(2) { "even" } else { "odd" }, tag);
        match log.decide(&job, &decision, after, None, trace(me)).await.unwrap() {
            CasOutcome::Stored(seq) => stored.push((after, seq, tag)),
            CasOutcome::Conflict => {}
        }
    }
    stored
}

async fn of_many_deciders_one_stores_at_each_position(f: &impl Fixture) {
    let mut deciders = tokio::task::JoinSet::new();
    for me in 0..DECIDERS {
        let broker = f.broker().await;
        deciders.spawn(async move { decide_on(&*broker.log, me).await });
    }
    let mut told = BTreeMap::new();
    for (after, seq, tag) in deciders.join_all().await.into_iter().flatten() {
        assert_eq!(told.insert(after, (seq, tag)), None, "two were told they stored after {after}");
    }
    let entries = f.broker().await.log.read(&job("raced"), Seq(0)).await.unwrap();
    let mut after = Seq(0);
    for entry in &entries {
        assert_eq!(told.remove(&after), Some((entry.seq, number(entry))), "after {after}");
        after = entry.seq;
    }
    assert!(told.is_empty(), "told to be stored and not there: {told:?}");
    assert!(entries.len() >= POSITIONS);
}
