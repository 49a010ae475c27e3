//! Completions through the engine that the shells' scripts call, against a running installation.

use crate::{company::Dev, support::Place};

/// Completes the last of `words` as bash does. One candidate a line.
fn complete(mut command: std::process::Command, words: &[&str]) -> Vec<String> {
    let index = words.len().to_string();
    command.env("COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", index).env("_CLAP_IFS", "\n");
    command.args(["--", "callboard"]).args(words);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn jobs_agents_workflows_and_states_of_the_server_are_completed() {
    let dev = Dev::start();
    for id in ["trip-1", "trip-2", "other"] {
        dev.run(&["submit", "Summarise notes.md", "--id", id]).expect(0);
    }
    let complete = |words: &[&str]| {
        let connected = [&["--url", dev.url()], words].concat();
        complete(dev.bare(), &connected)
    };
    for command in
        [&["jobs", "describe"][..], &["jobs", "cancel"], &["inbox", "show"], &["run", "--attach"]]
    {
        let mut jobs = complete(&[command, &["trip"]].concat());
        jobs.sort();
        assert_eq!(jobs, ["trip-1", "trip-2"], "{command:?}");
    }
    assert_eq!(complete(&["submit", "g", "--agent", "defa"]), ["default"]);
    assert_eq!(complete(&["agents", "show", "defa"]), ["default"]);
    for words in [&["workflow", "run"][..], &["workflow", "drop"], &["workflow", "stats"]] {
        assert_eq!(complete(&[words, &["human-r"]].concat()), ["human-review"], "{words:?}");
    }
    // A workflow may be a file, too.
    assert_eq!(complete(&["workflow", "show", "/etc/hostnam"]), ["/etc/hostname"]);
    assert_eq!(complete(&["jobs", "ls", "--state", "input"]), ["input-required"]);
    assert_eq!(complete(&["jobs", "desc"]), ["describe"]);
}

#[test]
fn a_server_that_is_not_there_completes_nothing_and_says_nothing() {
    let place = Place::new();
    let words = ["--url", "nats://127.0.0.1:1", "jobs", "describe", "tri"];
    assert_eq!(complete(place.command(&[]), &words), Vec::<String>::new());
    assert_eq!(complete(place.command(&[]), &["jobs", "ls", "--state", "fai"]), ["failed"]);
}

#[test]
fn the_scripts_of_the_shells_ask_the_program() {
    for shell in ["bash", "zsh", "fish"] {
        let script = Place::new().run(&["completions", shell]).expect(0).out;
        assert!(script.contains("COMPLETE") && script.contains("callboard"), "{script}");
    }
    let syntax = Place::new().shell("$CB completions bash > c && bash -n c");
    assert_eq!(syntax.code, Some(0), "{}", syntax.err);
}
