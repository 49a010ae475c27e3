//! Tests of `bench/peers` without a run, which would take minutes and install databases: its
//! command starts, its versions are pinned, and all peers have the same job.

use std::process::Command;

use serde_json::Value;

use crate::sources;

const FOLDER: &str = "bench/peers/";

fn pins(end: &str) -> Vec<sources::Source> {
    let mut found = sources::ending_with(end);
    found.retain(|source| source.path.starts_with(FOLDER));
    assert!(!found.is_empty(), "no peer has a {end}");
    found
}

fn python(arguments: &[&str]) -> String {
    let output = Command::new("python3")
        .args(arguments)
        .current_dir(callboard_tests::root())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3 is there, as for the other tests");
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{wrong}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the lines of a requirements.txt without a pinned version.
fn unpinned(text: &str) -> Vec<&str> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .filter(|line| !line.contains("=="))
        .collect()
}

#[test]
fn the_command_lists_every_peer() {
    let listed = python(&["bench/peers/run", "all", "--list"]);
    let wanted = [
        "restate-rpc",
        "restate-inline",
        "restate-rpc-r3",
        "restate-inline-r3",
        "dbos",
        "langgraph",
        "celery",
        "celery-everysec",
        "temporal-dev",
    ];
    assert_eq!(listed.lines().collect::<Vec<_>>(), wanted);
    let readme = &pins("README.md")[0].text;
    for name in wanted {
        assert!(readme.contains(&format!("| `{name}` |")), "the README leaves {name} out");
    }
}

#[test]
fn versions_of_peers_are_pinned() {
    for source in pins("requirements.txt") {
        assert_eq!(unpinned(&source.text), Vec::<&str>::new(), "{}", source.path);
    }
    assert_eq!(unpinned("a==1.0\nb>=2\nc\n"), ["b>=2", "c"]);
    for source in pins("package.json") {
        let package: Value = serde_json::from_str(&source.text).unwrap();
        for (name, version) in package["dependencies"].as_object().unwrap() {
            let version = version.as_str().unwrap();
            assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{name}: {version}");
        }
    }
    let locked = pins("Cargo.lock").len();
    assert_eq!(locked, pins("Cargo.toml").len(), "every crate has its lock file");
}

#[test]
fn peers_in_python_have_the_job_of_those_in_rust() {
    let script = "import sys; sys.path.insert(0, 'bench/peers'); \
                  from harness import work; \
                  print(work.expected()[:11], work.expected_of_graph()[:14])";
    let results = python(&["-c", script]);
    let rust = sources::ending_with("bench/peers/load/src/work.rs").remove(0);
    for result in results.split_whitespace() {
        assert!(rust.text.contains(&format!("\"{result}...")), "{result} is not in work.rs");
    }
}
