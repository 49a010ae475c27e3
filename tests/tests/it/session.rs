//! The runner of terminal sessions in documents, which compares their output with the document. It
//! runs nothing in the checkout itself.
//!
//! The library trycmd is not used, because it has no shell: no pipe, no `&`, no `export`, all of
//! which readers type.

use std::{
    fs::{self, File},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

/// Seconds after which a session is killed, with all its processes.
const SECONDS_MAX: &str = "120";

/// The separator between the outputs of two commands, which no program prints.
const BETWEEN: &str = "\u{1e}";

/// One command of a session with the output below it. An empty output is not compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exchange {
    pub(crate) command: String,
    pub(crate) shown: Vec<String>,
}

/// Runs the commands one after the other in one shell. `paths` come first on the PATH.
///
/// # Errors
/// The reason: a command failed, did not end, or printed something else.
pub(crate) fn run(exchanges: &[Exchange], directory: &Path, paths: &[&Path]) -> Result<(), String> {
    let mut script = String::from("set -eu -o pipefail\n");
    for exchange in exchanges {
        script.push_str(&format!("{}\nprintf '{BETWEEN}'\n", exchange.command));
    }
    let (succeeded, output) = shell(&script, directory, paths);
    let outputs: Vec<&str> = output.split(BETWEEN).collect();
    if !succeeded {
        // The last piece is the output of the command that failed.
        let failed = exchanges.get(outputs.len() - 1).map_or("the end", |e| e.command.as_str());
        return Err(format!("`{failed}` failed or did not end:\n{}", outputs[outputs.len() - 1]));
    }
    for (exchange, output) in exchanges.iter().zip(outputs) {
        let printed: Vec<&str> = output.lines().map(str::trim_end).collect();
        let shown: Vec<&str> = exchange.shown.iter().map(|line| line.trim_end()).collect();
        if !shown.is_empty() && !matches(&shown, &printed) {
            let (command, shown) = (&exchange.command, shown.join("\n"));
            return Err(format!("`{command}` is shown to print\n{shown}\nand printed\n{output}"));
        }
    }
    Ok(())
}

/// Runs a script. Returns whether it succeeded, and its output. Processes that it left are killed
/// with its process group.
fn shell(script: &str, directory: &Path, paths: &[&Path]) -> (bool, String) {
    let printed = tempfile::NamedTempFile::new().expect("there is room for a file");
    let out = |file: &File| Stdio::from(file.try_clone().expect("a file can be shared"));
    let searched = std::env::var_os("PATH").unwrap_or_default();
    let searched = paths.iter().map(|p| p.to_path_buf()).chain(std::env::split_paths(&searched));
    // The output goes to a file, because a remaining process would keep a pipe open.
    let mut child = Command::new("timeout")
        .args(["--kill-after=5", SECONDS_MAX, "bash", "-c", script])
        .current_dir(directory)
        .env_clear()
        .env("PATH", std::env::join_paths(searched).expect("no directory has a colon in it"))
        .env("HOME", directory)
        .envs([("LANG", "C.UTF-8"), ("CI", "true"), ("NO_COLOR", "1"), ("TERM", "dumb")])
        .stdin(Stdio::null())
        .stdout(out(printed.as_file()))
        .stderr(out(printed.as_file()))
        .process_group(0)
        .spawn()
        .expect("coreutils and bash are there, make needs them");
    let group = child.id();
    let succeeded = child.wait().is_ok_and(|status| status.success());
    let _ =
        Command::new("bash").args(["-c", &format!("kill -KILL -- -{group} 2>/dev/null")]).status();
    let output = fs::read(printed.path()).expect("the file was just written");
    (succeeded, String::from_utf8_lossy(&output).into_owned())
}

/// Returns whether the printed lines match. The line `...` matches any number of lines, and `[..]`
/// within a line any characters.
fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, None) => true,
        (Some((&"...", rest)), _) => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        (Some((line, shown)), Some((other, printed))) => {
            line_matches(line, other) && matches(shown, printed)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

fn line_matches(shown: &str, printed: &str) -> bool {
    match shown.split_once("[..]") {
        None => shown == printed,
        Some((before, after)) => printed.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| line_matches(after, &rest[at..]))
        }),
    }
}

#[rstest::rstest]
#[case::the_same("a\nb", "a\nb", true)]
#[case::another_line("a\nb", "a\nc", false)]
#[case::a_line_more("a", "a\nb", false)]
#[case::a_line_less("a\nb", "a", false)]
#[case::any_lines("a\n...\nd", "a\nb\nc\nd", true)]
#[case::no_lines("a\n...", "a", true)]
#[case::any_lines_but_the_last("...\nd", "a\nb", false)]
#[case::any_characters("took [..] s", "took 1.5 s", true)]
#[case::any_characters_twice("[..]b[..]", "äbc", true)]
#[case::any_characters_but_the_end("took [..] s", "took 1.5 ms!", false)]
fn what_is_shown_is_compared(#[case] shown: &str, #[case] printed: &str, #[case] same: bool) {
    let (shown, printed): (Vec<_>, Vec<_>) = (shown.lines().collect(), printed.lines().collect());
    assert_eq!(matches(&shown, &printed), same);
}

#[rstest::rstest]
#[case::what_it_prints(&[("echo a; echo b", "a\nb")], None)]
#[case::a_variable_that_lasts(&[("export A=1", ""), ("echo $A | tr 1 2", "2")], None)]
#[case::something_else(&[("echo a", "b")], Some("and printed\na"))]
#[case::a_failure(&[("echo a", "a"), ("false", ""), ("echo c", "c")], Some("`false` failed"))]
#[case::a_failure_in_a_pipe(&[("false | cat", "")], Some("`false | cat` failed"))]
#[case::an_unknown_program(&[("no-such-program", "")], Some("no-such-program: command not found"))]
#[case::something_left_running(&[("sleep 600 &", ""), ("echo a", "a")], None)]
#[case::standard_error(&[("echo a >&2", "a")], None)]
fn a_session_does_what_it_shows(#[case] session: &[(&str, &str)], #[case] wrong: Option<&str>) {
    let exchanges: Vec<Exchange> = session
        .iter()
        .map(|(command, shown)| Exchange {
            command: (*command).to_owned(),
            shown: shown.lines().map(str::to_owned).collect(),
        })
        .collect();
    let directory = tempfile::tempdir().expect("there is room for a directory");
    let outcome = run(&exchanges, directory.path(), &[]);
    match (wrong, outcome) {
        (None, outcome) => assert_eq!(outcome, Ok(())),
        (Some(wrong), Err(message)) => assert!(message.contains(wrong), "{message}"),
        (Some(wrong), Ok(())) => panic!("should have failed with {wrong}"),
    }
}
