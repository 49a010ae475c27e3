//! Commands: delivered to one worker at a time, redelivered when it dies, within the limit of
//! slots.

use std::collections::BTreeSet;

use broker::{
    Broker,
    log::{Delivery, Depth, LogError},
    testing::wait::until,
};
use futures::stream::BoxStream;
use proto::{
    decision::DecisionKind,
    id::{JobId, Shard},
    subject::Family,
};

use super::{
    fixtures::{ACK_WAIT, Fixture},
    on_every_broker, race_on_every_broker,
    words::*,
};

on_every_broker![
    commands_that_were_there_before_the_worker_are_handed_out,
    a_worker_is_given_its_kind_and_pool_only,
    commands_come_from_all_shards,
    slots_bound_what_is_handed_out,
    what_one_worker_has_no_slot_for_goes_to_another,
    a_command_that_is_not_acknowledged_comes_again,
    a_command_that_is_done_does_not_come_again,
    a_command_that_is_worked_on_does_not_come_again,
    a_command_that_is_put_off_comes_again_after_a_while,
    a_late_acknowledgement_counts,
    what_a_dead_worker_had_comes_to_another,
    the_depth_says_what_waits_and_what_is_in_hand,
];
race_on_every_broker![of_many_workers_one_is_given_each_command];

type Commands = BoxStream<'static, Result<Delivery, LogError>>;

async fn open(broker: &Broker, name: &str, n: usize) -> Commands {
    broker.log.commands(CALL, &pool(name), slots(n)).await.unwrap()
}

/// A broker, a job with numbered commands for the pool `p`, and a worker.
async fn stage(f: &impl Fixture, name: &str, commands: u64, n: usize) -> (Broker, JobId, Commands) {
    let (broker, job) = (f.broker().await, job(name));
    command(&broker, &job, "p", 0..commands).await;
    let worker = open(&broker, "p", n).await;
    (broker, job, worker)
}

/// Waits for the `times`-th delivery of an unacknowledged command, without another delivery before
/// it. By then earlier deliveries had time for a redelivery.
async fn only_again(commands: &mut Commands, n: u64, times: u64) -> Delivery {
    loop {
        let delivery = next_command(commands).await;
        assert_eq!(number(&delivery.entry), n, "handed out {} times", delivery.delivered);
        if delivery.delivered >= times {
            return delivery;
        }
    }
}

async fn commands_that_were_there_before_the_worker_are_handed_out(f: &impl Fixture) {
    let (broker, job, mut worker) = stage(f, "before", 3, 10).await;
    for n in 0..3 {
        let got = next_command(&mut worker).await;
        assert_eq!((number(&got.entry), &got.entry.job, got.delivered), (n, &job, 1));
        assert_eq!(got.entry.family, Family::Do(CALL, pool("p")));
        assert_eq!((decision(&got.entry), got.entry.trace), (call("p", n), Some(trace(n))));
        assert!(got.slot.is_some());
        got.ack.done().await;
    }
    command(&broker, &job, "p", 3..4).await;
    assert_eq!(number(&next_command(&mut worker).await.entry), 3);
}

async fn a_worker_is_given_its_kind_and_pool_only(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("picky"));
    append(&broker, &job, 90..92).await;
    command(&broker, &job, "p", 0..1).await;
    command(&broker, &job, "q", 1..2).await;
    let after = last_decision(&broker, &job).await;
    stored(broker.log.decide(&job, &finish(), after, None, trace(1)).await);
    let mut p = open(&broker, "p", 10).await;
    let mut q = open(&broker, "q", 10).await;
    let none = pool("none");
    let mut ends = broker.log.commands(DecisionKind::Finish, &none, slots(9)).await.unwrap();
    let (a, b) = (next_command(&mut p).await, next_command(&mut q).await);
    assert_eq!((number(&a.entry), number(&b.entry)), (0, 1));
    assert_eq!(decision(&next_command(&mut ends).await.entry), finish());
    nothing(&mut p).await;
}

async fn commands_come_from_all_shards(f: &impl Fixture) {
    let broker = f.broker().await;
    let mut worker = open(&broker, "p", 10).await;
    let shards: Vec<Shard> = broker.log.subjects().all_shards().collect();
    for shard in &shards {
        command(&broker, &job_in(*shard, "spread"), "p", 0..1).await;
    }
    let mut seen = BTreeSet::new();
    for _ in &shards {
        let got = next_command(&mut worker).await;
        seen.insert(broker.log.subjects().shard_of(&got.entry.job));
        got.ack.done().await;
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), shards);
}

async fn slots_bound_what_is_handed_out(f: &impl Fixture) {
    let (_broker, _, mut worker) = stage(f, "slots", 5, 2).await;
    let a = next_command(&mut worker).await;
    let b = next_command(&mut worker).await;
    // Meanwhile the deadlines of the deliveries pass.
    a.ack.working().await;
    b.ack.working().await;
    nothing(&mut worker).await;
    a.ack.done().await;
    nothing(&mut worker).await;
    b.ack.working().await;
    drop(a);
    let c = next_command(&mut worker).await;
    assert_eq!((number(&c.entry), c.delivered), (2, 1));
    b.ack.working().await;
    nothing(&mut worker).await;
    drop((b, c));
    assert_eq!(number(&next_command(&mut worker).await.entry), 3);
}

