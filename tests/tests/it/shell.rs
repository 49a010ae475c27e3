//! Tests of the shell, on a real nats-server: a person approves a command, its files stay, and the
//! worker is killed in the middle of one.

use broker::testing::wait::eventually;
use callboard_tests::{
    approval::{answer, approve, asked, run},
    company::Company,
    wait::{until, wait_for_tool},
};
use client::Client;
use proto::{id::JobId, job::JobState, tool::Fault};
use serde_json::json;

use super::chaos::connect;

/// An agent whose only step runs the command that the goal names.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner', any: 'perform-(?<what>\w+)' }
    reply: { json: { title: "a plan", steps: [ { id: s, description: "perform-{{ captures.what }}" } ] } }
  - name: count
    when: { offers: finish, turn: 1, any: 'perform-count' }
    reply: { calls: [ { tool: run, args: { command: "seq 3 > numbers; wc -l < numbers; cat /etc/shadow" } } ] }
  - name: wait
    when: { offers: finish, turn: 1, any: 'perform-wait' }
    reply: { calls: [ { tool: run, args: { command: "touch begun; flock -x held sleep 600" } } ] }
  - name: fill
    when: { offers: finish, turn: 1, any: 'perform-fill' }
    reply: { calls: [ { tool: run, args: { command: "echo numbers; while :; do i=$((i+1)); head -c 300000 /dev/zero > f$i; done" } } ] }
  - name: finish
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "ran" } } ] }
else:
  text: "It cannot be done."
"#;

/// Submits a job that runs a command, and approves the command as a person does.
async fn approved(company: &Company, client: &Client, id: &str, goal: &str) -> JobId {
    let job = asked(company, client, id, goal).await;
    let shown = run(company, &["inbox", "show", id]);
    assert!(shown.contains("command"), "{shown}");
    assert!(shown.contains("numbers") || shown.contains("begun"), "{shown}");
    approve(company, id);
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_approved_confined_and_ends_with_its_worker() {
    let mut company = Company::start(SCRIPT).await;
    company.set("TOOLS__SHELL__WORKSPACE_MB", "2");
    let mut process = company.serve("all", "all");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_tool(&client, "run").await;
    let doctor = run(&company, &["doctor"]);
    assert!(doctor.contains("commands of models are confined by"), "{doctor}");

    let job = approved(&company, &client, "counts", "perform-count").await;
    until(&client, &job, JobState::Completed).await;
    let called = answer(&broker, &job).await;
    let data = called.result.data.unwrap();
    assert_eq!((called.fault, called.result.success), (None, false), "{data}");
    assert_eq!((&data["exit"], &data["stdout"]), (&json!(1), &json!("3\n")), "{data}");
    assert_eq!(data["changed"], json!(["numbers"]), "{data}");
    let error = called.result.error.unwrap();
    assert!(error.contains("code 1") && error.contains("Permission denied"), "{error}");

    let job = approved(&company, &client, "fills", "perform-fill").await;
    let error = answer(&broker, &job).await.result.error.unwrap();
    assert!(error.contains("the workspace may hold 2 MiB"), "{error}");

    // The worker is killed with SIGKILL in the middle of a command.
    let job = approved(&company, &client, "waits", "perform-wait").await;
    let workspace = company.workspace().join("jobs/waits");
    let held =
        || std::fs::File::open(workspace.join("held")).is_ok_and(|file| file.try_lock().is_err());
    eventually("the command", async || if held() { Ok(()) } else { Err("not held") }).await;
    process.kill9();
    eventually("the end of the command", async || if held() { Err("held") } else { Ok(()) }).await;
    let _next = company.serve("next", "all");
    let called = answer(&broker, &job).await;
    assert_eq!(called.fault, Some(Fault::Unknown), "{called:?}");
}
