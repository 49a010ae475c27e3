//! Arguments, help and completions, which need no server.

use std::os::unix::{ffi::OsStrExt, fs::PermissionsExt};

use serde_json::Value;

use crate::support::{Place, Ran};

/// An address without a server.
const NOBODY: &str = "nats://127.0.0.1:1";

#[test]
fn help_has_groups_examples_and_exit_codes() {
    let place = Place::new();
    let help = place.run(&["--help"]).expect(0).out;
    for part in ["Examples:", "help options", "Exit codes:", "130  interrupted", "docs/cli.md"] {
        assert!(help.contains(part), "{part} is not in\n{help}");
    }
    assert!(!help.contains("--token "), "a flag that is refused is not offered");
    for command in [
        "demo",
        "dev",
        "serve",
        "submit",
        "run",
        "jobs",
        "inbox",
        "tools",
        "crew",
        "doctor",
        "config",
        "script-model",
        "completions",
        "ctx",
        "options",
        "version",
    ] {
        assert!(help.contains(&format!("  {command}")), "{command}");
        assert!(!place.run(&[command, "--help"]).expect(0).out.is_empty());
    }
}

#[test]
fn unambiguous_beginnings_of_commands_are_enough() {
    let place = Place::new();
    place.run(&["vers"]).expect(0);
    place.run(&["conf", "sh"]).expect(0);
    place.run(&["c"]).refused(2, "unrecognized subcommand");
}

#[test]
fn completions_are_printed_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(Place::new().run(&["completions", shell]).expect(0).out.contains("callboard"));
    }
}

#[test]
fn the_options_of_every_command_are_a_page_of_help() {
    let place = Place::new();
    let page = place.run(&["options"]).expect(0).out;
    assert!(page.contains("--token-file") && page.contains("--color"), "{page}");
    let help = place.run(&["help", "options"]).expect(0).out;
    assert!(help.contains("--token-file") && help.contains("--color"), "{help}");
}

#[test]
fn a_context_holds_the_connection_of_commands_that_name_it_or_none() {
    let place = Place::new();
    let home = place.path().join("config");
    let run = |args: &[&str], more: &[(&str, &str)]| -> Ran {
        let mut command = place.command(args);
        command.env("XDG_CONFIG_HOME", &home).envs(more.iter().copied());
        command.output().unwrap().into()
    };
    let url = |args: &[&str], more: &[(&str, &str)]| -> String {
        let shown = run(&[args, &["-o", "json", "config", "show"]].concat(), more).expect(0).out;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let setting = shown.as_array().unwrap().iter().find(|s| s["key"] == "nats.url").unwrap();
        setting["value"].as_str().unwrap().to_owned()
    };
    run(&["ctx", "add", "bare"], &[]).refused(2, "--url");
    run(&["ctx", "use", "stage"], &[]).refused(2, "there is no context stage");
    run(&["ctx", "add", "no/name"], &[]).refused(2, "A-Z a-z 0-9 _ -");
    for (name, server) in [("stage", "nats://stage:1"), ("live", "nats://live:1")] {
        run(&["ctx", "add", name, "--url", server, "--token-file", "token"], &[]).expect(0);
    }
    assert_eq!(url(&[], &[]), "nats://127.0.0.1:4222", "no context is in use");
    assert_eq!(url(&["--ctx", "live"], &[]), "nats://live:1");
    run(&["ctx", "use", "stage"], &[]).expect(0);
    assert_eq!(url(&[], &[]), "nats://stage:1");
    assert_eq!(url(&["--url", "nats://flag:1"], &[]), "nats://flag:1");
    let variable = [("CALLBOARD__NATS__URL", "nats://variable:1")];
    assert_eq!(url(&[], &variable), "nats://variable:1");
    assert_eq!(url(&["--ctx", "live"], &variable), "nats://live:1");
    assert_eq!(url(&[], &[("CALLBOARD_CTX", "live")]), "nats://live:1");
    let listed: Value =
        serde_json::from_str(&run(&["ctx", "ls", "-o", "json"], &[]).expect(0).out).unwrap();
    assert_eq!((&listed[1]["name"], &listed[1]["used"]), (&"stage".into(), &true.into()));
    let token = listed[1]["token_file"].as_str().unwrap();
    assert!(std::path::Path::new(token).is_absolute(), "{token}");
    run(&["ctx", "rm", "stage"], &[]).expect(0);
    assert_eq!(url(&[], &[]), "nats://127.0.0.1:4222");
}

