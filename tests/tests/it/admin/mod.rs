//! Tests of the admin listener of real processes: health while the broker is away and while a
//! process drains, changes of the log level, and malformed requests.

mod hostile;
pub(crate) mod http;

use std::process::Command;

use broker::testing::wait::eventually;
use callboard_tests::company::{Company, Process};
use http::{ask, get};
use serde_json::Value;

/// A model turn takes long enough for the drain to be observed.
const SCRIPT: &str = r#"
rules:
  - name: plan
    when: { system: 'You are a planner' }
    reply:
      json:
        title: "think"
        steps:
          - { id: say, description: "canary-step", tool: echo, args: { value: "canary-argument" } }
          - { id: think, description: "think", depends_on: [say] }
  - name: turn
    when: { offers: finish }
    reply:
      calls: [ { tool: finish, args: { success: true, response: "canary-answer" } } ]
      stream: { chunk: 1000, delay_ms: 1, first_delay_ms: 3000 }
"#;

/// Polls until `look` returns a value.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    eventually(what, async || look().await.ok_or("nothing")).await
}

/// Returns the log lines of a process with this message.
fn lines(process: &Process, message: &str) -> Vec<Value> {
    let logged = process.logged();
    let lines = logged.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["message"] == message).collect()
}

/// Returns the address of a process's admin listener, from its log.
async fn address(process: &Process) -> String {
    until("a process at work", async || {
        let said = lines(process, "at work").pop()?;
        said["admin"].as_str().map(str::to_owned)
    })
    .await
}

/// Waits until readiness has a status, and returns the report.
async fn readiness(address: &str, status: u16) -> Value {
    until(&format!("/readyz says {status}"), async || {
        let answer = ask(address, "GET", "/readyz", "").await?;
        (answer.status == status).then(|| serde_json::from_str(&answer.body).unwrap())
    })
    .await
}

/// Starts an installation with one process in all roles, and returns the address of its admin
/// listener.
async fn stage(level: &str) -> (Company, Process, String) {
    let mut company = Company::start(SCRIPT).await;
    company.set("ADMIN__LISTEN", "127.0.0.1:0");
    company.set("LOG__LEVEL", level);
    let process = company.serve("all", "all");
    let address = address(&process).await;
    readiness(&address, 200).await;
    (company, process, address)
}

fn program(mut command: Command, args: &[&str]) -> (Option<i32>, String) {
    let ran = command.args(args).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.code(), String::from_utf8_lossy(&said).into_owned())
}

