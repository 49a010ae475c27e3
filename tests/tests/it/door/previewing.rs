//! Tests of previews: they say what a signal or a fork does, and change nothing.

use broker::testing::jobs;
use proto::{
    error::Code,
    fact::{Called, Fact},
    id::{JobId, Seq},
    tool::{Effect, ToolResult},
};
use serde_json::{Value, json};

use super::{
    families::sending_below,
    hall::{Hall, Setup, ask},
    people::people,
    turning::{drive, tell},
};

/// Creates a job that has sent two mails, and returns the position of its plan.
async fn mailing(hall: &Hall) -> (JobId, Seq) {
    let job = JobId::new("j").unwrap();
    hall.ask("submit", r#"{"id":"j","goal":"send","agent":"unattended"}"#).await.unwrap();
    drive(hall, &job).await;
    let step = |step| jobs::step(step, "mail", json!({}), jobs::binding(Effect::Once));
    tell(hall, &job, Fact::Planned(jobs::planned(["one", "two<one"].map(step).to_vec()))).await;
    let planned = records(hall, &job).await;
    for work in ["g0.r0.one", "g0.r0.two"] {
        tell(hall, &job, jobs::started(work, 1)).await;
        let called = Called { result: ToolResult::ok(json!("sent")), ..jobs::called(work) };
        tell(hall, &job, Fact::Called(called)).await;
    }
    let entries = hall.broker.log.read(&job, Seq(0)).await.unwrap();
    let plan = entries.iter().find(|entry| entry.record.as_ref().unwrap().kind == "planned");
    assert!(planned < entries.len());
    (job, plan.unwrap().seq)
}

async fn records(hall: &Hall, job: &JobId) -> usize {
    hall.broker.log.read(job, Seq(0)).await.unwrap().len()
}

fn signal(job: &JobId, signal: &Value) -> String {
    json!({"signal": {"job": job, "signal": signal}}).to_string()
}

#[tokio::test]
async fn a_rollback_is_previewed_with_its_refusal_and_changes_nothing_until_it_is_sent() {
    let hall = Hall::new().await;
    let (job, planned) = mailing(&hall).await;
    let before = records(&hall, &job).await;
    let back = |again: bool| json!({"roll_back": {"to": planned, "again": again}});
    let previewed = hall.ask("preview", signal(&job, &back(false))).await.unwrap();
    assert_eq!(previewed["refused"]["code"], "would_repeat", "{previewed}");
    let allowed = hall.ask("preview", signal(&job, &back(true))).await.unwrap();
    assert_eq!(allowed["refused"], Value::Null, "{allowed}");
    for previewed in [&previewed, &allowed] {
        let steps: Vec<_> = previewed["steps"].as_array().unwrap().iter().collect();
        assert_eq!(steps.iter().map(|step| &step["id"]).collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(previewed["effects"], json!([{"tool": "mail", "effect": "once", "calls": 2}]));
        let text = previewed["text"].as_str().unwrap();
        assert!(text.ends_with("What mail did outside stays done."), "{text}");
        assert_eq!(previewed["sentences"][0]["name"], "roll_back");
    }
    assert_eq!(records(&hall, &job).await, before);
    // The rollback does as the preview said.
    let sent = json!({"job": job, "signal": back(true)}).to_string();
    hall.ask("signal", sent).await.unwrap();
    let entries = hall.broker.log.read(&job, Seq(0)).await.unwrap();
    let gone = entries.iter().filter(|entry| entry.seq > planned).count() - 1;
    assert_eq!(allowed["records"], gone);
    let folded = drive(&hall, &job).await;
    let steps = folded.view().unwrap().plan.unwrap().steps;
    assert!(!steps[0].state.is_terminal() && steps[0].started.is_some());
}

#[tokio::test]
async fn a_fork_and_a_restart_are_previewed_by_their_own_requests() {
    let hall = Hall::new().await;
    let (job, planned) = mailing(&hall).await;
    let fork = json!({"fork": {"job": job, "at": planned, "again": true}}).to_string();
    let previewed = hall.ask("preview", fork).await.unwrap();
    assert_eq!(previewed["refused"], Value::Null);
    assert!(previewed["text"].as_str().unwrap().starts_with("A new job continues from record"));
    let names: Vec<_> =
        previewed["sentences"].as_array().unwrap().iter().map(|s| &s["name"]).collect();
    assert_eq!(names, ["fork_at", "again", "outside"]);
    let restart = json!({"restart": {"step": "two", "again": true}});
    let previewed = hall.ask("preview", signal(&job, &restart)).await.unwrap();
    let text = previewed["text"].as_str().unwrap();
    assert!(text.starts_with("The job goes back to before "), "{text}");
    assert_eq!(previewed["steps"].as_array().unwrap().len(), 1);
    assert_eq!(previewed["effects"][0]["calls"], 1);
    // The job has completed: what needs a running job is refused, and what does not exist, too.
    for (order, code) in [
        (json!("cancel"), Code::JobEnded),
        (json!({"restart": {"step": "ten"}}), Code::NotFound),
        (json!({"recover": {}}), Code::InvalidRequest),
    ] {
        let previewed = hall.ask("preview", signal(&job, &order)).await.unwrap();
        assert_eq!(previewed["refused"]["code"], code.as_str(), "{order}");
        let sent = json!({"job": job, "signal": order}).to_string();
        assert_eq!(hall.refused("signal", sent).await.0, code);
    }
    let nowhere = JobId::new("nowhere").unwrap();
    assert_eq!(hall.refused("preview", signal(&nowhere, &json!("pause"))).await.0, Code::NotFound);
}

#[tokio::test]
async fn the_jobs_below_that_end_are_named_and_their_effects_stay() {
    let hall = Hall::new().await;
    let (job, planned, child) = sending_below(&hall).await;
    let cancel = hall.ask("preview", signal(&job, &json!("cancel"))).await.unwrap();
    assert_eq!(cancel["ends"], json!([child]));
    assert_eq!(cancel["sentences"][0]["name"], "cancel_one_below");
    let back = json!({"roll_back": {"to": planned}});
    let previewed = hall.ask("preview", signal(&job, &back)).await.unwrap();
    assert_eq!(previewed["refused"]["code"], "would_repeat");
    assert_eq!(previewed["ends"], json!([child]));
    assert_eq!(previewed["effects"], json!([{"tool": "send", "effect": "once", "calls": 1}]));
}

#[tokio::test]
async fn a_preview_needs_the_roles_of_its_request() {
    let setup = Setup { people: people(), ..Setup::default() };
    let hall = Hall::with(Default::default(), setup).await;
    let (ann, bob) = (Some("ann-token"), Some("bob-token"));
    let ask = async |body: &str, token| {
        ask(&hall.broker, "preview", body, token).await.map_err(|failure| failure.code)
    };
    super::hall::ask(&hall.broker, "submit", r#"{"id":"j","goal":"g"}"#, ann).await.unwrap();
    let signal = r#"{"signal":{"job":"j","signal":"pause"}}"#;
    let fork = r#"{"fork":{"job":"j"}}"#;
    assert_eq!(ask(signal, ann).await, Err(Code::Forbidden));
    assert!(ask(signal, bob).await.is_ok());
    assert_eq!(ask(fork, bob).await, Err(Code::Forbidden));
    assert!(ask(fork, ann).await.is_ok());
    assert_eq!(ask("{", None).await, Err(Code::Forbidden));
}
