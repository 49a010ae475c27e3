//! The feed of a shard's facts: one owner at a time, nothing lost.

use broker::{
    Broker,
    log::{Delivery, Feed, LogError, Queue},
    testing::wait::until,
};
use futures::{StreamExt, stream::BoxStream};
use proto::{
    id::{JobId, Seq, Shard},
    subject::Family,
};
use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    task::AbortHandle,
};

use super::{
    fixtures::{ACK_WAIT, Fixture},
    on_every_broker,
    words::*,
};

on_every_broker![
    a_feed_begins_with_a_reset,
    a_feed_gives_the_facts_of_its_shard_and_no_decisions,
    one_feed_at_a_time_is_given_facts,
    another_feed_takes_over_and_is_told_so,
    a_feed_that_is_opened_again_is_given_what_is_new,
    a_fact_that_is_not_acknowledged_comes_again,
    a_fact_that_is_acknowledged_does_not_come_again,
    what_the_dead_did_not_acknowledge_comes_to_the_next,
    what_the_dead_had_comes_to_who_waits_for_it,
    a_fact_that_is_worked_on_does_not_come_again,
    a_fact_that_is_put_off_comes_again_after_a_while,
    a_late_acknowledgement_counts,
    jobs_with_facts_in_hand_are_unsettled,
];

const SHARD: Shard = Shard(1);

async fn stage(f: &impl Fixture, name: &str) -> (Broker, JobId) {
    (f.broker().await, job_in(SHARD, name))
}

async fn open(broker: &Broker) -> BoxStream<'static, Result<Feed, LogError>> {
    broker.log.facts(SHARD).await.unwrap()
}

/// Counts the unacknowledged facts.
async fn in_hand(broker: &Broker) -> u64 {
    let queues = broker.log.progress(SHARD).await.unwrap();
    queues.iter().find(|one| one.queue == Queue::Facts).unwrap().unacknowledged
}

/// Waits for the `times`-th delivery of an unacknowledged fact, without another delivery before it.
/// By then earlier deliveries had time for a redelivery.
async fn only_again(
    feed: &mut BoxStream<'static, Result<Feed, LogError>>,
    n: u64,
    times: u64,
) -> Delivery {
    loop {
        let delivery = next_fact(feed).await;
        assert_eq!(number(&delivery.entry), n, "handed out {} times", delivery.delivered);
        if delivery.delivered >= times {
            return delivery;
        }
    }
}

async fn a_feed_begins_with_a_reset(f: &impl Fixture) {
    let (broker, job) = stage(f, "begins").await;
    submit(&broker, &job).await;
    let mut feed = open(&broker).await;
    assert!(matches!(next(&mut feed).await.unwrap(), Feed::Reset));
    let Feed::Fact(delivery) = next(&mut feed).await.unwrap() else { panic!("two resets") };
    assert_eq!((delivery.delivered, fact(&delivery.entry)), (1, submitted("a goal")));
    assert!(delivery.slot.is_none());
}

async fn a_feed_gives_the_facts_of_its_shard_and_no_decisions(f: &impl Fixture) {
    let (broker, job) = stage(f, "fed").await;
    append(&broker, &job, 0..2).await;
    command(&broker, &job, "p", 0..2).await;
    append(&broker, &job_in(Shard(2), "elsewhere"), 50..52).await;
    let mut feed = open(&broker).await;
    for n in 0..2 {
        let got = next_fact(&mut feed).await;
        assert_eq!((number(&got.entry), &got.entry.job), (n, &job));
        assert_eq!(
            (&got.entry.family, got.entry.trace),
            (&Family::In(fact(&got.entry).source()), Some(trace(n)))
        );
        got.ack.done().await;
    }
    append(&f.broker().await, &job, 2..5).await;
    for n in 2..5 {
        let got = next_fact(&mut feed).await;
        assert_eq!(number(&got.entry), n);
        got.ack.done().await;
    }
    nothing(&mut feed).await;
}

