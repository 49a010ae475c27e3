//! `inbox`: the open questions that people see.

use std::sync::Arc;

use broker::{
    kv::Bucket,
    memory::{Call, Fault, Faults, MemoryOptions},
    testing::wait::until,
};
use bytes::Bytes;
use proto::{decision::Closed, error::Code, interaction::QuestionKind};
use runtime::people::People;
use serde_json::json;

use crate::office::{Office, question};

#[tokio::test]
async fn a_question_is_shown_with_its_goal_and_what_its_answer_must_be() {
    let office = Office::new().await;
    office.asked("j", QuestionKind::Question).await;
    let page = office.inbox("").await;
    let entry = &page["questions"][0];
    assert_eq!((&entry["job"], &entry["goal"]), (&json!("j"), &json!("goal of j")));
    assert_eq!(
        (&entry["question"]["id"], &entry["schema"]["type"]),
        (&json!("q1"), &json!("string"))
    );
    assert_eq!(page["more"], false);
}

#[tokio::test]
async fn the_oldest_question_comes_first_and_a_job_can_be_asked_for() {
    let office = Office::new().await;
    for id in ["c", "a", "b"] {
        office.asked(id, QuestionKind::Question).await;
    }
    let page = office.inbox(r#"{"limit":2}"#).await;
    let jobs: Vec<_> = page["questions"].as_array().unwrap().iter().map(|q| &q["job"]).collect();
    assert_eq!((jobs, &page["more"]), (vec![&json!("c"), &json!("a")], &json!(true)));
    let page = office.inbox(r#"{"job":"b"}"#).await;
    assert_eq!((&page["questions"][0]["job"], &page["more"]), (&json!("b"), &json!(false)));
    // A job id that is a prefix of another one does not match it.
    office.asked("bb", QuestionKind::Question).await;
    office.until(&crate::office::job("b"), 1).await;
    for (body, field) in
        [(r#"{"limit":0}"#, "limit"), (r#"{"limit":1001}"#, "limit"), (r#"{"q":1}"#, "q")]
    {
        let failure = office.send("inbox", body, None).await.unwrap_err();
        assert_eq!((failure.code, failure.field.as_deref()), (Code::InvalidRequest, Some(field)));
    }
}

#[tokio::test]
async fn a_note_that_a_question_is_closed_takes_it_out() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    office.close(&job, Closed::Superseded).await;
    office.until(&job, 0).await;
}

#[tokio::test]
async fn a_question_that_is_handed_out_after_it_was_closed_stays_out() {
    let mut office = Office::new().await;
    office.fire_everybody().await;
    let job = office.submit("j").await;
    office.ask(&job, question("q1", QuestionKind::Question)).await;
    office.ask(&job, question("q2", QuestionKind::Question)).await;
    office.close(&job, Closed::Expired).await;
    office.hire(People::default()).await;
    office.until(&job, 1).await;
    office.memory().redeliver_now();
    office.until(&job, 1).await;
    assert_eq!(office.inbox("").await["questions"][0]["question"]["id"], "q2");
}

#[tokio::test(start_paused = true)]
async fn a_question_gets_into_the_inbox_however_often_that_fails() {
    let faults = Arc::new(Faults::default());
    let options = MemoryOptions { faults: Arc::clone(&faults), ..MemoryOptions::default() };
    let office = Office::with(options, People::default()).await;
    let job = office.submit("j").await;
    faults.inject(Call::Kv, &Fault::Unavailable, 25);
    office.ask(&job, question("q1", QuestionKind::Question)).await;
    until("the last fault", async || faults.left() == 0).await;
    office.until(&job, 1).await;
}

#[tokio::test]
async fn an_entry_that_cannot_be_read_hides_no_other() {
    let office = Office::new().await;
    let junk = Bytes::from_static(b"junk");
    office.broker.kv.put(Bucket::Inbox, "x.q1", junk).await.unwrap();
    let job = office.asked("j", QuestionKind::Question).await;
    office.until(&job, 1).await;
    assert_eq!(office.inbox("").await["questions"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn an_entry_is_shown_under_its_own_key_alone() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    office.until(&job, 1).await;
    let entry = office.broker.kv.list(Bucket::Inbox, "").await.unwrap().remove(0).value;
    office.broker.kv.put(Bucket::Inbox, "other.q1", entry).await.unwrap();
    assert_eq!(office.inbox("").await["questions"].as_array().unwrap().len(), 1);
    let other = office.inbox(r#"{"job":"other"}"#).await;
    assert_eq!(other["questions"], json!([]), "{other}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_questions_are_open_at_a_time() {
    let office = Office::new().await;
    for n in 0..500 {
        let job = office.submit(&format!("j{n}")).await;
        let questions = (0..20).map(|q| question(&format!("q{q}"), QuestionKind::Question));
        office.ask_all(&job, questions).await;
    }
    let shown = async || office.broker.kv.list(Bucket::Inbox, "").await.unwrap().len();
    until("ten thousand questions", async || shown().await == 10_000).await;
    let page = office.inbox(r#"{"limit":1000}"#).await;
    assert_eq!((page["questions"].as_array().unwrap().len(), &page["more"]), (1000, &json!(true)));
    office.answer(&crate::office::job("j57"), json!({"value": "x"})).await.unwrap();
}
