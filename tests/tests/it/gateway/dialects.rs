//! One job over every protocol: the log does not tell which one submitted it.

use broker::testing::wait::eventually;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::Stage;

const TWO_ECHOES: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply:
      json:
        title: "two echoes"
        steps:
          - { id: first, description: "echo", tool: echo, args: { value: "one" } }
          - { id: last, description: "echo", depends_on: [first], tool: echo, args: { value: "two" } }
"#;

/// Fields that differ from job to job, or that name the caller and not the job.
const OWN: &[&str] =
    &["by", "conversation", "digest", "duration_ms", "id", "idempotency_key", "took_ms", "trace"];

/// A value without the fields that are the job's own.
fn common(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, _| !OWN.contains(&name.as_str()));
            fields.values_mut().for_each(|field| *field = common(field.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = common(item.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    value
}

/// Waits for the end of a job, and returns its log.
async fn log(stage: &Stage, job: &str) -> Vec<Value> {
    eventually(format!("the end of {job}"), async || {
        let view: Value =
            stage.get(&format!("/v1/jobs/{job}")).send().await.unwrap().json().await.unwrap();
        if view["state"] == "completed" { Ok(()) } else { Err(view) }
    })
    .await;
    let page = stage.read(&format!("/v1/jobs/{job}/records")).await;
    let records = page["records"].as_array().unwrap().iter();
    records
        .map(|it| json!({"family": it["family"], "kind": it["record"]["kind"], "body": common(it["record"]["body"].clone())}))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_leaves_the_same_log_over_every_protocol() {
    // A process that knows its work to be quick stores other records than the first job has.
    let stage = Stage::of(TWO_ECHOES, |company| {
        company.set("SUPERVISOR__LOCAL_WORK", "false");
    })
    .await;
    let agent =
        stage.request(Method::PUT, "/v1/agents/quiet").json(&json!({"text": "confirm: false"}));
    assert_eq!(agent.send().await.unwrap().status(), StatusCode::OK);
    eventually("the stored agent", async || {
        match stage.get("/v1/agents/quiet").send().await.unwrap().status() {
            StatusCode::OK => Ok(()),
            status => Err(status),
        }
    })
    .await;

    let submit = json!({"id": "rest", "goal": "two echoes", "agent": "quiet"});
    assert_eq!(stage.post("/v1/jobs", &submit).await.0, StatusCode::CREATED);
    let expected = log(&stage, "rest").await;
    assert!(expected.len() > 5, "{expected:#?}");

    let nats = ["submit", "two echoes", "--id", "nats", "--agent", "quiet"];
    let sent = stage.company.command().args(nats).output().unwrap();
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));

    let arguments = json!({"id": "mcp", "goal": "two echoes", "agent": "quiet"});
    let params = json!({"name": "submit_job", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let (status, reply) = stage.post("/mcp", &call).await;
    assert_eq!(status, StatusCode::OK, "{reply}");

    let say = json!([{"id": "m", "role": "user", "content": "two echoes"}]);
    let run = json!({"threadId": "talk", "runId": "r", "messages": say});
    let (status, stream) = stage.post("/agui/quiet", &run).await;
    assert_eq!(status, StatusCode::OK, "{stream}");
    assert!(stream.to_string().contains("RUN_FINISHED"), "{stream}");
    let talk = stage.read("/v1/jobs?conversation=talk").await;
    let agui = talk["jobs"][0]["job"].as_str().unwrap();

    let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "two echoes"}]});
    let params = json!({"message": message, "metadata": {"agent": "quiet"}});
    let send = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let sent = stage.request(Method::POST, "/a2a").header("a2a-version", "1.0").json(&send);
    let (status, reply) = super::taken(sent.send().await.unwrap()).await;
    let task = &reply["result"]["task"];
    assert_eq!(
        (status, &task["status"]["state"]),
        (StatusCode::OK, &json!("TASK_STATE_COMPLETED"))
    );
    let a2a = task["id"].as_str().unwrap();

    for job in ["nats", "mcp", agui, a2a] {
        assert_eq!(log(&stage, job).await, expected, "{job}");
    }
}