/// Collects the items of a feed in a task: the number of a fact, or `None` for a reset. Aborting
/// the task drops the feed.
fn pump(
    mut feed: BoxStream<'static, Result<Feed, LogError>>,
) -> (UnboundedReceiver<Option<u64>>, AbortHandle) {
    let (sender, items) = mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        loop {
            let seen = match feed.next().await.expect("a feed ended").unwrap() {
                Feed::Fact(delivery) => {
                    delivery.ack.done().await;
                    Some(number(&delivery.entry))
                }
                Feed::Reset => None,
            };
            let _ = sender.send(seen);
        }
    });
    (items, task.abort_handle())
}

/// Waits until an idle feed has requested facts. On NATS a reset shows that; in memory there is no
/// sign.
async fn asks(items: &mut UnboundedReceiver<Option<u64>>) {
    let first = tokio::time::timeout(A_WHILE, items.recv()).await;
    assert!(matches!(first, Err(_) | Ok(Some(None))), "the feed that waits was given {first:?}");
}

async fn one_feed_at_a_time_is_given_facts(f: &impl Fixture) {
    let (broker, job) = stage(f, "owned").await;
    let mut owner = open(&broker).await;
    append(&broker, &job, 0..1).await;
    next_fact(&mut owner).await.ack.done().await;
    let (mut other, _) = pump(open(&f.broker().await).await);
    asks(&mut other).await;
    for n in 1..4 {
        append(&broker, &job, n..n + 1).await;
        let got = next_fact(&mut owner).await;
        assert_eq!((number(&got.entry), got.delivered), (n, 1));
        got.ack.done().await;
    }
    while let Ok(item) = other.try_recv() {
        assert_eq!(item, None, "the feed that waits was given a fact");
    }
}

async fn what_the_dead_had_comes_to_who_waits_for_it(f: &impl Fixture) {
    let (broker, job) = stage(f, "waits").await;
    append(&broker, &job, 0..1).await;
    let mut owner = open(&broker).await;
    let taken = next_fact(&mut owner).await;
    let (mut other, _) = pump(open(&f.broker().await).await);
    asks(&mut other).await;
    drop((taken, owner));
    // Nothing is stored meanwhile: the takeover alone must redeliver the fact.
    loop {
        if let Some(n) = soon(other.recv()).await.expect("the feed ended") {
            break assert_eq!(n, 0);
        }
    }
}

async fn another_feed_takes_over_and_is_told_so(f: &impl Fixture) {
    let (broker, job) = stage(f, "taken").await;
    let (mut a, first) = pump(open(&broker).await);
    append(&broker, &job, 0..1).await;
    assert_eq!((soon(a.recv()).await, soon(a.recv()).await), (Some(None), Some(Some(0))));
    let (mut b, _) = pump(open(&f.broker().await).await);
    asks(&mut b).await;
    append(&broker, &job, 1..2).await;
    assert_eq!(soon(a.recv()).await, Some(Some(1)));
    // Items of the second feed before the first feed received that fact do not count.
    while b.try_recv().is_ok() {}
    first.abort();
    append(&broker, &job, 2..3).await;
    assert_eq!(soon(b.recv()).await, Some(None), "no reset before a fact after a takeover");
    loop {
        match soon(b.recv()).await {
            Some(None) => {}
            Some(Some(n)) => break assert_eq!(n, 2),
            None => panic!("the feed ended"),
        }
    }
}

async fn a_feed_that_is_opened_again_is_given_what_is_new(f: &impl Fixture) {
    let (broker, job) = stage(f, "again").await;
    append(&broker, &job, 0..2).await;
    let mut feed = open(&broker).await;
    for _ in 0..2 {
        next_fact(&mut feed).await.ack.done().await;
    }
    // The broker does not confirm an acknowledgement.
    until("the acknowledgements", async || in_hand(&broker).await == 0).await;
    drop(feed);
    append(&broker, &job, 2..3).await;
    let mut feed = open(&broker).await;
    assert!(matches!(next(&mut feed).await.unwrap(), Feed::Reset));
    assert_eq!(number(&next_fact(&mut feed).await.entry), 2);
}

async fn a_fact_that_is_not_acknowledged_comes_again(f: &impl Fixture) {
    let (broker, job) = stage(f, "unacked").await;
    append(&broker, &job, 0..2).await;
    let mut feed = open(&broker).await;
    let kept = next_fact(&mut feed).await;
    assert_eq!(number(&kept.entry), 0);
    next_fact(&mut feed).await.ack.done().await;
    // A redelivery arrives after a later fact: it does not keep the order.
    let again = next_fact(&mut feed).await;
    assert_eq!((number(&again.entry), again.entry.seq), (0, kept.entry.seq));
    assert_eq!((kept.delivered, again.delivered), (1, 2));
}

