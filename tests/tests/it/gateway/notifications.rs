//! Tests of the notifications of A2A tasks: receivers that the official client sets, and what they
//! are sent while everything dies.

use broker::testing::wait::eventually;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    Stage, a2a,
    agui::scripted,
    taken,
    webhooks::{Arrived, Obedient, stage},
};

/// An installation in which Ann submits, Bob answers, and Sue submits what she may not read.
fn config() -> String {
    let people = [
        ("ann", r#""submit", "read", "answer""#),
        ("bob", r#""read", "answer""#),
        ("sue", r#""submit""#),
        ("reader", r#""read""#),
    ];
    let people = people.map(|(name, roles)| {
        let digest = proto::digest::of_bytes(format!("{name}-token").as_bytes());
        format!("[door.people.{name}]\nroles = [{roles}]\ntoken_sha256 = \"{digest}\"\n")
    });
    let settings = "[webhooks]\ntoken = { env = \"READER\" }\nretry_after_seconds = [1, 1, 1]\n\
                    console = \"https://jobs.example.com\"\n\
                    [webhooks.a2a]\nenabled = true\nallow_http = true\nallow_private = true\n";
    settings.to_owned() + &people.concat()
}

fn said(token: &str, id: &str, task: &str, part: &Value) -> (String, Value) {
    let message = json!({"messageId": id, "taskId": task, "role": "ROLE_USER", "parts": [part]});
    let configuration = json!({"returnImmediately": true});
    (token.to_owned(), json!({"message": message, "configuration": configuration}))
}

async fn send(stage: &Stage, (token, message): (String, Value)) {
    let reply = a2a::sent(stage, &token, "SendMessage", message).await;
    assert!(reply["result"]["task"].is_object(), "{reply}");
}

/// Waits until a receiver has a notification of the task in this state with this text.
async fn told(receivers: &Obedient, state: &str, text: &str) -> Arrived {
    eventually(format!("a notification of {state}"), async || {
        let seen = receivers.of("steady");
        let found = seen.iter().find(|arrived| {
            let task = &arrived.body["task"];
            task["status"]["state"] == state && task.to_string().contains(text)
        });
        found.cloned().ok_or(seen)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn receivers_are_told_of_their_tasks_whatever_dies() {
    let receivers = Obedient::default();
    let port = receivers.clone().serve().await;
    let (mut stage, _config) = stage(&config()).await;
    let (url, receiver) = (format!("http://{}", stage.address), format!("http://127.0.0.1:{port}"));
    let seen = scripted("notifications.cjs", &[&url, "ann-token", &receiver]).await;
    assert_eq!(seen["notifies"], true);
    assert_eq!(seen["listed"], json!(["steady", "unwanted"]), "{seen}");
    assert_eq!(seen["left"], json!(["steady"]), "{seen}");
    let shown = &seen["shown"];
    assert_eq!(shown["url"], format!("{receiver}/steady"));
    assert_eq!(shown["token"], "");
    assert_eq!(shown["authentication"], json!({"scheme": "Bearer", "credentials": ""}));
    for (name, said) in [("missing", "unwanted"), ("nowhere", "https"), ("taskless", "nothing")] {
        let refused = seen[name]["message"].as_str().unwrap_or_default();
        assert!(refused.contains(said), "{name}: {seen}");
    }
    let task = seen["task"].as_str().unwrap();
    // The reply to the message shows a question that was asked before its receiver was set.
    if seen["state"] != "TASK_STATE_INPUT_REQUIRED" {
        told(&receivers, "TASK_STATE_INPUT_REQUIRED", "plan_check").await;
    }
    wants_no_more(&stage, &receivers, task, &receiver).await;

    // A try fails, and another one never ends: the gateway and the broker die in it.
    receivers.answer("steady", &[Some(500), None]);
    let before = receivers.of("steady").len();
    send(&stage, said("bob-token", "m2", task, &json!({"data": {"approved": true}}))).await;
    receivers.until("steady", before + 2).await;
    stage.gateway.kill9();
    stage.company.nats.kill9();
    stage.company.nats.restart().await;
    stage.gateway.restart(&stage.company);
    receivers.until("steady", before + 3).await;
    told(&receivers, "TASK_STATE_INPUT_REQUIRED", "Whom?").await;
    let of_task = json!({"taskId": task});
    eventually("only the receiver that wants notifications", async || {
        let list = "ListTaskPushNotificationConfigs";
        let listed = a2a::sent(&stage, "ann-token", list, of_task.clone()).await;
        let configs = listed["result"]["configs"].as_array().unwrap().iter();
        let ids: Vec<Value> = configs.map(|one| one["id"].clone()).collect();
        if ids == ["steady"] { Ok(()) } else { Err(ids) }
    })
    .await;
    send(&stage, said("ann-token", "m3", task, &json!({"text": "Ann"}))).await;
    let ended = told(&receivers, "TASK_STATE_COMPLETED", "result").await;
    assert_eq!(ended.body["task"]["id"], task);
    assert_eq!(ended.body["task"]["artifacts"][0]["name"], "result");
    let seqs = receivers.of("steady").into_iter();
    let seqs = seqs.map(|arrived| arrived.body["task"]["metadata"]["seq"].as_u64().unwrap());
    assert_eq!(seqs.max(), ended.body["task"]["metadata"]["seq"].as_u64());
    let secrets = receivers.of("steady").into_iter().map(|arrived| arrived.secrets);
    let all = [Some("Bearer c1".to_owned()), Some("t1".to_owned())];
    assert!(secrets.into_iter().all(|secrets| secrets == all));
    let gone = receivers.of("gone");
    let states: Vec<_> = gone.iter().map(|it| &it.body["task"]["status"]["state"]).collect();
    assert!(!states.is_empty() && states.iter().all(|state| **state != "TASK_STATE_COMPLETED"));
    refuses_a_receiver_of_what_its_client_may_not_read(&stage, &receiver, task).await;
}

/// Sets a receiver that answers 410.
async fn wants_no_more(stage: &Stage, receivers: &Obedient, task: &str, receiver: &str) {
    receivers.answer("gone", &[Some(410); 8]);
    let gone = json!({"taskId": task, "id": "gone", "url": format!("{receiver}/gone")});
    let set = a2a::sent(stage, "bob-token", "CreateTaskPushNotificationConfig", gone).await;
    assert_eq!(set["result"]["id"], "gone", "{set}");
}

/// Sue may submit jobs and not read them.
async fn refuses_a_receiver_of_what_its_client_may_not_read(
    stage: &Stage,
    receiver: &str,
    task: &str,
) {
    let message =
        json!({"messageId": "s1", "role": "ROLE_USER", "parts": [{"text": "two echoes"}]});
    let push = json!({"url": format!("{receiver}/sue")});
    let configuration = json!({"returnImmediately": true, "taskPushNotificationConfig": push});
    let whole = json!({"taskId": task, "id": "steady", "url": format!("{receiver}/sue")});
    for (method, params) in [
        ("SendMessage", json!({"message": message, "configuration": configuration})),
        ("CreateTaskPushNotificationConfig", whole.clone()),
        ("GetTaskPushNotificationConfig", whole.clone()),
        ("ListTaskPushNotificationConfigs", whole.clone()),
        ("DeleteTaskPushNotificationConfig", whole),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let request = stage.request(Method::POST, "/a2a").header("a2a-version", "1.0");
        let answer = request.bearer_auth("sue-token").json(&body).send().await.unwrap();
        let (status, said) = taken(answer).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{method}: {said}");
    }
    let jobs = stage.get("/v1/jobs").bearer_auth("reader-token").send().await.unwrap();
    let (_, jobs) = taken(jobs).await;
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 1, "nothing was submitted: {jobs}");
}
