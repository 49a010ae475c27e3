//! Tests of conversations: the earlier exchanges that a job receives, read from their logs at the
//! submission and stored with the job.

use broker::{Broker, kv::Bucket, memory::MemoryOptions};
use bytes::Bytes;
use proto::{
    conversation::Conversation,
    decision::Decision,
    error::Code,
    fact::Fact,
    id::{JobId, Seq},
    job::JobState,
    record::Known,
};
use serde_json::{Value, json};

use super::hall::{Hall, Setup, ask, open};
use crate::supervisor::company::Company;

async fn submit(broker: &Broker, id: &str, more: Value) -> Value {
    let mut body = json!({"id": id, "goal": format!("goal of {id}"), "conversation": "trip", "agent": {"confirm": false}});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    ask(broker, "submit", body.to_string(), None).await.unwrap()
}

/// Returns the conversation that is stored with a job.
async fn stored(broker: &Broker, id: &str) -> Conversation {
    let entries = broker.log.read(&JobId::new(id).unwrap(), Seq(0)).await.unwrap();
    let Known::Fact(fact) = entries[0].record.as_ref().unwrap().known().unwrap() else {
        panic!("no fact")
    };
    let Fact::Submitted(submitted) = *fact else { panic!("no submission") };
    submitted.conversation.expect("it is of a conversation")
}

fn told(conversation: &Conversation) -> Vec<(&str, &str, JobState)> {
    conversation.earlier.iter().map(|e| (e.job.as_str(), e.goal.as_str(), e.state)).collect()
}