async fn a_fact_that_is_acknowledged_does_not_come_again(f: &impl Fixture) {
    let (broker, job) = stage(f, "acked").await;
    append(&broker, &job, 0..4).await;
    let mut feed = open(&broker).await;
    for _ in 0..3 {
        next_fact(&mut feed).await.ack.done().await;
    }
    only_again(&mut feed, 3, 2).await;
}

async fn what_the_dead_did_not_acknowledge_comes_to_the_next(f: &impl Fixture) {
    let (broker, job) = stage(f, "dead").await;
    append(&broker, &job, 0..1).await;
    let mut feed = open(&broker).await;
    let taken = next_fact(&mut feed).await;
    drop((taken, feed));
    let mut feed = open(&f.broker().await).await;
    let again = next_fact(&mut feed).await;
    assert_eq!((number(&again.entry), again.delivered), (0, 2));
}

async fn a_fact_that_is_worked_on_does_not_come_again(f: &impl Fixture) {
    let (broker, job) = stage(f, "busy").await;
    append(&broker, &job, 0..2).await;
    let mut feed = open(&broker).await;
    let kept = next_fact(&mut feed).await;
    let mut beats = tokio::time::interval(ACK_WAIT / 4);
    let beating = async {
        loop {
            beats.tick().await;
            kept.ack.working().await;
        }
    };
    let other = tokio::select! {
        () = beating => panic!("a heart stops"),
        other = only_again(&mut feed, 1, 4) => other,
    };
    other.ack.done().await;
    assert_eq!(number(&next_fact(&mut feed).await.entry), 0, "no more signs of life");
}

async fn a_fact_that_is_put_off_comes_again_after_a_while(f: &impl Fixture) {
    let (broker, job) = stage(f, "later").await;
    append(&broker, &job, 0..1).await;
    let mut feed = open(&broker).await;
    let taken = next_fact(&mut feed).await;
    taken.ack.later(ACK_WAIT / 2).await;
    assert_eq!(next_fact(&mut feed).await.delivered, 2);
}

async fn a_late_acknowledgement_counts(f: &impl Fixture) {
    let (broker, job) = stage(f, "late").await;
    append(&broker, &job, 0..1).await;
    let mut feed = open(&broker).await;
    let first = next_fact(&mut feed).await;
    let second = next_fact(&mut feed).await;
    assert_eq!((first.delivered, second.delivered), (1, 2));
    first.ack.done().await;
    append(&broker, &job, 1..2).await;
    only_again(&mut feed, 1, 3).await.ack.done().await;
    until("the last acknowledgement", async || in_hand(&broker).await == 0).await;
    assert!(broker.log.unsettled(SHARD).await.unwrap().is_empty());
}

async fn jobs_with_facts_in_hand_are_unsettled(f: &impl Fixture) {
    let (broker, one) = stage(f, "one").await;
    let two = job_in(SHARD, "two");
    append(&broker, &one, 0..2).await;
    append(&broker, &two, 2..3).await;
    let unsettled = async || broker.log.unsettled(SHARD).await.unwrap();
    assert!(unsettled().await.is_empty(), "nothing was handed out");
    let mut feed = open(&broker).await;
    let (a, b) = (next_fact(&mut feed).await, next_fact(&mut feed).await);
    let c = next_fact(&mut feed).await;
    let mut both = unsettled().await;
    both.sort();
    assert_eq!(both, [one.clone(), two.clone()]);
    a.ack.done().await;
    c.ack.done().await;
    until("two acknowledgements", async || in_hand(&broker).await == 1).await;
    // The answer may also name jobs with later deliveries.
    assert!(unsettled().await.contains(&one));
    assert!(broker.log.unsettled(Shard(2)).await.unwrap().is_empty());
    b.ack.done().await;
    until("the third", async || in_hand(&broker).await == 0).await;
    assert!(unsettled().await.is_empty());
    assert_eq!(broker.log.read(&two, Seq(0)).await.unwrap().len(), 1);
}
