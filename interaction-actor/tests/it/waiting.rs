//! Futures that wait for an answer.

use broker::testing::wait::until;
use callboard_interaction_actor::waiters::{Settled, Waiters};
use futures::future::join_all;
use proto::{decision::Closed, id::AskId, interaction::QuestionKind};
use serde_json::json;

use crate::office::{Office, job, question};

#[tokio::test]
async fn waiters_are_woken_by_the_answer_wherever_it_was_given() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    let waiters = Waiters::new(office.broker.clone());
    let ask = AskId::new("q1").unwrap();
    let many = join_all((0..100).map(|_| waiters.settled(&job, &ask)));
    let (settled, _) = tokio::join!(many, async {
        until("somebody who waits", async || waiters.jobs() > 0).await;
        assert_eq!(waiters.jobs(), 1, "one watch for all who wait for one job");
        office.answer(&job, json!({"value": "now", "by": "ann"})).await.unwrap();
    });
    let by_ann = |s: &Settled| matches!(s, Settled::Answered(answered) if answered.by == "ann");
    assert!(settled.len() == 100 && settled.iter().all(by_ann));
    assert_eq!(waiters.jobs(), 0);
    // The question is settled already, so this does not wait.
    assert!(by_ann(&waiters.settled(&job, &ask).await));
}

#[tokio::test]
async fn a_question_that_closes_wakes_its_waiters_too() {
    let office = Office::new().await;
    let waiters = Waiters::new(office.broker.clone());
    let (id, ask) = (job("j"), AskId::new("q1").unwrap());
    // The wait starts before the job exists.
    let (settled, ()) = tokio::join!(waiters.settled(&id, &ask), async {
        let job = office.submit("j").await;
        office.ask(&job, question("q1", QuestionKind::Question)).await;
        office.close(&job, Closed::Expired).await;
    });
    assert_eq!(settled, Settled::Closed(Closed::Expired));
}

#[tokio::test]
async fn a_wait_that_is_dropped_costs_nothing_any_more() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    let waiters = Waiters::new(office.broker.clone());
    let ask = AskId::new("q1").unwrap();
    tokio::select! {
        settled = waiters.settled(&job, &ask) => panic!("nobody answered: {settled:?}"),
        () = until("somebody who waits", async || waiters.jobs() == 1) => {}
    }
    assert_eq!(waiters.jobs(), 0);
}