async fn what_one_worker_has_no_slot_for_goes_to_another(f: &impl Fixture) {
    let (_broker, _, mut one) = stage(f, "shared", 4, 1).await;
    let held = next_command(&mut one).await;
    nothing(&mut one).await;
    held.ack.working().await;
    let mut other = open(&f.broker().await, "p", 10).await;
    let mut got = BTreeSet::from([number(&held.entry)]);
    for _ in 0..3 {
        let delivery = next_command(&mut other).await;
        assert_eq!(delivery.delivered, 1, "it was in the hands of a worker that had no slot");
        got.insert(number(&delivery.entry));
        delivery.ack.done().await;
    }
    assert_eq!(got, (0..4).collect());
}

async fn a_command_that_is_not_acknowledged_comes_again(f: &impl Fixture) {
    let (broker, _, mut worker) = stage(f, "unacked", 1, 10).await;
    assert_eq!(broker.log.ack_wait(), ACK_WAIT);
    let first = next_command(&mut worker).await;
    let second = next_command(&mut worker).await;
    assert_eq!((first.delivered, second.delivered), (1, 2));
    assert_eq!(first.entry.seq, second.entry.seq);
    let third = next_command(&mut worker).await;
    assert_eq!(third.delivered, 3);
}

async fn a_command_that_is_done_does_not_come_again(f: &impl Fixture) {
    let (_broker, _, mut worker) = stage(f, "done", 4, 10).await;
    for _ in 0..3 {
        next_command(&mut worker).await.ack.done().await;
    }
    only_again(&mut worker, 3, 2).await;
}

async fn a_command_that_is_worked_on_does_not_come_again(f: &impl Fixture) {
    let (_broker, _, mut worker) = stage(f, "busy", 2, 10).await;
    let kept = next_command(&mut worker).await;
    let mut beats = tokio::time::interval(ACK_WAIT / 4);
    let beating = async {
        loop {
            beats.tick().await;
            kept.ack.working().await;
        }
    };
    tokio::select! {
        () = beating => {}
        _ = only_again(&mut worker, 1, 4) => {}
    }
    kept.ack.done().await;
    only_again(&mut worker, 1, 6).await;
}

async fn a_command_that_is_put_off_comes_again_after_a_while(f: &impl Fixture) {
    let (_broker, _, mut worker) = stage(f, "later", 1, 1).await;
    let taken = next_command(&mut worker).await;
    taken.ack.later(ACK_WAIT / 2).await;
    drop(taken);
    assert_eq!(next_command(&mut worker).await.delivered, 2);
}

async fn a_late_acknowledgement_counts(f: &impl Fixture) {
    let (broker, job, mut worker) = stage(f, "late", 1, 10).await;
    let first = next_command(&mut worker).await;
    let second = next_command(&mut worker).await;
    assert_eq!(second.delivered, 2);
    // The first worker is alive after all: its acknowledgement counts although the second one has
    // the command.
    first.ack.done().await;
    command(&broker, &job, "p", 1..2).await;
    only_again(&mut worker, 1, 2).await;
    second.ack.done().await;
}

async fn what_a_dead_worker_had_comes_to_another(f: &impl Fixture) {
    let (_broker, _, mut worker) = stage(f, "dead", 3, 2).await;
    let held = (next_command(&mut worker).await, next_command(&mut worker).await);
    drop((held, worker));
    let mut other = open(&f.broker().await, "p", 10).await;
    let mut got = Vec::new();
    for _ in 0..3 {
        let delivery = next_command(&mut other).await;
        got.push((number(&delivery.entry), delivery.delivered));
        delivery.ack.done().await;
    }
    got.sort_unstable();
    assert_eq!(got.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((got[0].1, got[1].1), (2, 2));
}

async fn the_depth_says_what_waits_and_what_is_in_hand(f: &impl Fixture) {
    let broker = f.broker().await;
    let depth = async |name: &str| broker.log.depth(CALL, &pool(name)).await.unwrap();
    assert_eq!(depth("p").await, Depth::default());
    for shard in broker.log.subjects().all_shards() {
        command(&broker, &job_in(shard, "deep"), "p", 0..2).await;
    }
    let mut worker = open(&broker, "p", 3).await;
    let held = [
        next_command(&mut worker).await,
        next_command(&mut worker).await,
        next_command(&mut worker).await,
    ];
    assert_eq!(depth("p").await, Depth { pending: 5, in_flight: 3 });
    assert_eq!(depth("q").await, Depth::default());
    for delivery in held {
        delivery.ack.done().await;
    }
    let acknowledged = Depth { pending: 5, in_flight: 0 };
    until("the acknowledgements", async || depth("p").await == acknowledged).await;
}

async fn of_many_workers_one_is_given_each_command(f: &impl Fixture) {
    const EACH: u64 = 40;
    let broker = f.broker().await;
    let mut workers = tokio::task::JoinSet::new();
    let (sender, mut got) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..4 {
        let (broker, sender) = (f.broker().await, sender.clone());
        workers.spawn(async move {
            let mut commands = open(&broker, "p", 3).await;
            loop {
                let delivery = next(&mut commands).await.unwrap();
                let job = delivery.entry.job.clone();
                sender.send((job, number(&delivery.entry), delivery.delivered)).unwrap();
                delivery.ack.done().await;
            }
        });
    }
    let mut all = BTreeSet::new();
    for shard in broker.log.subjects().all_shards() {
        let job = job_in(shard, "many");
        command(&broker, &job, "p", 0..EACH).await;
        all.extend((0..EACH).map(|n| (job.clone(), n)));
    }
    let mut seen = BTreeSet::new();
    while seen.len() < all.len() {
        let (job, n, delivered) = soon(got.recv()).await.unwrap();
        assert_eq!(delivered, 1);
        assert!(seen.insert((job.clone(), n)), "{job} {n} was handed out twice");
    }
    assert_eq!(seen, all);
}
