//! Tests of the systemd units: their commands and variables are valid, and their stop timeouts
//! exceed the drain. `systemd-analyze` checks the units where it is installed.

use std::{collections::BTreeMap, fs, iter, process::Command};

use super::{
    dry::{self, Given},
    environment, path, text,
};

const ROLES: [&str; 6] = ["supervisor", "planner", "executor", "tools", "interaction", "door"];

/// Returns the values of a unit's key, in order.
fn values(unit: &str, key: &str) -> Vec<String> {
    text(&format!("systemd/{unit}"))
        .lines()
        .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        .map(str::to_owned)
        .collect()
}

/// Returns the inputs of a unit's process, for one instance.
fn given(unit: &str, instance: &str) -> Given {
    let filled = |value: &str| value.replace("%i", instance).replace("%d", "/credentials");
    let mut env: BTreeMap<String, String> = BTreeMap::new();
    for line in values(unit, "Environment") {
        env.extend(environment(&filled(&line)));
    }
    for file in values(unit, "EnvironmentFile") {
        assert_eq!(filled(&file), format!("-/etc/callboard/{instance}.env"));
        // Commented settings are those that an operator fills in.
        let file =
            text(&format!("systemd/roles/{instance}.env")).replace("# CALLBOARD__", "CALLBOARD__");
        env.extend(environment(&file));
        env.insert("MODEL_API_KEY".to_owned(), "a key".to_owned());
    }
    if !env.contains_key("CALLBOARD__MODEL__API_KEY") {
        env.remove("MODEL_API_KEY");
    }
    let command = values(unit, "ExecStart").swap_remove(0);
    let mut words = command.split(' ');
    assert_eq!(words.next(), Some("/usr/bin/callboard"));
    let files = BTreeMap::from([
        ("/etc/callboard/callboard.toml".to_owned(), text("systemd/callboard.toml")),
        ("/credentials/nkey".to_owned(), dry::seed()),
    ]);
    Given { args: words.map(filled).collect(), env, files }
}

#[test]
fn the_program_can_use_every_command_and_every_variable() {
    for role in ROLES {
        assert_eq!(given("callboard@.service", role).wrong(), None, "{role}");
    }
    assert_eq!(given("callboard-setup.service", "").wrong(), None);
    assert_eq!(given("callboard-purge.service", "").wrong(), None);
}

#[test]
fn processes_are_given_longer_than_they_drain() {
    let settings: toml::Table = text("systemd/callboard.toml").parse().unwrap();
    let drain = settings["workers"]["drain_ms"].as_integer().unwrap();
    let grace = values("callboard@.service", "TimeoutStopSec").swap_remove(0);
    let grace: i64 = grace.trim_end_matches('s').parse().unwrap();
    assert!(grace * 1000 >= drain + 10_000, "{grace} s for {drain} ms");
    assert_eq!(values("callboard@.service", "KillSignal"), ["SIGTERM"]);
}

#[test]
fn a_process_that_cannot_use_its_configuration_is_not_started_again() {
    let codes = callboard_tests::root().join("docs/cli.md");
    let usage = "| 2 | the command line, a file or the configuration cannot be used";
    assert!(fs::read_to_string(codes).unwrap().contains(usage));
    assert_eq!(values("callboard@.service", "RestartPreventExitStatus"), ["2"]);
    assert_eq!(values("callboard@.service", "Restart"), ["on-failure"]);
}

#[test]
fn roles_on_one_machine_answer_operators_at_different_ports() {
    let mut listened: Vec<String> = ROLES
        .iter()
        .map(|role| environment(&text(&format!("systemd/roles/{role}.env"))))
        .map(|env| env["CALLBOARD__ADMIN__LISTEN"].clone())
        .collect();
    listened.sort();
    listened.dedup();
    assert_eq!(listened.len(), ROLES.len());
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units_and_little_exposed() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        eprintln!("not checked: there is no systemd-analyze here");
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let purge = ["callboard-purge.service", "callboard-purge.timer"];
    let others = ["callboard@.service", "callboard-setup.service", "nats-server.service"];
    for unit in purge.into_iter().chain(others) {
        // The programs are not installed at the paths of the units.
        let text = fs::read_to_string(path("systemd").join(unit)).unwrap();
        let text = text.replace("/usr/bin/callboard", "/bin/true");
        let text = text.replace("/usr/bin/nats-server", "/bin/true");
        let file = directory.path().join(unit.replace('@', "@executor"));
        fs::write(&file, text).unwrap();
        let exposed = ["security", "--offline=true", "--threshold=20"];
        let verified = ["verify", "--man=no"];
        let is_service = unit.ends_with(".service");
        for args in iter::once(&verified[..]).chain(is_service.then_some(&exposed[..])) {
            let judged = Command::new("systemd-analyze").args(args).arg(&file).output().unwrap();
            let told = String::from_utf8_lossy(&judged.stderr).into_owned();
            assert!(judged.status.success(), "{unit}: {args:?}: {told}");
            assert!(args[0] != "verify" || told.is_empty(), "{unit}: {told}");
        }
    }
}
