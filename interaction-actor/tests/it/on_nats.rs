//! The interaction actor on a real nats-server: questions and answers survive crashes.

use broker::testing::NatsServer;
use futures::future::join_all;
use proto::{error::Code, interaction::QuestionKind};
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
