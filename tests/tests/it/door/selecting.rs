//! Tests of filters and batches, on a log in memory, whose lists read every log, and on a real
//! nats-server, whose lists read the index.

use broker::{
    Broker,
    memory::{Memory, MemoryOptions},
    nats::{NatsOptions, connect},
    testing::{NatsServer, wait::eventually},
};
use proto::{
    error::Code,
    id::{JobId, WorkerId},
    subject::Subjects,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::hall::{Hall, OpenDoor, Setup, ask, open, open_on};

/// An installation with one door, and the server that it needs.
pub(super) struct House {
    pub(super) broker: Broker,
    _door: OpenDoor,
    _server: Option<NatsServer>,
}

impl House {
    async fn new(has_server: bool) -> Self {
        Self::with(has_server, Setup::default()).await
    }

    pub(super) async fn with(has_server: bool, setup: Setup) -> Self {
        let subjects = || Subjects::new("cb", 2).unwrap();
        let named = |name| WorkerId::new(name).unwrap();
        if !has_server {
            let memory = Memory::new(subjects(), MemoryOptions::default());
            let _door = open(&memory, setup).await;
            return Self { broker: memory.connect(named("test")), _door, _server: None };
        }
        let server = NatsServer::start().await;
        let servers = vec![server.url().to_owned()];
        let options = NatsOptions { servers, ..NatsOptions::default() };
        let broker = connect(&options, subjects(), named("test")).await.unwrap();
        let of_door = connect(&options, subjects(), named("door")).await.unwrap();
        let _door = open_on(of_door, setup).await;
        Self { broker, _door, _server: Some(server) }
    }

    pub(super) async fn ask(&self, verb: &str, body: &Value) -> Value {
        ask(&self.broker, verb, body.to_string(), None).await.unwrap()
    }

    pub(super) async fn refused(&self, verb: &str, body: &Value) -> (Code, String) {
        let failure = ask(&self.broker, verb, body.to_string(), None).await.unwrap_err();
        (failure.code, failure.field.unwrap_or_default())
    }

    /// Returns the ids of all jobs that match, page by page.
    async fn listed(&self, filter: &Value, limit: u32) -> String {
        let (mut names, mut body) = (Vec::new(), filter.clone());
        body["limit"] = limit.into();
        loop {
            let page = self.ask("list", &body).await;
            let jobs = page["jobs"].as_array().unwrap();
            names.extend(jobs.iter().map(|job| job["job"].as_str().unwrap().to_owned()));
            let Some(next) = page["next"].as_str() else {
                assert_eq!((&page["more"], &page["reached"]), (&json!(false), &Value::Null));
                return names.join(" ");
            };
            let last = self.ask("get", &json!({"job": next})).await;
            assert_eq!(page["reached"], last["created"], "{page}");
            body["after"] = next.into();
        }
    }
}

/// Submits six jobs that differ, and returns the times of their submissions.
async fn fill(house: &House) -> Vec<String> {
    let mut created = Vec::new();
    for (n, (goal, agent, team)) in [
        ("Pay the rent", "default", "billing"),
        ("pay the Tax\nnow", "default", "sales"),
        ("Sing 房租", "unattended", "billing"),
        ("Sing loudly", "unattended", "sales"),
        ("Pay again", "unattended", "billing"),
        ("Rest", "default", "billing"),
    ]
    .into_iter()
    .enumerate()
    {
        let labels = json!({"team": team, "env": if n < 3 { "prod" } else { "test" }});
        let conversation = if n % 2 == 0 { json!("even") } else { Value::Null };
        let job = json!({"id": format!("j{n}"), "goal": goal, "agent": agent, "labels": labels, "conversation": conversation});
        house.ask("submit", &job).await;
        let view = house.ask("get", &json!({"job": format!("j{n}")})).await;
        assert_eq!(view["labels"], labels);
        created.push(view["created"].as_str().unwrap().to_owned());
        // Lists are ordered by the server's time.
        eventually("a later time", async || {
            let now = jiff::Timestamp::now().to_string();
            if now > created[n] { Ok(()) } else { Err(now) }
        })
        .await;
    }
    created
}

#[rstest]
#[tokio::test]
async fn jobs_are_listed_and_counted_by_one_filter(#[values(false, true)] has_server: bool) {
    let house = House::new(has_server).await;
    let created = fill(&house).await;
    let every = json!({"states": ["submitted"]});
    house.ask("count", &every).await;
    for (filter, found) in [
        (json!({}), "j5 j4 j3 j2 j1 j0"),
        (every, "j5 j4 j3 j2 j1 j0"),
        (json!({"states": ["completed"]}), ""),
        (json!({"agent": "unattended"}), "j4 j3 j2"),
        (json!({"labels": {"team": "billing"}}), "j5 j4 j2 j0"),
        (json!({"labels": {"team": "billing", "env": "prod"}}), "j2 j0"),
        (json!({"labels": {"team": "billing"}, "agent": "unattended"}), "j4 j2"),
        (json!({"labels": {"zone": "1"}}), ""),
        (json!({"text": "PAY"}), "j4 j1 j0"),
        (json!({"text": "房租"}), "j2"),
        (json!({"text": "now"}), ""),
        (json!({"since": created[4]}), "j5 j4"),
        (json!({"until": created[2]}), "j1 j0"),
        (json!({"since": created[1], "until": created[3], "text": "pay"}), "j1"),
        (json!({"updated_since": created[3]}), "j5 j4 j3"),
        (json!({"conversation": "even"}), "j4 j2 j0"),
        (json!({"conversation": "even", "labels": {"env": "prod"}}), "j2 j0"),
        (json!({"parent": "j0"}), ""),
        (json!({"failure": "step_failed"}), ""),
    ] {
        let counted = house.ask("count", &filter).await;
        let count = found.split_whitespace().count();
        assert_eq!(counted["open"], json!(count), "{filter}: {counted}");
        for limit in [1, 2, 500] {
            assert_eq!(house.listed(&filter, limit).await, found, "{filter} by {limit}");
        }
    }
}

#[rstest]
#[tokio::test]
async fn a_signal_reaches_the_jobs_that_were_counted(#[values(false, true)] has_server: bool) {
    let house = House::new(has_server).await;
    fill(&house).await;
    let filter = json!({"labels": {"team": "billing"}, "text": "pay"});
    let mut batch = json!({"filter": filter, "signal": "pause", "reason": "lunch"});
    let counted = house.ask("batch", &batch).await;
    assert_eq!((&counted["count"], &counted["more"]), (&json!(2), &json!(false)), "{counted}");
    assert_eq!(counted["examples"][0]["job"], "j4", "{counted}");
    assert_eq!(house.ask("get", &json!({"job": "j4"})).await["sub_status"], Value::Null);

    batch["expected"] = json!(3);
    assert_eq!(house.refused("batch", &batch).await, (Code::Stale, "expected".to_owned()));
    assert_eq!(house.ask("get", &json!({"job": "j4"})).await["sub_status"], Value::Null);
    batch["expected"] = json!(2);
    let sent = house.ask("batch", &batch).await;
    let outcomes: Vec<_> = sent["outcomes"].as_array().unwrap().iter().collect();
    let jobs: Vec<_> = outcomes.iter().map(|one| (&one["job"], &one["error"])).collect();
    let (j4, j0) = (json!("j4"), json!("j0"));
    assert_eq!(jobs, [(&j4, &Value::Null), (&j0, &Value::Null)], "{sent}");
    for job in ["j0", "j4"] {
        let view = house.ask("get", &json!({"job": job})).await;
        assert_eq!((&view["sub_status"], &view["reason"]), (&json!("paused"), &json!("lunch")));
    }
    // The signal applies to none of them any more, and a resume to these alone.
    assert_eq!(house.refused("batch", &batch).await.0, Code::Stale);
    let resume = json!({"filter": {}, "signal": "resume"});
    assert_eq!(house.ask("batch", &resume).await["count"], json!(2));
    let recover = json!({"filter": {}, "signal": {"recover": {}}});
    assert_eq!(house.ask("batch", &recover).await["count"], json!(0));
    let failed = json!({"filter": {"failure": "step_failed"}, "signal": "cancel"});
    assert_eq!(house.ask("batch", &failed).await["count"], json!(0));
}

#[rstest]
#[case("submit", r#"{"goal":"g","labels":{"Team":"x"}}"#, Code::InvalidRequest, "labels")]
#[case("submit", r#"{"fork":{"job":"j"},"labels":{"team":"x"}}"#, Code::InvalidRequest, "labels")]
#[case("list", r#"{"labels":{"team":7}}"#, Code::InvalidRequest, "labels.team")]
#[case("count", r#"{"since":"yesterday"}"#, Code::InvalidRequest, "since")]
#[case(
    "batch",
    r#"{"filter":{"agents":"x"},"signal":"cancel"}"#,
    Code::InvalidRequest,
    "filter.agents"
)]
#[case("batch", r#"{"filter":{},"signal":{"steer":{"text":"x"}}}"#, Code::InvalidRequest, "signal")]
#[case("batch", r#"{"signal":"cancel"}"#, Code::InvalidRequest, "filter")]
#[tokio::test]
async fn a_wrong_filter_or_batch_is_refused_by_its_field(
    #[case] verb: &str,
    #[case] body: &str,
    #[case] code: Code,
    #[case] field: &str,
) {
    let hall = Hall::new().await;
    let refused = hall.refused(verb, body).await;
    assert_eq!(refused.0, code);
    assert!(refused.1.starts_with(field), "{refused:?}");
    assert!(hall.broker.log.first(&JobId::new("j").unwrap()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_fork_has_the_labels_of_its_job() {
    let house = House::new(false).await;
    house.ask("submit", &json!({"id": "j", "goal": "g", "labels": {"team": "x"}})).await;
    house.ask("submit", &json!({"id": "f", "fork": {"job": "j"}})).await;
    assert_eq!(house.ask("get", &json!({"job": "f"})).await["labels"], json!({"team": "x"}));
}
