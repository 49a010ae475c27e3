//! The conformance suite of MCP, against a gateway.

use std::{
    collections::BTreeSet,
    process::{Output, Stdio},
};

use callboard_tests::{installed, root};

use super::Stage;

/// The revisions of the protocol that the suite and the server know.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
const EXPECTED_FAILURES: &str = "tests/tests/it/gateway/conformance.yml";

/// Runs the scenarios of a revision. The suite fails on a check that fails unexpectedly, and on one that
/// passes although it is expected to fail.
async fn suite(stage: &Stage, revision: &str) -> Output {
    let program = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let mut command = tokio::process::Command::new(installed("node"));
    command
        .arg(installed("conformance").join(program))
        .args(["server", "--url", &format!("http://{}/mcp", stage.address)])
        .args(["--suite", "all", "--spec-version", revision])
        .arg("--expected-failures")
        .arg(root().join(EXPECTED_FAILURES))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command.output().await.expect("make node installs Node.js")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_conformance_suite_of_mcp_passes_but_for_what_does_not_apply() {
    let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
    std::fs::write(config.path(), "[gateway]\nwrites_per_second = 1000\n").unwrap();
    let path = config.path().display().to_string();
    let stage = Stage::with(|company| company.variable("CALLBOARD_CONFIG", &path)).await;
    let mut failed = BTreeSet::new();
    for revision in REVISIONS {
        let output = suite(&stage, revision).await;
        let out = String::from_utf8_lossy(&output.stdout);
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{revision}: {err}\n{out}");
        assert!(out.contains("✓ server-"), "{revision}: {out}");
        let lines = out.lines().filter_map(|line| line.trim().strip_prefix("~ "));
        failed.extend(lines.map(str::to_owned));
    }
    let listed = std::fs::read_to_string(root().join(EXPECTED_FAILURES)).unwrap();
    let lines = listed.lines().filter_map(|line| line.trim().strip_prefix("- "));
    let listed: BTreeSet<String> = lines.map(str::to_owned).collect();
    // The suite says nothing of an expected failure that it does not know.
    assert_eq!(listed, failed);
}
