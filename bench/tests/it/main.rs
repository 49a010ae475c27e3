//! A test that every scenario runs and reports its figures, so that a broken measurement is found
//! early. It makes no claim about performance.

#![expect(clippy::unwrap_used, reason = "a test fails by its panic")]

use std::process::Command;

use serde_json::Value;

/// The arguments that run every scenario with the roles apart once, with minimal sizes.
const SMALL: [&str; 33] = [
    "a",
    "b",
    "c",
    "d",
    "f",
    "h",
    "n",
    "t",
    "w",
    "--profile",
    "--roles=apart",
    "--keeping=always",
    "--rounds=1",
    "--seconds=1",
    "--warm-up=0.5",
    "--in-flight=20",
    "--alone=5",
    "--parked=20",
    "--resumed=4",
    "--sleeping=20",
    "--kills=1",
    "--map-items=20",
    "--waiting=20",
    "--woken=4",
    "--settle=0.5",
    "--sampled=1",
    "--watchers=20",
    "--silent=2",
    "--rates=20",
    "--http-listed=20",
    "--watched=2",
    "--records=100",
    "--long-watchers=2",
];

/// The arguments that run processes with all roles.
const TOGETHER: [&str; 8] = [
    "a",
    "s",
    "--roles=together",
    "--keeping=default",
    "--rounds=1",
    "--seconds=1",
    "--in-flight=20",
    "--alone=20",
];

/// Runs the bench, and returns its output and its figures.
fn measured(arguments: &[&str]) -> (String, Value) {
    // The bench starts the `callboard` program in its own directory.
    let callboard = callboard_tests::callboard();
    let bench = env!("CARGO_BIN_EXE_callboard-bench");
    let server = broker::nats_server::find().expect("nats-server: make nats-server").path;
    let json = tempfile::NamedTempFile::new().unwrap();
    let (server, file) = (server.display(), json.path().display());
    let output = Command::new(bench)
        .args(arguments)
        .args([format!("--server={server}"), format!("--json={file}")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}{errors}", callboard.display());
    (said.into_owned(), serde_json::from_slice(&std::fs::read(json.path()).unwrap()).unwrap())
}

#[track_caller]
fn positive(figures: &Value, pointer: &str) {
    let value = figures.pointer(pointer).and_then(Value::as_f64);
    assert!(value.is_some_and(|value| value > 0.0), "{pointer}: {value:?}\n{figures:#}");
}

#[test]
fn processes_with_all_roles_are_measured_with_their_records() {
    let (said, figures) = measured(&TOGETHER);
    for pointer in [
        "/diamonds/0/throughput/jobs_per_s/median",
        "/diamonds/0/throughput/cpu_ms_per_job/all_roles/median",
        "/diamonds/0/throughput/logs/joined",
        "/busy/idle/p99_ms/median",
        "/busy/busy/p99_ms/median",
    ] {
        positive(&figures, pointer);
    }
    let calls = figures["busy"]["long_calls"].as_object().unwrap();
    let mut carried_out: Vec<_> = calls.values().filter_map(Value::as_u64).collect();
    carried_out.sort_unstable();
    assert_eq!(carried_out, [0, 50], "the busy process has no slot: {calls:?}");
    assert!(said.contains("S: two processes with all roles"), "{said}");
}

#[test]
fn every_scenario_runs_and_has_its_figures() {
    let (said, figures) = measured(&SMALL);
    let positive = |pointer: &str| positive(&figures, pointer);
    for pointer in [
        "/diamonds/0/throughput/jobs_per_s/median",
        "/diamonds/0/throughput/cpu_ms/median",
        "/diamonds/0/throughput/memory_mib/worker",
        "/diamonds/0/latency/p50_ms/median",
        "/diamonds/0/raw/publishes_per_s/median",
        "/diamonds/0/raw/relay_ms/median",
        "/diamonds/0/alone/mean_ms/decide",
        "/diamonds/0/loaded/mean_ms/work",
        "/parked/0/memory_kib/supervisor/2",
        "/parked/0/resumed_ms/p50/median",
        "/sleeping/0/makespan_s/median",
        "/failover/killed/most_s",
        "/failover/joined/most_s",
        "/failover/left/most_s",
        "/graphs/graphs/0/throughput/jobs_per_s/median",
        "/graphs/graphs/0/latency/p99_ms/median",
        "/graphs/graphs/0/cpu_ms_per_visit/supervisor",
        "/graphs/map/makespan_s/median",
        "/graphs/map/items_by_worker/0",
        "/graphs/waiting/memory_kib/supervisor/2",
        "/graphs/waiting/resumed_ms/p50/median",
        "/http/rates/0/http_ms/1",
        "/http/lists/0/p50_ms",
        "/http/throughput/1/jobs_per_s/median",
        "/watched/1/bytes",
        "/watching/round_ms/median",
        "/watching/long/open_ms/median",
    ] {
        positive(pointer);
    }
    // The logs of the graph have eight visits each, with at most three records a visit.
    let logs = &figures["graphs"]["graphs"][0]["throughput"]["logs"];
    assert_eq!(logs["visits"], 8.0, "{logs}");
    assert!(logs["records"].as_f64() <= Some(3.0 * 8.0), "{logs}");
    // Twenty readers may take less than what the process gives back meanwhile.
    let memory = figures.pointer("/http/kib_per_reader/0");
    assert!(memory.is_some_and(Value::is_f64), "{memory:?}");
    // Where there is no browser, its figures are missing; in CI there is one.
    if figures["http"]["pages"].is_object() {
        for figure in ["first_paint_ms", "usable_ms", "open_ms", "layout_ms"] {
            positive(&format!("/http/pages/{figure}/median"));
        }
        positive("/http/rates/0/page_ms/1");
    }
    // The output has the last table of the run, and names the machine.
    for words in ["T: throughput of diamonds, watched", "cores", "request → submitted"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