/// Runs `callboard` to its end, without blocking the test.
async fn run(company: &Company, args: &[&str]) -> (Option<i32>, String) {
    let (command, args) = (company.command(), args.iter().map(|a| (*a).to_owned()));
    let args: Vec<String> = args.collect();
    let run = move || program(command, &args.iter().map(String::as_str).collect::<Vec<_>>());
    tokio::task::spawn_blocking(run).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn readiness_follows_the_broker_and_liveness_does_not() {
    let (mut company, process, address) = stage("info").await;
    let (code, said) = run(&company, &["health", "ready", "--address", &address]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("of 8 owned here") && said.contains("taking commands"), "{said}");

    company.nats.kill9();
    let report = readiness(&address, 503).await;
    assert_eq!(report["checks"]["nats"]["ok"], false, "{report}");
    assert_eq!(get(&address, "/livez").await.status, 200);
    let (code, said) = run(&company, &["health", "--address", &address]).await;
    assert!(code == Some(1) && said.contains("not ready"), "{said}");
    let (code, _) = run(&company, &["health", "live", "--address", &address]).await;
    assert_eq!(code, Some(0));

    company.nats.restart().await;
    let report = readiness(&address, 200).await;
    assert_eq!(report["checks"]["streams"]["found"], "8 as configured", "{report}");
    assert!(lines(&process, "ended").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_that_are_not_right_any_more_are_seen_when_the_connection_is_back() {
    let (mut company, _process, address) = stage("info").await;
    company.nats.kill9();
    readiness(&address, 503).await;
    let stream = company.nats.store_dir().join("data/jetstream/$G/streams/cb_3");
    let streams = stream.parent().unwrap().read_dir().unwrap();
    let gone = streams.filter_map(Result::ok).map(|entry| entry.path());
    let gone = gone.filter(|path| path.file_name().unwrap().to_string_lossy().ends_with('3'));
    let gone: Vec<_> = gone.collect();
    assert_eq!(gone.len(), 1, "{gone:?}");
    std::fs::remove_dir_all(&gone[0]).unwrap();
    company.nats.restart().await;
    let report = until("the loss is seen", async || {
        let report = readiness(&address, 503).await;
        (report["checks"]["nats"]["ok"] == true).then_some(report)
    })
    .await;
    let streams = &report["checks"]["streams"];
    assert_eq!(streams["ok"], false, "{report}");
    assert!(streams["found"].as_str().unwrap().contains("is missing"), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drain_is_seen_until_its_end_and_is_quiet() {
    let (company, mut process, address) = stage("info").await;
    let submit = ["submit", "canary-goal", "--id", "j1", "--no-confirm"];
    assert_eq!(run(&company, &submit).await.0, Some(0));
    until("a turn under way", async || {
        let metrics = get(&address, "/metrics").await.body;
        let turn = metrics.lines().find(|line| {
            line.starts_with("callboard_worker_in_flight") && line.contains("\"turn\"")
        })?;
        turn.ends_with(" 1").then_some(())
    })
    .await;
    process.signal("TERM");
    let report = readiness(&address, 503).await;
    assert_eq!(report["checks"]["draining"]["ok"], false, "{report}");
    assert_eq!(get(&address, "/livez").await.status, 200);
    // The listener closes after everything else has ended.
    while let Some(answer) = ask(&address, "GET", "/livez", "").await {
        assert_eq!(answer.status, 200);
        if let Some(answer) = ask(&address, "GET", "/readyz", "").await {
            assert_eq!(answer.status, 503);
        }
    }
    assert_eq!(process.wait(), Some(0));
    let ended = lines(&process, "ended").pop().expect("a last line");
    assert_eq!(ended["reason"], "asked to");
    assert!(ended["drain_ms"].is_u64(), "{ended}");
    let logged = process.logged();
    assert!(!logged.contains("\"WARN\"") && !logged.contains("\"ERROR\""), "{logged}");
    assert!(!logged.contains("canary-"), "what users wrote is in the log:\n{logged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_level_of_the_log_changes_while_the_process_runs() {
    // Only warnings, and the line with the address.
    let level = "warn,callboard_cli=info";
    let (company, process, address) = stage(level).await;
    assert!(lines(&process, "the shard is acquired").is_empty(), "{}", process.logged());
    let (code, said) = run(&company, &["log", "--address", &address]).await;
    assert_eq!((code, said), (Some(0), format!("{level}\n")));

    let (code, said) = run(&company, &["log", "loud", "--address", &address]).await;
    assert!(code == Some(2) && said.contains("\"loud\" is not a level"), "{said}");
    let answer = ask(&address, "PUT", "/log?for=soon", "debug").await.unwrap();
    assert!(answer.status == 400 && answer.body.contains("10m"), "{answer:?}");

    let for_a_time = ["log", "debug", "--for", "2s", "--address", &address];
    let (code, said) = run(&company, &for_a_time).await;
    assert!(code == Some(0) && said.starts_with("debug\nuntil "), "{said}");
    let submit = ["submit", "canary-goal", "--id", "j1", "--no-confirm", "--wait"];
    assert_eq!(run(&company, &submit).await.0, Some(0));
    until("the level is what it was", async || {
        (get(&address, "/log").await.body == format!("{level}\n")).then_some(())
    })
    .await;
    let logged = process.logged();
    assert!(logged.contains("\"DEBUG\""), "nothing was said at debug:\n{logged}");
    assert!(!logged.contains("canary-"), "what users wrote is in the log:\n{logged}");

    let one = ask(&address, "PUT", "/log", "warn,callboard_runtime=debug").await.unwrap();
    assert_eq!((one.status, one.body.as_str()), (200, "warn,callboard_runtime=debug\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_about_a_job_name_it_and_its_trace() {
    let (company, process, _) = stage("debug").await;
    let submit = ["submit", "canary-goal", "--id", "j1", "--no-confirm"];
    assert_eq!(run(&company, &submit).await.0, Some(0));
    assert_eq!(run(&company, &["jobs", "cancel", "j1", "--yes"]).await.0, Some(0));
    let line = until("a line within a job", async || {
        let logged = process.logged();
        let lines = logged.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.into_iter().find(|line| line["job"] == "j1" && line["trace_id"].is_string())
    })
    .await;
    for field in ["timestamp", "level", "target", "message", "worker", "version"] {
        assert!(line[field].is_string(), "{field} is missing: {line}");
    }
    assert_eq!(line["trace_id"].as_str().unwrap().len(), 32, "{line}");
    assert!(line["timestamp"].as_str().unwrap().ends_with('Z'), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_one_machine_find_a_place_each() {
    let mut company = Company::start(SCRIPT).await;
    company.set("ADMIN__LISTEN", "auto");
    let first = company.serve("first", "supervisor");
    let second = company.serve("second", "supervisor");
    let (a, b) = (address(&first).await, address(&second).await);
    assert_ne!(a, b);
    for address in [&a, &b] {
        assert!(address.starts_with("127.0.0.1:"), "{address}");
        let report = readiness(address, 200).await;
        assert_eq!(report["roles"], serde_json::json!(["supervisor"]));
    }
    // A supervisor without a shard is ready only if the other one has all of them.
    let report = readiness(&b, 200).await;
    assert_eq!(report["checks"]["shards"]["ok"], true, "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_taken_stops_the_start_and_is_named() {
    let mut company = Company::start(SCRIPT).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    company.set("ADMIN__LISTEN", &taken.local_addr().unwrap().to_string());
    let (code, said) = run(&company, &["serve", "--roles", "supervisor"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("admin.listen") && said.contains("in use"), "{said}");
}
