//! Killed servers, and owners that die without notice.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use broker::{
    Broker,
    log::{CasOutcome, Feed, LogError},
    nats::{self, NatsOptions},
    testing::wait::until,
};
use futures::StreamExt;
use proto::id::{JobId, Seq, Shard, WorkerId};
use tokio::sync::watch;

use crate::contract::{
    fixtures::{Fixture, OnNats, subjects},
    words::*,
};

/// Appends facts and decisions until it is stopped; reports the number of acknowledged records
/// meanwhile, and returns their positions.
async fn write_until(
    broker: Broker,
    job: JobId,
    stop: Arc<AtomicBool>,
    count: watch::Sender<usize>,
) -> Vec<u64> {
    let (mut acknowledged, mut after) = (Vec::new(), Seq(0));
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        match broker.log.append(&job, &called(n), trace(n)).await {
            Ok(seq) => acknowledged.push(seq.0),
            Err(error) => assert!(error.is_transient(), "{error}"),
        }
        match broker.log.decide(&job, &call("p", n), after, None, trace(n)).await {
            Ok(CasOutcome::Stored(seq)) => {
                acknowledged.push(seq.0);
                after = seq;
            }
            Ok(CasOutcome::Conflict) => panic!("nobody else decides for {job}"),
            Err(error) => {
                assert!(
                    matches!(error, LogError::Unknown(_) | LogError::Unavailable(_)),
                    "{error}"
                );
                after = last_decision(&broker, &job).await;
            }
        }
        count.send_replace(acknowledged.len());
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_loses_nothing_that_was_acknowledged() {
    let mut f = OnNats::start().await;
    let stop = Arc::new(AtomicBool::new(false));
    let (mut writers, mut counts) = (tokio::task::JoinSet::new(), Vec::new());
    for n in 0..8 {
        let (broker, stop) = (f.broker().await, Arc::clone(&stop));
        let job = job(&format!("writer-{n}"));
        let (said, count) = watch::channel(0);
        counts.push(count);
        writers.spawn(async move { (job.clone(), write_until(broker, job, stop, said).await) });
    }
    for round in 1..=5 {
        for count in &mut counts {
            soon(count.wait_for(|count| *count > round * 20)).await.unwrap();
        }
        if round < 5 {
            f.server.restart().await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    let reader = f.broker().await;
    for (job, acknowledged) in writers.join_all().await {
        let entries = reader.log.read(&job, Seq(0)).await.unwrap();
        let stored = seqs(&entries);
        let lost: Vec<_> = acknowledged.iter().filter(|seq| !stored.contains(seq)).collect();
        assert!(lost.is_empty(), "{job} lost {lost:?}");
        let mut ids: Vec<_> = entries.iter().map(|e| &e.record.as_ref().unwrap().id).collect();
        let all = ids.len();
        ids.sort();
        ids.dedup();
        // A lost reply may duplicate a fact, but never a decision.
        let decided = entries.iter().filter(|e| e.record.as_ref().unwrap().kind == "call");
        let numbers: Vec<_> = decided.map(number).collect();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{job} decided twice: {numbers:?}");
        assert!(all - ids.len() < 10, "{job} has {} doubles", all - ids.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_open_goes_on_after_the_server_was_killed() {
    let mut f = OnNats::start().await;
    let (broker, job) = (f.broker().await, job("goes-on"));
    let shard = broker.log.subjects().shard_of(&job);
    let mut feed = broker.log.facts(shard).await.unwrap();
    let mut commands = broker.log.commands(CALL, &pool("p"), slots(8)).await.unwrap();
    let mut watch = broker.log.watch(&job, Seq(0)).await.unwrap();
    append(&broker, &job, 0..1).await;
    next_fact(&mut feed).await.ack.done().await;
    next(&mut watch).await.unwrap();
    for round in 1..4 {
        f.server.restart().await;
        append(&broker, &job, round..round + 1).await;
        let after = last_decision(&broker, &job).await;
        stored(broker.log.decide(&job, &call("p", round), after, None, trace(1)).await);
        let mut reset = false;
        let fact = loop {
            match next(&mut feed).await.unwrap() {
                Feed::Reset => reset = true,
                Feed::Fact(fact) if number(&fact.entry) == round => break fact,
                // The acknowledgement was lost with the server.
                Feed::Fact(fact) => fact.ack.done().await,
            }
        };
        assert!(reset, "no reset after the connection was lost");
        fact.ack.done().await;
        let command = loop {
            let command = next_command(&mut commands).await;
            command.ack.done().await;
            if number(&command.entry) == round {
                break command;
            }
        };
        drop(command);
        for _ in 0..2 {
            assert_eq!(number(&next(&mut watch).await.unwrap()), round);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timer_fires_though_the_server_was_down_at_its_time() {
    let mut f = OnNats::start().await;
    let (broker, job) = (f.broker().await, job("due"));
    let at = f.now() + jiff::SignedDuration::from_millis(300);
    broker.log.arm(&job, &timer("t"), at, trace(1)).await.unwrap();
    f.server.kill9();
    until("a time in the past", async || f.now() > at).await;
    f.server.restart().await;
    let mut watch = f.broker().await.log.watch(&job, Seq(0)).await.unwrap();
    assert_eq!(fact(&next(&mut watch).await.unwrap()), fired("t"));
}

const SHARD: Shard = Shard(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_shard_of_an_owner_that_dies_without_a_word_is_taken_over() {
    let f = OnNats::start().await;
    let (dead, heir) = (f.broker().await, f.broker().await);
    let job = job_in(SHARD, "orphan");
    let mut feed = dead.log.facts(SHARD).await.unwrap();
    append(&dead, &job, 0..1).await;
    next_fact(&mut feed).await.ack.done().await;
    // As in a hanging process, the pin is neither renewed nor released.
    std::mem::forget(feed);
    let mut feed = heir.log.facts(SHARD).await.unwrap();
    append(&heir, &job, 1..2).await;
    assert_eq!(number(&next_fact(&mut feed).await.entry), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shard_that_is_given_up_is_taken_over_at_once() {
    let f = OnNats::start().await;
    // A pin that is not released lasts longer than this test.
    let options = NatsOptions { pin_timeout_ms: 600_000, ..f.options() };
    let connect = || nats::connect(&options, subjects(), WorkerId::new("test").unwrap());
    let (one, other) = (connect().await.unwrap(), connect().await.unwrap());
    let job = job_in(SHARD, "passed-on");
    let mut feed = one.log.facts(SHARD).await.unwrap();
    append(&one, &job, 0..1).await;
    next_fact(&mut feed).await.ack.done().await;
    let mut heir = other.log.facts(SHARD).await.unwrap();
    assert!(matches!(next(&mut heir).await.unwrap(), Feed::Reset));
    let waiting = tokio::spawn(async move { number(&next_fact(&mut heir).await.entry) });
    drop(feed);
    append(&one, &job, 1..2).await;
    assert_eq!(waiting.await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_that_is_deleted_ends_what_is_open_with_an_error() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let mut commands = broker.log.commands(CALL, &pool("p"), slots(8)).await.unwrap();
    nothing(&mut commands).await;
    let stream = broker.log.subjects().stream(SHARD);
    let client = async_nats::connect(f.server.url()).await.unwrap();
    let js = async_nats::jetstream::new(client);
    js.get_stream(stream).await.unwrap().delete_consumer("call-p").await.unwrap();
    let error = soon(commands.next()).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("call-p"), "{error}");
    // Reopened, it delivers the unacknowledged commands.
    command(&broker, &job_in(SHARD, "again"), "p", 0..1).await;
    let mut commands = broker.log.commands(CALL, &pool("p"), slots(8)).await.unwrap();
    next_command(&mut commands).await;
}
