//! Tests of `signal`: the answer is true at the time of the answer.

use broker::memory::MemoryOptions;
use proto::{
    error::Code,
    id::{JobId, Seq},
};
use serde_json::json;

use super::hall::{Hall, Setup, ask, open};
use crate::supervisor::company::Company;

#[tokio::test(flavor = "multi_thread")]
async fn after_the_answer_to_a_cancel_nothing_new_starts() {
    // There is only a supervisor, so the planner never answers.
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    let _door = open(&company.memory, Setup::default()).await;
    let job = company.submit("j").await;
    company.until(&job, proto_working).await;
    let body = r#"{"job":"j","signal":"cancel","reason":"changed my mind","by":"ann"}"#;
    let answer = ask(&company.broker, "signal", body, None).await.unwrap();
    assert_eq!(answer["state"], "canceled");
    let records = company.broker.log.read(&job, Seq(0)).await.unwrap().len();
    let view = ask(&company.broker, "get", r#"{"job":"j"}"#, None).await.unwrap();
    assert_eq!(view["outcome"], json!({"state": "canceled", "reason": "changed my mind"}));
    let again = ask(&company.broker, "signal", body, None).await.unwrap_err();
    assert_eq!(again.code, Code::JobEnded);
    assert_eq!(company.broker.log.read(&job, Seq(0)).await.unwrap().len(), records);
}

fn proto_working(job: &machine::Job) -> bool {
    job.last_decision() > Seq(0)
}

#[tokio::test(start_paused = true)]
async fn a_cancel_that_nobody_takes_up_is_stored_and_says_so() {
    let hall = Hall::new().await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    let answer = hall.ask("signal", r#"{"job":"j","signal":"cancel"}"#).await.unwrap();
    assert_eq!(answer["state"], "submitted");
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!((&view["records"], &view["seq"]), (&json!(2), &answer["seq"]));
}

#[tokio::test]
async fn a_paused_job_says_why_until_it_is_resumed() {
    let hall = Hall::new().await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    let pause = r#"{"job":"j","signal":"pause","reason":"lunch"}"#;
    let paused = hall.ask("signal", pause).await.unwrap();
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!((&view["sub_status"], &view["reason"]), (&json!("paused"), &json!("lunch")));
    assert_eq!((&view["state"], &view["seq"]), (&paused["state"], &paused["seq"]));
    hall.ask("signal", r#"{"job":"j","signal":"resume"}"#).await.unwrap();
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!(view["sub_status"], json!(null));
}

#[tokio::test]
async fn a_reason_without_end_is_refused() {
    let hall = Hall::new().await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    let body = json!({"job": "j", "signal": "pause", "reason": "x".repeat(5_000)}).to_string();
    assert_eq!(hall.refused("signal", body).await, (Code::TooLarge, "reason".to_owned()));
    let records = hall.broker.log.read(&JobId::new("j").unwrap(), Seq(0)).await.unwrap();
    assert_eq!(records.len(), 1);
}

#[tokio::test]
async fn a_signal_for_an_older_state_is_refused_and_of_many_for_this_one_is_stored() {
    let hall = Hall::new().await;
    hall.ask("submit", r#"{"id":"j","goal":"g"}"#).await.unwrap();
    let send = async |signal: &str, seen: &serde_json::Value| {
        let body = json!({"job": "j", "signal": signal, "expected_seq": seen});
        hall.ask("signal", body.to_string()).await
    };
    let seen = hall.ask("get", r#"{"job":"j"}"#).await.unwrap()["seq"].clone();
    let sent = futures::future::join_all((0..8).map(|_| send("pause", &seen))).await;
    let (stored, refused): (Vec<_>, Vec<_>) = sent.into_iter().partition(Result::is_ok);
    assert_eq!((stored.len(), refused.len()), (1, 7));
    for refused in refused {
        let refused = refused.unwrap_err();
        assert_eq!((refused.code, refused.field.as_deref()), (Code::Stale, Some("expected_seq")));
    }
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!((&view["records"], &view["sub_status"]), (&json!(2), &json!("paused")));
    // A record that is not there yet was seen by nobody.
    let ahead = json!(view["seq"].as_u64().unwrap() + 1);
    for old in [&seen, &ahead] {
        let body = json!({"signal": {"job": "j", "signal": "resume", "expected_seq": old}});
        let previewed = hall.ask("preview", body.to_string()).await.unwrap();
        assert_eq!(previewed["refused"]["code"], "stale", "{previewed}");
        assert_eq!(send("resume", old).await.unwrap_err().code, Code::Stale);
    }
    send("resume", &view["seq"]).await.unwrap();
}
