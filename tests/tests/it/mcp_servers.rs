//! Tests of the tools of MCP servers, on a real nats-server: a person trusts a server, an agent calls
//! its tool, another person approves the call, and the server is killed in a call.

use broker::testing::wait::eventually;
use callboard_tests::{
    approval::{answer, approve, asked, run, said},
    company::Company,
    root,
    wait::{until, wait_for_tool},
};
use client::Client;
use proto::{id::JobId, job::JobState, tool::Fault};
use serde_json::json;

use super::chaos::connect;

/// An agent whose only step calls the tool as the goal says, and gives up after it.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner', any: 'perform-(?<what>\w+)' }
    reply: { json: { title: "a plan", steps: [ { id: s, description: "perform-{{ captures.what }}" } ] } }
  - name: act
    when: { offers: finish, turn: 1, any: 'perform-(?<what>\w+)' }
    reply: { calls: [ { tool: files__act, args: { do: "{{ captures.what }}" } } ] }
  - name: finish
    when: { offers: finish, turn: 2, tool_result: { tool: files__act, content: 'done' } }
    reply: { calls: [ { tool: finish, args: { success: true, response: "acted" } } ] }
else:
  text: "It cannot be done."
"#;

/// An installation with one MCP server, and the directory of its settings.
async fn installation() -> (Company, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let script = root().join("mcp-client/tests/it/hostile.py");
    let args = json!(["-B", script, "plain", home.path()]);
    let settings = format!("[mcp.servers.files]\ncommand = 'python3'\nargs = {args}\n");
    let file = home.path().join("callboard.toml");
    std::fs::write(&file, settings).unwrap();
    let mut company = Company::start(SCRIPT).await;
    company.variable("CALLBOARD_CONFIG", &file.display().to_string());
    (company, home)
}

/// Submits a job that calls the tool, and approves its call as a person does.
async fn approved(company: &Company, client: &Client, id: &str, goal: &str) -> JobId {
    let job = asked(company, client, id, goal).await;
    approve(company, id);
    job
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_an_mcp_server_is_trusted_approved_and_called() {
    let (company, _home) = installation().await;
    let process = company.serve("all", "all");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_tool(&client, "echo").await;
    let listed = run(&company, &["mcp", "list"]);
    assert!(listed.contains("files") && listed.contains("not trusted"), "{listed}");
    eventually("the reason", async || {
        let logged = process.logged();
        if logged.contains("nobody has trusted the server") { Ok(()) } else { Err(logged) }
    })
    .await;
    let doctor = run(&company, &["doctor"]);
    assert!(doctor.contains("callboard mcp trust files"), "{doctor}");

    let trusted = company.command().args(["mcp", "trust", "files", "--yes"]).output().unwrap();
    assert!(trusted.status.success(), "{}", said(&trusted));
    let shown = said(&trusted);
    for part in
        ["hostile.py", "files__act", "once", "needs an approval", "Does it.", "Arguments: {"]
    {
        assert!(shown.contains(part), "{shown}");
    }
    wait_for_tool(&client, "files__act").await;
    let unknown = company.command().args(["mcp", "trust", "nobody", "--yes"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(6), "{}", said(&unknown));
    let listed = run(&company, &["mcp", "list"]);
    assert!(listed.contains("trusted") && !listed.contains("not trusted"), "{listed}");

    let job = approved(&company, &client, "acts", "perform-it").await;
    until(&client, &job, JobState::Completed).await;
    let called = answer(&broker, &job).await;
    assert_eq!((called.fault, called.result.data), (None, Some(json!("done"))));

    // The server is killed with SIGKILL in the middle of the call.
    let job = approved(&company, &client, "dies", "perform-die").await;
    let called = answer(&broker, &job).await;
    assert_eq!(called.fault, Some(Fault::Unknown), "{called:?}");
    // It is started again for a later call; those before are refused and change nothing.
    let mut calls = 0;
    eventually("a call of the server that was started again", async || {
        calls += 1;
        let job = approved(&company, &client, &format!("again-{calls}"), "perform-it").await;
        let fault = answer(&broker, &job).await.fault;
        assert!([None, Some(Fault::Unavailable)].contains(&fault), "{fault:?}");
        if fault.is_none() { Ok(()) } else { Err(fault) }
    })
    .await;
}
