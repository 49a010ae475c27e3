//! Tests of `dead`, and of the retry signal for what it shows.

use broker::memory::MemoryOptions;
use machine::Job;
use proto::{
    error::Code,
    fact::{Fact, Planned, Source},
    id::{Attempt, JobId, Seq},
};
use rstest::rstest;
use runtime::telemetry::new_trace;
use serde_json::{Value, json};

use super::hall::{Hall, Setup, ask, open};
use crate::supervisor::company::Company;

/// An agent with one attempt at everything, which parks exhausted work.
const PARKS: &str = r#"{"id":"j","goal":"g","agent":{"confirm":false,"tool":{"retry":{"max_attempts":1},"on_given_up":"park"}}}"#;

async fn letters(company: &Company, body: &str) -> Vec<Value> {
    let found = ask(&company.broker, "dead", body, None).await.unwrap();
    assert_eq!(found["more"], false);
    found["letters"].as_array().unwrap().clone()
}

/// Appends a transient failure of the planner.
async fn planner_broke(company: &Company, job: &JobId, attempt: u32) {
    let planned: Planned = serde_json::from_value(json!({
        "work": "g0.p1", "attempt": attempt,
        "reply": {"type": "failed", "error": {"message": "503", "transient": true}},
    }))
    .unwrap();
    company.broker.log.append(job, &Fact::Planned(planned), new_trace()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_was_given_up_is_shown_and_a_retry_gives_it_another_attempt() {
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    let _door = open(&company.memory, Setup::default()).await;
    ask(&company.broker, "submit", PARKS, None).await.unwrap();
    let job = JobId::new("j").unwrap();
    let sent = |attempt| {
        move |job: &Job| job.waits().commands.iter().any(|c| c.attempt == Attempt(attempt))
    };
    company.until(&job, sent(1)).await;
    assert_eq!(letters(&company, "").await, Vec::<Value>::new());
    planner_broke(&company, &job, 1).await;
    company.until(&job, |job| !job.waits().given_up.is_empty()).await;
    let found = letters(&company, r#"{"job":"j"}"#).await;
    assert_eq!(found, letters(&company, "").await);
    assert_eq!(found, letters(&company, r#"{"limit":1}"#).await);
    let entries = company.broker.log.read(&job, Seq(0)).await.unwrap();
    let broke = entries.last().unwrap();
    let shown = json!([{
        "job": "j", "kind": "given_up", "seq": broke.seq, "reason": "503", "since": broke.time,
        "work": "g0.p1", "attempt": 1,
    }]);
    assert_eq!(Value::Array(found), shown);

    let retry = r#"{"job":"j","signal":"retry","reason":"it is back","by":"ann"}"#;
    assert_eq!(ask(&company.broker, "signal", retry, None).await.unwrap()["state"], "working");
    company.until(&job, sent(2)).await;
    assert_eq!(letters(&company, "").await, Vec::<Value>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_parked_at_a_record_hears_a_retry_and_a_cancellation_alone() {
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    let _door = open(&company.memory, Setup::default()).await;
    let job = company.submit("j").await;
    company.until(&job, |job| job.last_decision() > Seq(0)).await;
    let subject = company.broker.log.subjects().fact(&job, &Source::Door);
    let strange = br#"{"v":1,"kind":"danced","id":"x","by":"w9","body":{}}"#.to_vec();
    company.memory.store_raw(&subject, strange.into()).unwrap();
    let parked = company.until(&job, |job| job.poison().is_some()).await;
    let found = letters(&company, "").await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["kind"], "unreadable");
    assert_eq!(found[0]["seq"], json!(parked.poison().unwrap().seq));
    assert_eq!(found[0]["reason"], "unknown kind \"danced\"");
    for signal in ["pause", "resume"] {
        let body = json!({"job": "j", "signal": signal}).to_string();
        let refused = ask(&company.broker, "signal", &body, None).await.unwrap_err();
        assert_eq!(refused.code, Code::Poisoned);
    }
    let retry = r#"{"job":"j","signal":"retry"}"#;
    let heard = ask(&company.broker, "signal", retry, None).await.unwrap();
    let last = company.broker.log.read(&job, Seq(0)).await.unwrap().last().unwrap().seq;
    assert_eq!(heard, json!({"job": "j", "state": "working", "seq": last}));
    let cancel = r#"{"job":"j","signal":"cancel"}"#;
    let ended = ask(&company.broker, "signal", cancel, None).await.unwrap();
    assert_eq!(ended["state"], "canceled");
    assert_eq!(letters(&company, "").await, Vec::<Value>::new());
}

#[rstest]
#[case(r#"{"limit":0}"#, Code::InvalidRequest, "limit")]
#[case(r#"{"limit":501}"#, Code::InvalidRequest, "limit")]
#[case(r#"{"job":"*"}"#, Code::InvalidId, "job")]
#[case(r#"{"job":"nobody"}"#, Code::NotFound, "job")]
#[case(r#"{"deep":1}"#, Code::InvalidRequest, "deep")]
#[tokio::test]
async fn a_bad_request_is_refused(#[case] body: &str, #[case] code: Code, #[case] field: &str) {
    let hall = Hall::new().await;
    assert_eq!(hall.refused("dead", body).await, (code, field.to_owned()));
}

#[tokio::test]
async fn a_retry_of_a_job_that_has_ended_is_refused() {
    let company = Company::at_work(MemoryOptions::default(), "s1").await;
    let _door = open(&company.memory, Setup::default()).await;
    let job = company.submit("j").await;
    company.ended(&job).await;
    let retry = r#"{"job":"j","signal":"retry"}"#;
    let refused = ask(&company.broker, "signal", retry, None).await.unwrap_err();
    assert_eq!(refused.code, Code::JobEnded);
}
