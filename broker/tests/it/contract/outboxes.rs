//! Outboxes: positions of the records that webhooks tell of, from now on, until they are settled.

use broker::log::{LogError, OutboxState, Posted};
use futures::stream::BoxStream;
use proto::{
    decision::DecisionKind,
    fact::Source,
    id::{HookName, Shard},
    pools,
    subject::Family,
};

use super::{fixtures::Fixture, on_every_broker, words::*};

on_every_broker![
    an_outbox_begins_with_its_creation_and_has_positions_of_all_shards,
    a_try_that_is_put_off_comes_again_to_another_subscriber,
    an_outbox_that_is_off_delivers_nothing_and_loses_nothing,
];

type Outbox = BoxStream<'static, Result<Posted, LogError>>;

fn hook(name: &str) -> HookName {
    HookName::new(name).unwrap()
}

async fn taken(outbox: &mut Outbox) -> Posted {
    next(outbox).await.unwrap()
}

async fn an_outbox_begins_with_its_creation_and_has_positions_of_all_shards(f: &impl Fixture) {
    let broker = f.broker().await;
    let old = job("old");
    stored(broker.log.answer(&old, &answered("ann"), proto::id::Seq(0), trace(1)).await);
    let mut outbox = broker.log.outbox(&hook("a"), slots(10)).await.unwrap();
    let shards: Vec<Shard> = broker.log.subjects().all_shards().collect();
    let mut wanted = Vec::new();
    for shard in shards {
        let job = job_in(shard, "told");
        // Neither a submission nor a result or a command is posted.
        submit(&broker, &job).await;
        append(&broker, &job, 0..1).await;
        command(&broker, &job, "p", 0..1).await;
        let seq =
            stored(broker.log.answer(&job, &answered("ann"), proto::id::Seq(0), trace(1)).await);
        wanted.push((job.clone(), seq, Family::In(Source::People)));
        let after = last_decision(&broker, &job).await;
        let seq = stored(broker.log.decide(&job, &finish(), after, None, trace(1)).await);
        wanted.push((job, seq, Family::Do(DecisionKind::Finish, pools::nobody())));
    }
    let mut found = Vec::new();
    for _ in &wanted {
        let Posted { job, seq, family, delivered, ack, .. } = taken(&mut outbox).await;
        assert_eq!(delivered, 1);
        ack.done().await;
        found.push((job, seq, family));
    }
    found.sort_by_key(|(job, seq, _)| (job.clone(), *seq));
    wanted.sort_by_key(|(job, seq, _)| (job.clone(), *seq));
    assert_eq!(found, wanted);
}

async fn a_try_that_is_put_off_comes_again_to_another_subscriber(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("again"));
    let mut outbox = broker.log.outbox(&hook("b"), slots(10)).await.unwrap();
    stored(broker.log.answer(&job, &answered("ann"), proto::id::Seq(0), trace(1)).await);
    let first = taken(&mut outbox).await;
    first.ack.later(A_WHILE).await;
    drop((first, outbox));
    let mut other = f.broker().await.log.outbox(&hook("b"), slots(10)).await.unwrap();
    let again = taken(&mut other).await;
    assert_eq!((again.job, again.delivered), (job, 2));
    let state = broker.log.outbox_state(&hook("b")).await.unwrap();
    assert_eq!((state.is_off, state.unsettled, state.repeated), (false, 1, 1));
}

async fn an_outbox_that_is_off_delivers_nothing_and_loses_nothing(f: &impl Fixture) {
    let (broker, job) = (f.broker().await, job("off"));
    let mut outbox = broker.log.outbox(&hook("c"), slots(10)).await.unwrap();
    let mut calm = broker.log.outbox(&hook("d"), slots(10)).await.unwrap();
    broker.log.switch_outbox(&hook("c"), false).await.unwrap();
    let after =
        stored(broker.log.answer(&job, &answered("ann"), proto::id::Seq(0), trace(1)).await);
    assert_eq!(taken(&mut calm).await.seq, after, "another outbox goes on");
    nothing(&mut outbox).await;
    let state = broker.log.outbox_state(&hook("c")).await.unwrap();
    assert_eq!(state, OutboxState { is_off: true, pending: 1, ..OutboxState::default() });
    broker.log.switch_outbox(&hook("c"), true).await.unwrap();
    assert_eq!(taken(&mut outbox).await.seq, after);
}
