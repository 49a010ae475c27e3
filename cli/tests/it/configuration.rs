//! Settings as seen by `config show`, `doctor` and every other command.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
};

use broker::testing::NatsServer;
use serde_json::Value;

use crate::support::Place;

#[test]
fn what_cannot_be_read_is_named_by_file_and_key() {
    let place = Place::new();
    place.write("unknown.toml", "[nats]\nurrl = \"x\"\n");
    place.write("type.toml", "[nats]\nshards = \"eight\"\n");
    place.write("broken.toml", "[nats\n");
    place.write("empty.toml", "");
    for (file, parts) in [
        ("unknown.toml", &["nats.urrl", "unknown.toml"][..]),
        ("type.toml", &["nats.shards", "type.toml"]),
        ("broken.toml", &["broken.toml"]),
        ("empty.toml", &["empty.toml", "is empty"]),
        ("gone.toml", &["gone.toml"]),
        (".", &["."]),
    ] {
        let ran = place.run(&["config", "show", "--config", file]).expect(2);
        for part in parts {
            assert!(ran.err.contains(part), "{file}: {part} is not in {}", ran.err);
        }
        place.run(&["doctor", "--config", file]).expect(2);
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let place = Place::new();
    let file = place
        .write("c.toml", "[nats]\nshards = 0\nreplicas = 2\n[log]\nlevel = \"\\u001b[2J,,\"\n");
    let ran = place.run(&["config", "show", "-o", "json", "--config", &file]).expect(2);
    let error: Value = serde_json::from_str(&ran.err).unwrap();
    let mistakes = error["error"]["details"]["mistakes"].as_array().unwrap();
    let keys: Vec<&str> = mistakes.iter().filter_map(|m| m["key"].as_str()).collect();
    assert!(keys.contains(&"nats.shards") && keys.contains(&"nats.replicas"), "{keys:?}");
    assert!(!place.run(&["config", "show", "--config", &file]).err.contains('\u{1b}'));
}

#[test]
fn settings_that_contradict_each_other_are_refused_with_both_keys() {
    let place = Place::new();
    let file =
        place.write("c.toml", "[nats]\nack_wait_ms = 5000\n[workers]\nheartbeat_ms = 4000\n");
    let ran = place.run(&["config", "show", "--config", &file]).refused(2, "workers.heartbeat_ms");
    assert!(ran.err.contains("nats.ack_wait_ms"), "{}", ran.err);
}

#[test]
fn a_later_source_wins_and_the_source_is_shown() {
    let place = Place::new();
    place.write(
        "callboard.toml",
        "[nats]\nurl = \"nats://127.0.0.1:1001\"\nprefix = \"filed\"\nshards = 4\n",
    );
    let show = |args: &[&str]| -> Value {
        let mut command = place.command(&[&["config", "show", "-o", "json"], args].concat());
        command.env("CALLBOARD__NATS__URL", "nats://127.0.0.1:1002");
        command.env("CALLBOARD__NATS__PREFIX", "environed");
        serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
    };
    let of = |all: &Value, key: &str| {
        let found = all.as_array().unwrap().iter().find(|s| s["key"] == key).unwrap().clone();
        (found["value"].clone(), found["source"].as_str().unwrap().to_owned())
    };
    let all = show(&["--url", "nats://127.0.0.1:1003"]);
    assert_eq!(of(&all, "nats.url"), ("nats://127.0.0.1:1003".into(), "--url".into()));
    assert_eq!(of(&all, "nats.prefix"), ("environed".into(), "$CALLBOARD__NATS__PREFIX".into()));
    assert_eq!(of(&all, "nats.shards").0, 4);
    assert!(of(&all, "nats.shards").1.ends_with("callboard.toml"));
    assert_eq!(of(&all, "nats.replicas"), (1.into(), "default".into()));
}

#[test]
fn secrets_are_never_shown() {
    let place = Place::new();
    let key = place.write("key", "s3cret-value\n");
    let settings =
        format!("[model]\nkind = \"openai\"\nname = \"m\"\napi_key = {{ file = {key:?} }}\n");
    place.write("callboard.toml", settings);
    for args in [
        &["config", "show"][..],
        &["config", "show", "-o", "json"],
        &["doctor", "--url", "nats://127.0.0.1:1"],
    ] {
        let ran = place.run(args);
        assert!(!ran.out.contains("s3cret") && !ran.err.contains("s3cret"), "{}", ran.out);
    }
    assert!(place.run(&["config", "show"]).expect(0).out.contains("model.api_key"));
}

#[test]
fn a_secret_that_is_not_there_is_refused_at_start() {
    let place = Place::new();
    for reference in
        ["{ file = \"gone\" }", "{ env = \"NOT_SET\" }", "{ file = \"callboard.toml\" }"]
    {
        place.write("callboard.toml", format!("[nats]\ncredentials = {reference}\n"));
        for command in [&["config", "show"][..], &["serve"], &["jobs", "ls"]] {
            place.run(command).refused(2, "nats.credentials");
        }
    }
}

#[test]
fn only_processes_that_call_the_model_need_its_key() {
    let place = Place::new();
    let model = "kind = \"openai\"\nname = \"m\"\napi_key = { env = \"NOT_SET\" }";
    place.write(
        "callboard.toml",
        format!("[nats]\nurl = \"nats://127.0.0.1:1\"\n[model]\n{model}\n"),
    );
    place.run(&["config", "show"]).expect(0);
    for client in
        [&["submit", "a goal"][..], &["jobs", "ls"], &["jobs", "describe", "j"], &["chat"]]
    {
        let ran = place.run(&[client, &["--timeout", "200ms"]].concat()).expect(5);
        assert!(!ran.err.contains("NOT_SET"), "{}", ran.err);
    }
    place
        .run(&["serve", "--roles", "planner"])
        .refused(2, "model.api_key: the variable NOT_SET is not set");
    let doctor = place.run(&["doctor", "--timeout", "200ms"]).expect(1);
    assert!(doctor.out.contains("NOT_SET is not set"), "{}", doctor.out);
}

/// A server that sends only a greeting: too old, and without JetStream.
fn old_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let info = format!(
                    r#"{{"server_id":"OLD","server_name":"old","version":"2.9.10","go":"go1","host":"127.0.0.1","port":{port},"headers":true,"max_payload":1048576,"proto":1}}"#
                );
                let _ = write!(stream, "INFO {info}\r\n");
                let reader = BufReader::new(stream.try_clone().unwrap());
                for line in reader.lines() {
                    match line {
                        Ok(line) if line.starts_with("PING") => drop(stream.write_all(b"PONG\r\n")),
                        Ok(_) => {}
                        Err(_) => return,
                    }
                }
            });
        }
    });
    format!("nats://127.0.0.1:{port}")
}

