//! The interaction actor on a real nats-server: questions and answers survive crashes.

use broker::{
    kv::{self, Bucket, INBOX_COMPLETE},
    log::LogError,
    testing::{NatsServer, RawWriter},
};
use callboard_interaction_actor::restore::{NotKept, restore};
use futures::future::join_all;
use proto::{
    error::Code,
    id::{AskId, Shard},
    interaction::QuestionKind,
};
use runtime::people::People;
use serde_json::json;

use crate::office::{Office, Place, question};

async fn office() -> Office {
    Office::at(Place::Nats(NatsServer::start().await), People::default()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_answers_at_the_same_instant_one_wins() {
    let mut office = office().await;
    office.hire(People::default()).await;
    let job = office.asked("j", QuestionKind::Question).await;
    let all = join_all((0..100).map(|n| {
        office.answer(&job, json!({"value": format!("answer {n}"), "by": format!("p{n}")}))
    }));
    let (taken, refused): (Vec<_>, Vec<_>) = all.await.into_iter().partition(Result::is_ok);
    assert_eq!((taken.len(), refused.len()), (1, 99));
    for failure in refused.into_iter().filter_map(Result::err) {
        assert_eq!(failure.code, Code::AlreadyAnswered, "{failure}");
        assert!(failure.winner.is_some());
    }
    office.until(&job, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_brokers_timer_closes_a_question() {
    let office = office().await;
    let job = office.asked("j", QuestionKind::Question).await;
    office.expire(&job).await;
    assert_eq!(office.refused(&job, json!({"value": "x"})).await.0, Code::Closed);
    office.until(&job, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_outlives_every_process_and_the_broker() {
    let mut office = office().await;
    let job = office.asked("j", QuestionKind::Question).await;
    office.burn_down().await;
    // The question is asked while no process has the role.
    office.ask(&job, question("q2", QuestionKind::Question)).await;
    office.hire(People::default()).await;
    office.until(&job, 2).await;
    office.answer(&job, json!({"value": "x"})).await.unwrap();
    office.answer(&job, json!({"ask": "q2", "value": "y"})).await.unwrap();
    office.until(&job, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_is_restored_once_while_a_shard_is_lost_and_from_that_shard_when_it_is_back() {
    let server = NatsServer::start().await;
    let raw = RawWriter::connect(server.url()).await;
    let office = Office::at(Place::Nats(server), People::default()).await;
    let job = office.asked("j", QuestionKind::Question).await;
    office.until(&job, 1).await;
    let (kv, subjects) = (&office.broker.kv, office.broker.log.subjects());
    let key = kv::inbox_key(&job, &AskId::new("q1").unwrap());
    let is_listed = async || kv.get(Bucket::Inbox, &key).await.unwrap().is_some();
    let forget = async |keys: &[&str]| {
        for key in keys {
            kv.delete(Bucket::Inbox, key).await.unwrap();
        }
    };
    let is_of_job = |shard: &Shard| *shard == subjects.shard_of(&job);
    let other = subjects.all_shards().find(|shard| !is_of_job(shard)).unwrap();
    let config = raw.destroy(&subjects.stream(other)).await;
    let lost =
        |error: NotKept| assert!(matches!(error, NotKept::Log(LogError::Lost(_))), "{error}");

    forget(&[INBOX_COMPLETE, &key]).await;
    lost(restore(&office.broker).await.unwrap_err());
    assert!(is_listed().await, "a lost shard keeps no question of another from the inbox");
    forget(&[&key]).await;
    lost(restore(&office.broker).await.unwrap_err());
    assert!(!is_listed().await, "only the lost shard is read again");
    raw.create(&config).await;
    restore(&office.broker).await.unwrap();
    let complete = kv.get(Bucket::Inbox, INBOX_COMPLETE).await.unwrap().unwrap();
    assert_eq!(&complete.value[..], b"{}");
}
