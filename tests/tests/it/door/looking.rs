//! Tests of `get`, `list`, `tools` and `crew`.

use std::{sync::Arc, time::Duration};

use broker::{
    kv::Bucket,
    memory::{MemoryOptions, VirtualClock},
    testing::wait::eventually,
};
use bytes::Bytes;
use proto::{error::Code, fact::Source, id::JobId};
use rstest::rstest;
use serde_json::{Value, json};

use super::hall::{Hall, Setup, ask, open};
use crate::supervisor::company::Company;

#[rstest]
#[case("get", "", Code::InvalidRequest, "")]
#[case("get", "{}", Code::InvalidRequest, "job")]
#[case("get", r#"["j"]"#, Code::InvalidRequest, "")]
#[case("get", r#"{"job":"*"}"#, Code::InvalidId, "job")]
#[case("get", r#"{"job":"nobody"}"#, Code::NotFound, "job")]
#[case("get", r#"{"job":"j","deep":1}"#, Code::InvalidRequest, "deep")]
#[case("list", r#"{"limit":0}"#, Code::InvalidRequest, "limit")]
#[case("list", r#"{"limit":501}"#, Code::InvalidRequest, "limit")]
#[case("list", r#"{"states":["sleeping"]}"#, Code::InvalidRequest, "states[0]")]
#[case("count", r#"{"state":"open"}"#, Code::InvalidRequest, "state")]
#[case("tools", r#"{"x":1}"#, Code::InvalidRequest, "x")]
#[case("crew", "[]", Code::InvalidRequest, "")]
#[case("watch", r#"{"job":"nobody"}"#, Code::NotFound, "job")]
#[case("watch", r#"{"job":"j","after":-1}"#, Code::InvalidRequest, "after")]
#[case("signal", r#"{"job":"nobody","signal":"cancel"}"#, Code::NotFound, "job")]
#[case("signal", r#"{"job":"j","signal":"stop"}"#, Code::InvalidRequest, "signal")]
#[case("signal", r#"{"job":"j","signal":"cancel","by":"a\nb"}"#, Code::InvalidRequest, "by")]
#[tokio::test]
async fn a_bad_request_is_refused_by_code_and_field(
    #[case] verb: &str,
    #[case] body: &str,
    #[case] code: Code,
    #[case] field: &str,
) {
    let hall = Hall::new().await;
    assert_eq!(hall.refused(verb, body).await, (code, field.to_owned()));
}