#[test]
fn a_server_that_is_too_old_is_refused_with_what_to_do() {
    let (place, url) = (Place::new(), old_server());
    let ran = place.run(&["doctor", "--url", &url, "--timeout", "500ms"]).expect(1);
    assert!(ran.out.contains("2.9.10 is too old: Callboard needs 2.12.0 or newer"), "{}", ran.out);
    assert!(
        ran.out.contains("upgrade nats-server") && ran.out.contains("JetStream does not answer")
    );
    for command in [&["jobs", "ls"][..], &["serve", "--roles", "supervisor"]] {
        let ran = place.run(&[command, &["--url", &url, "--timeout", "500ms"]].concat()).expect(5);
        assert!(ran.err.contains("2.9.10"), "{}", ran.err);
    }
}

#[tokio::test]
async fn an_installation_that_is_not_there_is_not_made_by_looking() {
    let server = NatsServer::start().await;
    let place = Place::new();
    let args = ["--url", server.url()];
    for _ in 0..2 {
        place
            .run(&[&args[..], &["jobs", "ls"]].concat())
            .refused(5, "there is no installation with this prefix");
        let ran = place.run(&[&args[..], &["doctor"]].concat()).expect(0);
        assert!(ran.out.contains("no installation has the prefix cb"), "{}", ran.out);
    }
}

#[test]
fn a_role_that_needs_a_model_says_which_setting_is_missing() {
    let args = ["serve", "--roles", "planner", "--url", "nats://127.0.0.1:1"];
    Place::new().run(&args).refused(2, "model.kind");
    Place::new().run(&["serve", "--roles", "boss"]).refused(2, "there is no role");
}
