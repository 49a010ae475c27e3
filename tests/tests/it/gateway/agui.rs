//! Tests of AG-UI with its official client.

use std::{path::PathBuf, process::Stdio};

use callboard_tests::{installed, root};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Stage, four_eyes::Office};

/// Runs a script of these tests with the official clients, and returns what it printed.
pub(super) async fn scripted(script: &str, arguments: &[&str]) -> Value {
    let beside = installed("npm").with_file_name("node");
    let node = if beside.exists() { beside } else { PathBuf::from("node") };
    let mut command = tokio::process::Command::new(node);
    command
        .arg(root().join("tests/tests/it/gateway").join(script))
        .args(arguments)
        .env("NODE_PATH", installed("clients").join("node_modules"))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = command.output().await.expect("make npm installs Node.js");
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}: {err}\n{out}");
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{script}: {error}: {out}\n{err}"))
}

/// Returns the types of the events of a run, without neighbours of the same type.
fn types(run: &Value) -> Vec<&str> {
    let events = run["events"].as_array().unwrap().iter();
    let mut types: Vec<&str> = events.map(|event| event["type"].as_str().unwrap()).collect();
    types.dedup();
    types
}

#[tokio::test(flavor = "multi_thread")]
async fn the_official_client_runs_an_agent_answers_it_and_repeats_a_run() {
    let stage = Stage::start().await;
    let url = format!("http://{}/agui/default", stage.address);
    let seen = scripted("agui.cjs", &[&url, "thread-1"]).await;
    let runs = seen["runs"].as_array().unwrap();
    for run in runs.iter().chain([&seen["again"], &seen["repeated"]]) {
        assert_eq!(run["failed"], Value::Null, "{run}");
        assert_eq!(types(run).first(), Some(&"RUN_STARTED"), "{run}");
        assert_eq!(types(run).last(), Some(&"RUN_FINISHED"), "{run}");
    }
    let reason = |run: &Value| run["outcome"]["interrupts"][0]["reason"].clone();
    assert_eq!(runs.len(), 3, "{seen}");
    assert_eq!(reason(&runs[0]), "confirmation");
    assert_eq!(reason(&runs[1]), "input_required");
    assert_eq!(runs[2]["outcome"]["type"], "success");
    assert!(types(&runs[1]).contains(&"TOOL_CALL_RESULT"), "{:?}", types(&runs[1]));
    // A repeated run shows the same events with the same times.
    assert_eq!(seen["again"]["events"], runs[1]["events"]);
    assert_eq!(seen["repeated"]["events"], runs[0]["events"]);
    assert_eq!(seen["wrong"]["code"], "invalid_answer", "{seen}");
    assert_eq!(seen["unresolved"]["code"], "invalid_request", "{seen}");

    let listed = stage.read("/v1/jobs?conversation=thread-1").await;
    let jobs = listed["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 1, "{listed}");
    assert_eq!(seen["state"]["callboard"]["job"], jobs[0]["job"]);
    assert_eq!(seen["state"]["callboard"]["state"], "completed");
    let messages = seen["messages"].as_array().unwrap();
    let plan = messages.iter().find(|message| message["role"] == "activity").unwrap();
    let steps = plan["content"]["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["state"] == "completed"), "{plan}");
    let last = messages.iter().rfind(|message| message["role"] == "assistant").unwrap();
    assert!(!last["content"].as_str().unwrap().is_empty(), "{last}");
}

/// The script of a model that asks first, and then does what it was told meanwhile.
const HEARING: &str = r#"
rules:
  - name: a question first
    when: { offers: ask_user, turn: 1 }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "Which hill?" } } ] }
  - name: what was said meanwhile
    when: { last: 'While the job runs, the user says:[\s\S]*in (?<unit>\w+)' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "500 {{ captures.unit }}" } } ] }