async fn listed(broker: &Broker, body: &str) -> Vec<String> {
    let listed = ask(broker, "list", body, None).await.unwrap();
    let jobs = listed["jobs"].as_array().unwrap();
    jobs.iter().map(|job| job["job"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_told_what_was_asked_and_answered_before_it() {
    let company = Company::at_work(MemoryOptions::default(), "s1").await;
    let _door = open(&company.memory, Setup::default()).await;
    submit(&company.broker, "a", json!({})).await;
    company.ended(&JobId::new("a").unwrap()).await;
    submit(&company.broker, "b", json!({"agent": {"confirm": false, "memory": {"results": true}}}))
        .await;
    let conversation = stored(&company.broker, "b").await;
    assert_eq!(told(&conversation), [("a", "goal of a", JobState::Completed)]);
    assert_eq!(conversation.earlier[0].response, "Carried out 1 step:\n1. s1");
    assert_eq!(conversation.earlier[0].results, r#"{"s1":"s1"}"#);
    // The plan command has the exchanges, without another read of the logs.
    let first = company.ended(&JobId::new("b").unwrap()).await;
    assert_eq!(first.view().unwrap().conversation.unwrap().as_str(), "trip");
    let Some(Decision::Plan(work)) = company.first_decision(&JobId::new("b").unwrap()).await else {
        panic!("no plan")
    };
    assert_eq!(work.earlier, conversation.earlier);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_of_an_earlier_job_is_carried_over_with_its_states_and_results() {
    let company = Company::at_work(MemoryOptions::default(), "s1").await;
    let _door = open(&company.memory, Setup::default()).await;
    submit(&company.broker, "a", json!({})).await;
    company.ended(&JobId::new("a").unwrap()).await;
    for (id, memory, told) in [
        ("b", json!({}), json!([])),
        (
            "c",
            json!({"plan": true, "exchanges": 2}),
            json!([
                {"id": "s1", "label": "s1", "state": "completed", "response": "s1"},
            ]),
        ),
    ] {
        submit(&company.broker, id, json!({"agent": {"confirm": false, "memory": memory}})).await;
        let conversation = stored(&company.broker, id).await;
        assert_eq!(json!(conversation.earlier[0].plan), told, "{id}");
        company.ended(&JobId::new(id).unwrap()).await;
        let Some(Decision::Plan(work)) = company.first_decision(&JobId::new(id).unwrap()).await
        else {
            panic!("no plan")
        };
        assert_eq!(work.earlier, conversation.earlier);
    }
}

#[tokio::test]
async fn only_the_newest_are_told_and_all_are_listed() {
    let hall = Hall::new().await;
    for n in 1..=7 {
        let memory = json!({"agent": {"confirm": false, "memory": {"exchanges": 2}}});
        submit(&hall.broker, &format!("j{n}"), memory).await;
    }
    let conversation = stored(&hall.broker, "j7").await;
    let submitted = JobState::Submitted;
    assert_eq!(
        told(&conversation),
        [("j5", "goal of j5", submitted), ("j6", "goal of j6", submitted)]
    );
    assert_eq!(conversation.omitted, 4);
    hall.ask("submit", r#"{"id":"other","goal":"g"}"#).await.unwrap();
    let all = listed(&hall.broker, r#"{"conversation":"trip"}"#).await;
    assert_eq!(all, ["j7", "j6", "j5", "j4", "j3", "j2", "j1"]);
    let some = r#"{"conversation":"trip","limit":2,"states":["submitted"]}"#;
    assert_eq!(listed(&hall.broker, some).await, ["j7", "j6"]);
    let none = r#"{"conversation":"trip","states":["failed"]}"#;
    assert!(listed(&hall.broker, none).await.is_empty());
    assert!(listed(&hall.broker, r#"{"conversation":"nobody"}"#).await.is_empty());
}

#[tokio::test]
async fn a_submission_that_is_sent_again_is_the_same_job_at_the_same_place() {
    let hall = Hall::new().await;
    let first = submit(&hall.broker, "a", json!({})).await;
    submit(&hall.broker, "b", json!({})).await;
    let again = submit(&hall.broker, "a", json!({})).await;
    assert_eq!((&first["seq"], &again["created"]), (&again["seq"], &json!(false)));
    assert_eq!(listed(&hall.broker, r#"{"conversation":"trip"}"#).await, ["b", "a"]);
    let body = json!({"id": "a", "goal": "goal of a", "conversation": "elsewhere", "agent": {"confirm": false}});
    let (code, field) = hall.refused("submit", body.to_string()).await;
    assert_eq!((code, field.as_str()), (Code::IdempotencyConflict, "id"));
    assert!(listed(&hall.broker, r#"{"conversation":"elsewhere"}"#).await.is_empty());
}

#[tokio::test]
async fn a_job_that_was_announced_and_never_stored_is_passed_over() {
    let hall = Hall::new().await;
    submit(&hall.broker, "a", json!({})).await;
    // The door died after it had added `ghost` to the conversation, and before it stored the job.
    let kv = &hall.broker.kv;
    let members = kv.get(Bucket::Conversations, "trip").await.unwrap().unwrap();
    let mut value: Value = serde_json::from_slice(&members.value).unwrap();
    value["jobs"].as_array_mut().unwrap().push(json!("ghost"));
    let value = Bytes::from(value.to_string());
    kv.update(Bucket::Conversations, "trip", value, members.revision).await.unwrap();
    submit(&hall.broker, "b", json!({"agent": {"confirm": false, "memory": {"exchanges": 1}}}))
        .await;
    assert_eq!(told(&stored(&hall.broker, "b").await), [("a", "goal of a", JobState::Submitted)]);
    assert_eq!(listed(&hall.broker, r#"{"conversation":"trip"}"#).await, ["b", "a"]);
    // A repeated request gets the position of the first.
    submit(&hall.broker, "ghost", json!({})).await;
    assert_eq!(told(&stored(&hall.broker, "ghost").await).len(), 1);
    assert_eq!(listed(&hall.broker, r#"{"conversation":"trip"}"#).await, ["b", "ghost", "a"]);
}

#[tokio::test]
async fn jobs_that_join_at_once_are_all_there() {
    let hall = Hall::new().await;
    let ids: Vec<String> = (0..12).map(|n| format!("j{n}")).collect();
    let submits = ids.iter().map(|id| submit(&hall.broker, id, json!({})));
    futures::future::join_all(submits).await;
    let mut all = listed(&hall.broker, r#"{"conversation":"trip"}"#).await;
    all.sort();
    let mut ids = ids;
    ids.sort();
    assert_eq!(all, ids);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_carried_over_is_bounded_whatever_was_said() {
    let hall = Hall::new().await;
    for n in 1..=12 {
        let memory = json!({"memory": {"exchanges": 50, "chars": 10000}, "confirm": false});
        let goal = "汉".repeat(20_000);
        submit(&hall.broker, &format!("j{n}"), json!({"agent": memory, "goal": goal})).await;
    }
    let conversation = stored(&hall.broker, "j12").await;
    let bytes = serde_json::to_vec(&conversation).unwrap().len();
    assert!(bytes < 100 * 1024, "{bytes}");
    assert!(!conversation.earlier.is_empty() && conversation.omitted > 0);
    assert_eq!(conversation.earlier.last().unwrap().job.as_str(), "j11");
}

/// A client that makes the server write can damage the list of a conversation's jobs. That is no
/// reason to refuse a job.
#[tokio::test]
async fn a_conversation_whose_jobs_cannot_be_read_begins_again() {
    let hall = Hall::new().await;
    let foreign: [&[u8]; 5] =
        [b"", b"null", b"[]", br#"{"jobs":[7]}"#, br#"{"type":"x","memory":0}"#];
    for (n, value) in foreign.into_iter().enumerate() {
        hall.broker.kv.put(Bucket::Conversations, "trip", Bytes::from_static(value)).await.unwrap();
        let [first, second] = [format!("a{n}"), format!("b{n}")];
        submit(&hall.broker, &first, json!({})).await;
        assert_eq!(told(&stored(&hall.broker, &first).await), []);
        submit(&hall.broker, &second, json!({})).await;
        let goal = format!("goal of {first}");
        let earlier = stored(&hall.broker, &second).await;
        assert_eq!(told(&earlier), [(first.as_str(), goal.as_str(), JobState::Submitted)]);
        assert_eq!(listed(&hall.broker, r#"{"conversation":"trip"}"#).await, [second, first]);
    }
}
