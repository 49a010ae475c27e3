//! `callboard doctor` at a working and at a faulty installation: its findings, and that it changes
//! nothing.

use std::net::TcpListener;

use broker::testing::NatsServer;
use serde_json::Value;

use crate::{
    company::Dev,
    support::{Place, Ran, eventually},
};

/// Patterns that differ between runs.
const CHANGING: &[(&str, &str)] = &[
    (r"127\.0\.0\.1:\d+", "[address]"),
    (r" ?[(（]callboard-[0-9a-f]+[)）]", " [name]"),
    (r"\d+ µs", "[µs]"),
    (r"the server's is \d+ ms (ahead of|behind)", "the server's is [ms] beside"),
    (r"服务器的时钟比本机[快慢] \d+ ms", "服务器的时钟比本机[快慢] [ms]"),
    (r"nats-server \d+\.\d+\.\d+", "nats-server [version]"),
    (r"\d+ (records|条记录|KiB|MiB)", "[n] $1"),
    (r"\d+ %", "[n] %"),
    // The number of tools that Callboard has grows with it.
    (r"(ok tools: |已注册 )\d+", "${1}[n]"),
    // The machine decides how commands are confined, and whether.
    (r"(?m)^(\w+ shell:|. shell +) .*$(\n    docs/tools.*$)?", "[grade] shell"),
    // The result depends on other processes of this machine.
    (r"(?m)^(\w+ admin:|. admin +) .*$", "[grade] admin"),
];

/// The environment of a user with a Chinese locale. Programs get English in it too.
const CHINESE: [(&str, &str); 2] = [("LC_ALL", "zh_CN.UTF-8"), ("COLUMNS", "1000")];

/// Compares findings with a snapshot.
fn snapshot(name: &str, said: &str) {
    let mut settings = insta::Settings::clone_current();
    for (pattern, instead) in CHANGING {
        settings.add_filter(pattern, *instead);
    }
    settings.bind(|| insta::assert_snapshot!(name, said));
}

/// Formats the findings for programs, one line each.
fn lines(json: &str) -> String {
    let found: Vec<Value> = serde_json::from_str(json).unwrap();
    let word = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let line = |finding: &Value| {
        let [grade, check, found] = ["grade", "check", "found"].map(|key| word(finding, key));
        let advice = finding["advice"].as_str().map(|advice| format!("\n    {advice}"));
        format!("{grade} {check}: {found}{}\n", advice.unwrap_or_default())
    };
    found.iter().map(line).collect()
}

#[test]
fn a_good_installation_has_only_warnings() {
    let dev = Dev::start();
    eventually("every shard has an owner", || {
        (!dev.run(&["doctor"]).out.contains("shards have an owner")).then_some(())
    });
    let chinese = |args: &[&str]| Ran::from(dev.command(args).envs(CHINESE).output().unwrap());
    snapshot("good", &lines(&chinese(&["-o", "json", "doctor", "--roles", "all"]).expect(0).out));
    snapshot("good_chinese", &chinese(&["doctor"]).expect(0).out);
    let text = dev.run(&["doctor"]).expect(0).out;
    assert!(text.contains("✓ drift") && text.contains("! durability"), "{text}");
}

/// Starts a server whose default user lacks some permissions.
async fn restricted(port: u16) -> NatsServer {
    let config = [
        &format!("http: \"127.0.0.1:{port}\""),
        "authorization { users: [ { user: limited, password: x, permissions: {",
        "  publish: { deny: [\"cb.*.*.in.call.builtin\", \"cb.*.*.do.>\"] }",
        "  subscribe: { deny: [\"cb.stop.>\"] } } } ] }",
        "no_auth_user: limited",
    ];
    NatsServer::start_with(&config, &["sync_interval: always"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_installation_is_named_with_what_to_do_and_left_as_it_is() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = restricted(port).await;
    let monitor = format!("http://127.0.0.1:{port}");
    let (place, url) = (Place::new(), server.url().to_owned());
    let run = |more: &[(&str, &str)], args: &[&str]| {
        let mut command = place.command(&[&["--url", &url], args].concat());
        let changed = more.iter().copied();
        Ran::from(command.envs(changed).output().unwrap())
    };
    run(&[], &["setup"]).expect(0);
    let other = [
        ("CALLBOARD__NATS__ACK_WAIT_MS", "7000"),
        ("CALLBOARD__NATS__CREATE", "false"),
        ("CALLBOARD__MODEL__KIND", "ollama"),
        ("CALLBOARD__MODEL__NAME", "m"),
        ("CALLBOARD__MODEL__BASE_URL", "http://127.0.0.1:1"),
        ("CALLBOARD__TELEMETRY__OTLP_ENDPOINT", "http://127.0.0.1:1"),
        ("CALLBOARD__ADMIN__LISTEN", "off"),
    ];
    let chinese = [&other[..], &CHINESE].concat();
    let args = ["doctor", "--roles", "tools,supervisor", "--tool-pool", "python", "--monitor"];
    let table = [&args[..], &[&monitor]].concat();
    let args = [&["-o", "json"], &table[..]].concat();
    snapshot("bad", &lines(&run(&chinese, &args).expect(1).out));
    snapshot("bad_chinese", &run(&chinese, &table).expect(1).out);

    let json = run(&other, &args).expect(1).out;
    let found: Vec<Value> = serde_json::from_str(&json).unwrap();
    let bad = |check: &str| found.iter().any(|f| f["check"] == check && f["grade"] == "bad");
    assert!(bad("permissions") && bad("drift") && bad("model"), "{json}");
    let installation = found.iter().find(|f| f["check"] == "installation").unwrap();
    let words = installation["found"].as_str().unwrap();
    // The broker removes the probe of each shard within seconds.
    let only_probes = [" 0 records", " 8 records"].iter().any(|count| words.contains(count));
    assert!(only_probes, "looking twice has stored something: {words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_missing_is_named_and_is_not_taken_for_jetstream_being_off() {
    for (denied, found) in [
        ("$JS.API.>", "jetstream: this user may not publish to $JS.API.INFO"),
        (
            "$JS.API.STREAM.INFO.*",
            "installation: this user may not publish to $JS.API.STREAM.INFO.cb-shard-0",
        ),
    ] {
        let config = [
            "authorization { users: [ { user: limited, password: x, permissions: {",
            &format!("  publish: {{ deny: [\"{denied}\"] }} }} }} ] }}"),
            "no_auth_user: limited",
        ];
        let server = NatsServer::start_with(&config, &[]).await;
        let place = Place::new();
        let args = ["--url", server.url(), "-o", "json", "doctor"];
        let ran = Ran::from(place.command(&args).output().unwrap()).expect(1);
        let all: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
        let word =
            |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
        let said: Vec<String> = all
            .iter()
            .filter(|finding| finding["grade"] == "bad")
            .map(|finding| format!("{}: {}", word(finding, "check"), word(finding, "found")))
            .collect();
        assert_eq!(said[0], found, "{}", ran.out);
        assert!(!ran.out.contains("start nats-server with -js"), "{}", ran.out);
    }
}

#[test]
fn a_server_that_is_not_there_is_one_finding_and_the_rest_is_skipped() {
    let place = Place::new();
    let ran = place.run(&["--url", "nats://127.0.0.1:1", "--timeout", "1s", "doctor"]).expect(1);
    assert!(ran.out.contains("callboard dev"), "{}", ran.out);
    let skipped = ran.out.lines().filter(|line| line.contains("nats cannot be reached")).count();
    assert_eq!(skipped, 11, "{}", ran.out);
    place.run(&["doctor", "--roles", "boss"]).refused(2, "boss");
}
