//! Tests of a shard whose actor fails.

use broker::{
    log::LogError,
    memory::{self, MemoryOptions},
    testing::{ManualClock, wait::until},
};
use jiff::Timestamp;
use proto::{
    id::{Shard, WorkerId},
    subject::Subjects,
};
use ractor::{Actor, ActorProcessingErr};
use runtime::{presence::Status, registry::Registry};
use tokio_util::sync::CancellationToken;

use super::{
    observe::{Census, Labels},
    options::SupervisorOptions,
    shard::{ShardActor, ShardArgs, ShardError, ShardMsg},
    supervisor::reason,
};

#[tokio::test(start_paused = true)]
async fn nothing_of_a_shard_goes_on_when_its_actor_fails() {
    let shard = Shard(0);
    let broker = memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default());
    let (clock, shutdown) = (ManualClock::new(Timestamp::UNIX_EPOCH), CancellationToken::new());
    let worker = WorkerId::new("supervisor").unwrap();
    let args = ShardArgs {
        shard,
        status: Status::new(worker, Vec::new(), "0", &clock, shutdown),
        registry: Registry::open(&broker).await.unwrap(),
        broker,
        options: SupervisorOptions::default(),
        labels: Labels::default(),
    };
    let (actor, ended) = Actor::spawn(None, ShardActor, args).await.unwrap();
    assert!(Census::is_shown(shard));
    actor.cast(ShardMsg::FeedEnded(None)).unwrap();
    ended.await.unwrap();
    // Otherwise its sweep and its figures would run beside those of the shard's next owner.
    until("the end of its figures", async || !Census::is_shown(shard)).await;
}

#[test]
fn why_a_shard_was_let_go_of_is_said_and_what_a_panic_said_is_not() {
    let canary = "canary-4711";
    let panicked: ActorProcessingErr = canary.into();
    assert!(!reason(&panicked).contains(canary));
    let away = || LogError::Unavailable("no leader".into());
    for known in [ActorProcessingErr::from(away()), ShardError::Broke(away()).into()] {
        assert!(reason(&known).contains("no leader"), "{known}");
    }
}