#[tokio::test]
async fn an_announcement_that_cannot_be_used_is_listed_with_the_reason() {
    let hall = Hall::new().await;
    let fax = json!({"name": "fax", "description": "Faxes.", "schema": {"type": "object"},
                     "effect": "once", "pool": "python", "timeout_ms": 0, "by": "w1"});
    let value = Bytes::from(fax.to_string());
    hall.broker.kv.put(Bucket::Tools, "fax", value).await.unwrap();
    let listed = eventually("the announcement", async || {
        let listed = hall.ask("tools", "{}").await.unwrap();
        if listed["refused"].is_null() { Err(listed) } else { Ok(listed) }
    })
    .await;
    assert_eq!(listed["tools"], json!([]));
    assert_eq!(listed["refused"][0]["name"], "fax");
    assert!(listed["refused"][0]["why"].as_str().unwrap().contains("timeout_ms"), "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_shown_as_its_log_says() {
    let company = Company::at_work(MemoryOptions::default(), "s1 s2<s1").await;
    let _door = open(&company.memory, Setup::default()).await;
    let job = company.submit("j").await;
    company.ended(&job).await;
    let view = ask(&company.broker, "get", r#"{"job":"j"}"#, None).await.unwrap();
    assert_eq!((&view["state"], &view["goal"]), (&json!("completed"), &json!("g")));
    assert_eq!(view["plan"]["steps"][1]["depends_on"], json!(["s1"]));
}

#[tokio::test(start_paused = true)]
async fn jobs_are_listed_newest_first_over_all_shards_and_by_state() {
    let clock = Arc::new(VirtualClock::new());
    let options = MemoryOptions { clock, ..MemoryOptions::default() };
    let hall = Hall::with(options, Setup::default()).await;
    for n in 0..30 {
        hall.ask("submit", format!(r#"{{"id":"j{n}","goal":"goal {n}\nmore"}}"#)).await.unwrap();
        // The server's time orders entries of different shards.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let names = |listed: &Value| -> Vec<String> {
        let jobs = listed["jobs"].as_array().unwrap();
        jobs.iter().map(|job| job["job"].as_str().unwrap().to_owned()).collect()
    };
    let page = hall.ask("list", r#"{"limit":7}"#).await.unwrap();
    let newest: Vec<_> = (23..30).rev().map(|n| format!("j{n}")).collect();
    assert_eq!((names(&page), &page["more"]), (newest, &json!(true)));
    assert_eq!(page["jobs"][0]["goal"], "goal 29");
    let all = hall.ask("list", "").await.unwrap();
    assert_eq!((names(&all).len(), &all["more"]), (30, &json!(false)));
    let exact = hall.ask("list", r#"{"limit":30}"#).await.unwrap();
    assert_eq!((names(&exact).len(), &exact["more"]), (30, &json!(false)));
    // Page by page, during further submissions.
    for limit in [1, 7, 30] {
        let (mut paged, mut body) = (Vec::new(), json!({"limit": limit}));
        loop {
            let page = hall.ask("list", body.to_string()).await.unwrap();
            paged.extend(names(&page));
            assert_eq!(page["next"].is_string(), page["more"] == json!(true), "{page}");
            let Some(next) = page["next"].as_str() else { break };
            body["after"] = next.into();
            let id = format!("new{limit}-{}", paged.len());
            hall.ask("submit", json!({"id": id, "goal": "g"}).to_string()).await.unwrap();
        }
        paged.retain(|job| !job.starts_with("new"));
        assert_eq!(paged, names(&all), "by {limit}");
    }
    let gone = hall.refused("list", r#"{"after":"nobody"}"#).await;
    assert_eq!(gone, (Code::NotFound, "after".to_owned()));
    let before =
        hall.ask("list", r#"{"states":["submitted"],"after":"j2","limit":9}"#).await.unwrap();
    assert_eq!((names(&before), &before["more"]), (vec!["j1".into(), "j0".into()], &json!(false)));
    let counted = hall.ask("count", "").await.unwrap();
    let open = hall.ask("list", r#"{"limit":500}"#).await.unwrap();
    assert_eq!(
        counted,
        json!({"open": names(&open).len(), "completed": 0, "failed": 0, "canceled": 0})
    );
    let none = hall.ask("list", r#"{"states":["completed","failed"]}"#).await.unwrap();
    assert_eq!(none, json!({"jobs": [], "more": false}));
    let some = r#"{"states":["submitted"],"limit":3,"after":"j28"}"#;
    let some = hall.ask("list", some).await.unwrap();
    assert_eq!((names(&some), &some["more"]), (names(&page)[2..5].to_vec(), &json!(true)));
}

/// A record of an unknown kind.
const DANCED: &[u8] = br#"{"v":1,"kind":"danced","id":"x","by":"w9","body":{}}"#;

#[tokio::test]
async fn a_job_with_a_record_that_cannot_be_read_is_shown_and_hides_no_other() {
    let hall = Hall::new().await;
    for id in ["good", "bad"] {
        hall.ask("submit", format!(r#"{{"id":"{id}","goal":"g"}}"#)).await.unwrap();
    }
    let bad = JobId::new("bad").unwrap();
    let subject = hall.broker.log.subjects().fact(&bad, &Source::Door);
    let seq = hall.memory.store_raw(&subject, Bytes::from_static(DANCED)).unwrap();
    let view = hall.ask("get", r#"{"job":"bad"}"#).await.unwrap();
    assert_eq!(view["sub_status"], "poisoned");
    assert!(view["reason"].as_str().unwrap().contains(&format!("record {seq}")), "{view}");
    assert_eq!(hall.jobs().await.len(), 2);
    let (code, _) = hall.refused("signal", r#"{"job":"bad","signal":"pause"}"#).await;
    assert_eq!(code, Code::Poisoned);
}

#[tokio::test]
async fn a_job_whose_first_record_cannot_be_read_is_poisoned_and_its_id_is_taken() {
    let hall = Hall::new().await;
    let job = JobId::new("j").unwrap();
    let subject = hall.broker.log.subjects().fact(&job, &Source::Door);
    hall.memory.store_raw(&subject, Bytes::from_static(b"\xff")).unwrap();
    assert_eq!(hall.refused("get", r#"{"job":"j"}"#).await.0, Code::Poisoned);
    assert_eq!(hall.refused("submit", r#"{"id":"j","goal":"g"}"#).await.0, Code::Poisoned);
}

#[tokio::test]
async fn tools_and_crew_are_shown() {
    let hall = Hall::new().await;
    assert_eq!(hall.ask("tools", "").await.unwrap(), json!({"tools": []}));
    assert_eq!(hall.ask("crew", "{}").await.unwrap(), json!({"workers": []}));
}
