//! A test that every scenario runs and reports its figures, so that a broken measurement is found
//! early. It makes no claim about performance.

use std::process::Command;

use serde_json::Value;

/// The arguments that run every scenario once, with minimal sizes.
const SMALL: [&str; 32] = [
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

#[test]
fn every_scenario_runs_and_has_its_figures() {
    // The bench starts the `callboard` program in its own directory.
    let callboard = callboard_tests::callboard();
    let bench = env!("CARGO_BIN_EXE_callboard-bench");
    let server = broker::nats_server::find().expect("nats-server: make nats-server").path;
    let json = tempfile::NamedTempFile::new().unwrap();
    let (server, file) = (server.display(), json.path().display());
    let output = Command::new(bench)
        .args(SMALL)
        .args([format!("--server={server}"), format!("--json={file}")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}{errors}", callboard.display());

    let figures: Value = serde_json::from_slice(&std::fs::read(json.path()).unwrap()).unwrap();
    let positive = |pointer: &str| {
        let value = figures.pointer(pointer).and_then(Value::as_f64);
        assert!(value.is_some_and(|value| value > 0.0), "{pointer}: {value:?}\n{figures:#}");
    };
    for pointer in [
        "/diamonds/0/throughput/jobs_per_s/median",
        "/diamonds/0/throughput/cpu_ms/median",
        "/diamonds/0/throughput/memory_mib/worker",
        "/diamonds/0/latency/p50_ms/median",
        "/diamonds/0/raw/publishes_per_s/median",
        "/diamonds/0/raw/relay_ms/median",
        "/diamonds/0/alone/mean_ms/decide",
        "/diamonds/0/loaded/mean_ms/work",
        "/parked/memory_kib/supervisor/2",
        "/parked/resumed_ms/p50/median",
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
    let logs = &figures["graphs"]["graphs"][0]["logs"];
    assert_eq!(logs["visits"], 8.0, "{logs}");
    assert!(logs["records_per_visit"].as_f64() <= Some(3.0), "{logs}");
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