else:
  calls: [ { tool: finish, args: { success: true, response: "nobody said anything" } } ]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_a_job_that_works_instructs_it_once_and_a_later_one_starts_another_job() {
    let stage = Stage::of(HEARING, |_| {}).await;
    let url = format!("http://{}", stage.address);
    let seen = scripted("agui_steer.cjs", &[&url, "thread-2"]).await;
    let job = &seen["job"];
    let steered = seen["steered"].as_array().unwrap();
    let late = &seen["late"];
    for run in steered.iter().chain([&seen["answered"], &seen["joined"], late]) {
        assert_eq!((&run["failed"], &run["failure"]), (&Value::Null, &Value::Null), "{run}");
        assert_eq!(run["outcome"]["type"], "success", "{run}");
        assert_eq!(run["state"]["callboard"]["job"], *job, "{run}");
        assert_eq!(run["messages"][0]["content"], "500 metres", "{run}");
    }
    // All of them begin at the instruction, also once the job has ended.
    let shown = |run: &Value| run["events"].as_array().unwrap()[1..].to_vec();
    let first = shown(&steered[0]);
    for run in steered.iter().chain([late]) {
        let other = shown(run);
        let (end, events) = other.split_last().unwrap();
        assert_eq!(
            (events, &end["outcome"]),
            (&first[..first.len() - 1], &first[first.len() - 1]["outcome"])
        );
    }
    let view = stage.read(&format!("/v1/jobs/{}", job.as_str().unwrap())).await;
    let instructions = view["instructions"].as_array().unwrap();
    assert_eq!(instructions.len(), 1, "{view}");
    assert_eq!(instructions[0]["text"], "say it in metres");

    let next = &seen["next"];
    assert_eq!(next["outcome"]["type"], "interrupt", "{next}");
    assert_ne!(next["state"]["callboard"]["job"], *job);
    let listed = stage.read("/v1/jobs?conversation=thread-2").await;
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 2, "{listed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_of_a_caller_who_may_only_submit_starts_another_job() {
    let office = Office::start().await;
    let run = |run: &str, message: &str, text: &str| {
        let said = json!([{"id": message, "role": "user", "content": text}]);
        json!({"threadId": "t", "runId": run, "messages": said})
    };
    let job_of = |run: &Value| {
        let id = run["outcome"]["interrupts"][0]["id"].as_str().unwrap_or_else(|| panic!("{run}"));
        id.split_once(':').unwrap().0.to_owned()
    };
    let first = job_of(&office.run("ann", "default", run("r1", "m1", "two echoes")).await);
    let pause = json!({"signal": "pause"});
    let signals = format!("/v1/jobs/{first}/signals");
    let (status, reply) = office.send("cat", Method::POST, &signals, &pause).await;
    assert!(status.is_success(), "{reply}");
    assert_eq!(office.approve("ann", &first).await, 200);
    let next = job_of(&office.run("ann", "default", run("r2", "m2", "three echoes")).await);
    assert_ne!(next, first);
    let (_, view) = office.send("ann", Method::GET, &format!("/v1/jobs/{first}"), &json!({})).await;
    assert_eq!((&view["state"], &view["instructions"]), (&json!("working"), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_begin_is_refused() {
    let stage = Stage::start().await;
    let say = |content: Value| json!({"threadId": "t", "runId": "r", "messages": [{"id": "m", "role": "user", "content": content}]});
    let resume = |id: &str| json!({"threadId": "t", "runId": "r", "messages": [], "resume": [{"interruptId": id, "status": "cancelled"}]});
    let wrong: &[(&str, Value, u16)] = &[
        ("default", say(json!(" ")), 400),
        ("default", say(json!([{"type": "image", "source": {}}])), 400),
        ("default", json!({"runId": "r"}), 400),
        ("nobody", say(json!("two echoes")), 404),
        ("no%20name", say(json!("two echoes")), 400),
    ];
    for (agent, body, status) in wrong {
        let (got, problem) = stage.post(&format!("/agui/{agent}"), body).await;
        assert_eq!(got.as_u16(), *status, "{body}: {problem}");
        assert!(!problem["hint"].as_str().unwrap().is_empty(), "{problem}");
    }
    for id in ["", "q1", "none:none:q1"] {
        let (status, stream) = stage.post("/agui/default", &resume(id)).await;
        let stream = stream.as_str().unwrap();
        assert_eq!(status, StatusCode::OK, "{id}: {stream}");
        assert!(stream.contains("RUN_ERROR") && stream.contains("not_found"), "{id}: {stream}");
    }
    let foreign =
        stage.request(Method::POST, "/agui/default").header("origin", "http://evil.example");
    let status = foreign.json(&say(json!("steal"))).send().await.unwrap().status();
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(stage.read("/v1/jobs").await["jobs"], json!([]));
}