#[test]
fn the_version_says_what_it_needs() {
    let ran = Place::new().run(&["version", "-o", "json"]).expect(0);
    let version: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(version["nats_server_min"], "2.12.0");
}

#[test]
fn a_closed_reader_ends_the_program_quietly() {
    let place = Place::new();
    for command in ["config show", "completions bash", "--help", "config show -o jsonl"] {
        let ran = place.shell(&format!("$CB {command} | head -n 1; echo ${{PIPESTATUS[0]}}"));
        assert_eq!((ran.err.as_str(), ran.out.lines().last()), ("", Some("0")), "{command}");
    }
    let ran = place.shell("$CB config show >&-; echo $?");
    assert!(!ran.err.contains("panicked"), "{}", ran.err);
}

#[test]
fn colours_follow_no_color_and_the_flag() {
    let place = Place::new();
    let colored = |args: &[&str], env: &[(&str, &str)]| {
        let mut command = place.command(args);
        command.envs(env.iter().copied());
        String::from_utf8(command.output().unwrap().stdout).unwrap().contains('\u{1b}')
    };
    assert!(!colored(&["config", "show"], &[]), "a pipe gets no colours");
    assert!(colored(&["config", "show", "--color", "always"], &[("NO_COLOR", "1")]));
    assert!(!colored(&["config", "show", "--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&["config", "show"], &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
}

#[test]
fn a_terminal_of_twenty_columns_is_enough() {
    let place = Place::new();
    let mut command = place.command(&["config", "show"]);
    let out = String::from_utf8(command.env("COLUMNS", "20").output().unwrap().stdout).unwrap();
    let widest = out.lines().map(|line| line.chars().count()).max();
    assert!(widest.is_some_and(|w| w <= 20), "{widest:?}");
}

#[test]
fn a_token_by_argument_is_refused_and_not_repeated() {
    let place = Place::new();
    for args in [&["--token", "s3cret", "jobs", "ls"][..], &["jobs", "ls", "--token=s3cret"]] {
        let ran = place.run(args).refused(2, "--token is refused");
        assert!(ran.err.contains("CALLBOARD_TOKEN") && ran.err.contains("--token-file"));
        assert!(!ran.err.contains("s3cret"), "{}", ran.err);
    }
}

#[test]
fn a_token_file_that_holds_none_is_refused() {
    let place = Place::new();
    let (empty, two) = (place.write("empty", " \n"), place.write("two", "a\nb\n"));
    for (file, why) in [
        (empty.as_str(), "holds no token"),
        (two.as_str(), "more than one line"),
        ("gone", "No such file"),
    ] {
        place.run(&["--url", NOBODY, "jobs", "ls", "--token-file", file]).refused(2, why);
    }
}

#[test]
fn what_is_no_text_file_is_a_clear_error_and_never_a_hang() {
    let place = Place::new();
    place.write("binary", b"a\0b");
    place.write("latin1", b"caf\xe9");
    place.write("huge", vec![b'x'; 64 * 1024 + 1]);
    place.write("empty", "");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(place.path().join("fifo"))
            .status()
            .unwrap()
            .success()
    );
    for (argument, why) in [
        ("@.", "is a directory"),
        ("@gone", "No such file"),
        ("@fifo", "is not a regular file"),
        ("@/dev/zero", "is not a regular file"),
        ("@binary", "is binary"),
        ("@latin1", "is not UTF-8 text (byte 3)"),
        ("@huge", "is larger than 65536 bytes"),
        ("@empty", "the goal is empty"),
        ("@", "names no file"),
        ("  ", "the goal is empty"),
    ] {
        place.run(&["--url", NOBODY, "submit", argument]).refused(2, why);
    }
    let endless = place.shell("head -c 100000000 /dev/zero | tr '\\0' x | $CB submit @-; exit $?");
    endless.refused(2, "standard input is larger than 65536 bytes");
}

#[test]
fn an_agent_file_names_what_is_wrong_in_it() {
    let place = Place::new();
    place.write("a.json", r#"{"step":{"max_turns":1000}}"#);
    place.write("b.json", r#"{"step":{"retires":{}}}"#);
    for (agent, why) in [
        ("@a.json", "step.max_turns must be 1 to 100"),
        ("@b.json", "unknown field `retires`"),
        ("@gone.json", "No such file"),
        ("a.b", "agent name must be"),
    ] {
        place.run(&["--url", NOBODY, "submit", "g", "--agent", agent]).refused(2, why);
    }
}

#[test]
fn a_token_file_that_others_can_read_is_warned_about() {
    let place = Place::new();
    let file = place.write("token", "s3cret\n");
    let mode = |mode| std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o644);
    let args = ["--url", NOBODY, "jobs", "ls", "--token-file", &file];
    let ran = place.run(&args).expect(5);
    assert!(
        ran.err.contains("other users of this machine can read") && ran.err.contains("chmod 600"),
        "{}",
        ran.err
    );
    mode(0o600);
    assert!(!place.run(&args).expect(5).err.contains("other users of this machine can read"));
}

#[test]
fn arguments_that_are_not_utf8_are_refused_and_odd_file_names_work() {
    let place = Place::new();
    let mut command = place.command(&["submit"]);
    command.arg(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("invalid UTF-8"));
    place.write("new\nline\u{1b}[31m", "a goal");
    // No server listens, so the exit code proves that the arguments were accepted.
    place.run(&["--url", NOBODY, "submit", "@new\nline\u{1b}[31m"]).expect(5);
    let ran = place.run(&["--url", NOBODY, "submit", "@gone\u{1b}[31m"]).expect(2);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
}

#[test]
fn errors_are_json_where_output_is_and_exit_codes_are_the_same() {
    let place = Place::new();
    for (args, code, word) in [
        (&["jobs", "ls", "--url", NOBODY][..], 5, "unavailable"),
        (&["submit", "@gone"], 2, "input"),
        (&["jobs", "cancel"], 2, "usage"),
        (&["nonsense"], 2, "usage"),
        (&["jobs", "ls", "--limit", "0"], 2, "usage"),
        (&["jobs", "ls", "--state", "asleep"], 2, "usage"),
        (&["config", "show", "--config", "gone.toml"], 2, "config"),
        (&["--token", "x", "jobs", "ls"], 2, "usage"),
    ] {
        let plain = place.run(args).expect(code);
        assert_eq!(plain.out, "");
        for form in ["json", "jsonl"] {
            let ran = place.run(&[args, &["-o", form]].concat()).expect(code);
            let error: Value =
                serde_json::from_str(&ran.err).unwrap_or_else(|e| panic!("{e}: {}", ran.err));
            assert_eq!(error["error"]["code"], word, "{args:?}");
            assert_eq!(error["error"]["exit"], code, "{args:?}");
            assert!(error["error"]["message"].as_str().is_some_and(|m| !m.is_empty()));
            assert_eq!(ran.out, "");
        }
    }
}

#[test]
fn every_exit_code_is_documented() {
    let document = include_str!("../../../docs/cli.md");
    for exit in callboard_cli::Exit::ALL {
        let row = format!("| {} | {} |", exit.code(), exit.means());
        assert!(document.contains(&row), "docs/cli.md has no row {row}");
    }
}
