//! The conformance suite of MCP, against the client.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use crate::stage::installed;

/// The revisions of the protocol, with the scenarios whose every check passes.
const REVISIONS: [(&str, &[&str]); 2] = [
    ("2025-11-25", &["initialize", "json-schema-2020-12-preservation", "sse-retry", "tools_call"]),
    (
        "2026-07-28",
        &[
            "http-invalid-tool-headers",
            "http-standard-headers",
            "json-schema-2020-12-preservation",
            "json-schema-ref-no-deref",
            "request-metadata",
            "tools_call",
        ],
    ),
];

fn expected_failures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/conformance.yml")
}

/// Runs what a revision requires. The suite fails on a check that fails unexpectedly, and on one that
/// passes although it is expected to fail.
async fn suite(revision: &str) -> Output {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).expect("tests are built into target/<profile>/deps");
    let program = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let mut command = tokio::process::Command::new(installed("node"));
    command
        .arg(installed("conformance").join(program))
        .args(["client", "--requirements", revision, "--command"])
        .arg(profile.join("examples/conformance"))
        .arg("--expected-failures")
        .arg(expected_failures())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command.output().await.expect("make node installs Node.js")
}

/// Returns the scenarios of a report that passed, without those that checked nothing.
fn passed(out: &str) -> BTreeSet<&str> {
    let lines = out.lines().filter_map(|line| line.strip_prefix("✓ ")?.split_once(": "));
    lines.filter(|(_, counts)| !counts.starts_with("0 ")).map(|(scenario, _)| scenario).collect()
}

#[tokio::test]
async fn the_conformance_suite_of_mcp_passes_but_for_what_is_not_built() {
    let mut failed = BTreeSet::new();
    for (revision, passing) in REVISIONS {
        let output = suite(revision).await;
        let out = String::from_utf8_lossy(&output.stdout);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{revision}: {err}\n{out}");
        assert_eq!(passed(&out), BTreeSet::from_iter(passing.iter().copied()), "{revision}: {out}");
        let lines = out.lines().filter_map(|line| line.trim().strip_prefix("~ "));
        failed.extend(lines.map(str::to_owned));
    }
    let listed = std::fs::read_to_string(expected_failures()).unwrap();
    let lines = listed.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let listed: BTreeSet<String> = lines.map(str::to_owned).collect();
    // The suite says nothing of an expected failure that it does not know.
    assert_eq!(listed, failed);
}
