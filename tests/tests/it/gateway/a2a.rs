//! Tests of the A2A server with its official clients, and with requests that these do not send.

use std::process::Stdio;

use callboard_tests::{installed, root};
use reqwest::{Method, StatusCode, header};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::{Stage, agui::scripted, mcp, taken};

/// Sends a request in a version, and returns the reply.
pub(super) async fn sent(stage: &Stage, token: &str, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let request = stage.request(Method::POST, "/a2a").header("a2a-version", "1.0");
    let (status, reply) = taken(request.bearer_auth(token).json(&body).send().await.unwrap()).await;
    assert_eq!(status, StatusCode::OK, "{reply}");
    reply
}

fn with_the_client_in_javascript(seen: &Value) {
    let skills = seen["card"]["skills"].as_array().unwrap();
    assert!(skills.iter().any(|skill| skill["id"] == "default"), "{}", seen["card"]);
    let asked = &seen["asked"];
    assert_eq!(asked["state"], "TASK_STATE_INPUT_REQUIRED", "{seen}");
    assert_eq!(asked["contextId"], "talk");
    assert_eq!(asked["question"]["question"]["kind"], "plan_check");
    assert_eq!(seen["again"]["id"], asked["id"], "a repeated message finds its task");
    let other = seen["other"]["message"].as_str().unwrap();
    assert!(other.contains("another body"), "{other}");
    assert!(seen["own"].to_string().contains("403"), "{}", seen["own"]);
    let kinds = seen["approved"]["kinds"].as_array().unwrap();
    assert_eq!(kinds.first(), Some(&json!("task")), "{kinds:?}");
    assert_eq!(seen["approved"]["last"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(
        (&seen["waiting"]["texts"], &seen["waiting"]["history"]),
        (&json!(["Whom?"]), &json!(1))
    );
    assert_eq!(seen["still"], {
        let mut still = seen["waiting"].clone();
        still["history"] = json!(3);
        still
    });
    assert_eq!(seen["ended"]["state"], "TASK_STATE_COMPLETED", "{}", seen["ended"]);
    let artifact = &seen["ended"]["artifacts"][0];
    assert!(artifact["texts"][0].as_str().is_some_and(|words| !words.is_empty()), "{artifact}");
    for refused in ["misfit", "elsewhere", "late", "cancelled", "subscribed", "missing"] {
        assert!(seen[refused]["message"].is_string(), "{refused}: {}", seen[refused]);
    }
    assert_eq!(seen["listed"]["tasks"], json!([asked["id"]]));
    assert_eq!(seen["second"]["state"], "TASK_STATE_CANCELED", "{}", seen["second"]);
}

/// Has the client in Python follow a task, and kills the gateway under it.
async fn with_the_client_in_python(stage: &mut Stage) {
    let script = root().join("tests/tests/it/gateway/a2a_client.py");
    let url = format!("http://{}", stage.address);
    let mut python = tokio::process::Command::new(installed("python"))
        .arg(script)
        .args([&url, "ann-token", "bob-token"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(python.stdout.take().unwrap()).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("following"));
    stage.gateway.restart(&stage.company);
    let seen = lines.next_line().await.unwrap().expect("what the client saw");
    let seen: Value = serde_json::from_str(&seen).unwrap();
    assert!(python.wait().await.unwrap().success());
    assert!(!seen["card"]["skills"].as_array().unwrap().is_empty(), "{seen}");
    let last = |name: &str| seen[name].as_array().unwrap().last().cloned().unwrap();
    assert_eq!(last("first"), "TASK_STATE_INPUT_REQUIRED", "{seen}");
    assert!(seen["breaks"].as_u64().unwrap() > 0, "{seen}");
    assert_eq!(seen["followed"][0], "TASK_STATE_INPUT_REQUIRED");
    assert!(seen["followed"].as_array().unwrap().contains(&json!("TASK_STATE_WORKING")), "{seen}");
    assert_eq!(
        (last("followed"), &seen["bob"]),
        (json!("TASK_STATE_INPUT_REQUIRED"), &last("first"))
    );
    assert_eq!(last("ended"), "TASK_STATE_COMPLETED");
    // A task that had ended before the stream began has its result in the first event.
    let kinds = seen["kinds"].as_array().unwrap();
    assert!(kinds.len() == 1 || kinds.contains(&json!("artifact_update")), "{seen}");
    assert_eq!(seen["whole"]["artifacts"][0]["name"], "result");
}

/// Sends what the official clients do not.
async fn with_wrong_requests(stage: &Stage) {
    let part =
        |part: Value| json!({"message": {"messageId": "w1", "role": "ROLE_USER", "parts": [part]}});
    let push = json!({"message": part(json!({"text": "x"}))["message"], "configuration": {"taskPushNotificationConfig": {"url": "https://example.com"}}});
    let raw = json!({"raw": "A".repeat(4 * 32 * 1024)});
    let wrong: &[(&str, Value, i32)] = &[
        ("SendMessage", part(json!({"video": "x"})), -32_005),
        ("SendMessage", part(raw), -32_005),
        ("SendMessage", part(json!({"url": "https://example.com/a"})), -32_602),
        ("SendMessage", json!({}), -32_602),
        ("SendMessage", push, -32_003),
        ("GetTask", json!({"id": "no such"}), -32_001),
        ("ListTasks", json!({"pageSize": 101}), -32_602),
        ("CreateTaskPushNotificationConfig", json!({}), -32_003),
        ("GetTaskPushNotificationConfig", json!({}), -32_003),
        ("ListTaskPushNotificationConfigs", json!({}), -32_003),
        ("DeleteTaskPushNotificationConfig", json!({}), -32_003),
        ("message/send", json!({}), -32_601),
    ];
    for (method, params, code) in wrong {
        let reply = sent(stage, "ann-token", method, params.clone()).await;
        assert_eq!(reply["error"]["code"], *code, "{method}: {reply}");
        assert_eq!(reply["error"]["data"][0]["domain"], "a2a-protocol.org", "{reply}");
    }
    // A page token is for its caller alone.
    let page = sent(stage, "ann-token", "ListTasks", json!({"pageSize": 1})).await;
    let token = &page["result"]["nextPageToken"];
    assert!(page["result"]["totalSize"].as_u64().unwrap() > 1, "{page}");
    let next = json!({"pageSize": 1, "pageToken": token});
    let own = sent(stage, "ann-token", "ListTasks", next.clone()).await;
    assert_ne!(own["result"]["tasks"][0]["id"], page["result"]["tasks"][0]["id"], "{own}");
    assert_eq!(sent(stage, "bob-token", "ListTasks", next).await["error"]["code"], -32_602);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ListTasks"});
    let old = stage.request(Method::POST, "/a2a").bearer_auth("ann-token").json(&body);
    let (_, old) = taken(old.send().await.unwrap()).await;
    assert_eq!(old["error"]["code"], -32_009, "{old}");
    let foreign = stage.request(Method::POST, "/a2a").header("origin", "http://evil.example");
    assert_eq!(foreign.json(&body).send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let nobody = stage.request(Method::POST, "/a2a").header("a2a-version", "1.0").json(&body);
    assert_eq!(nobody.send().await.unwrap().status(), StatusCode::UNAUTHORIZED);
}

/// A stranger learns from the card where the server is and how to sign in.
async fn with_a_card(stage: &Stage) {
    let path = "/.well-known/agent-card.json";
    let response = stage.get(path).send().await.unwrap();
    let tag = response.headers()[header::ETAG].clone();
    let card: Value = response.json().await.unwrap();
    assert_eq!(card["supportedInterfaces"][0]["url"], format!("http://{}/a2a", stage.address));
    assert_eq!(card["securityRequirements"][0]["schemes"], json!({"bearer": {"list": []}}));
    assert_eq!(card["skills"].as_array().unwrap().len(), 1, "{card}");
    let kept = stage.get(path).header(header::IF_NONE_MATCH, tag).send().await.unwrap();
    assert_eq!(kept.status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_agents_give_tasks_and_another_person_approves_them() {
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    let mut stage = mcp::stage(&config).await;
    let url = format!("http://{}", stage.address);
    let seen = scripted("a2a.cjs", &[&url, "ann-token", "bob-token"]).await;
    with_the_client_in_javascript(&seen);
    with_the_client_in_python(&mut stage).await;
    with_a_card(&stage).await;
    with_wrong_requests(&stage).await;
}
