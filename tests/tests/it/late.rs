//! Tests of commands that are given while no process serves the front door, as during a restart.

use std::{
    io::{BufRead, BufReader},
    process::Stdio,
};

use broker::testing::wait::until;
use callboard_tests::{company::Company, load};

#[tokio::test(flavor = "multi_thread")]
async fn a_command_waits_for_a_supervisor_that_starts_later() {
    let script = "rules: [ { name: none, when: { any: 'x' }, reply: { text: x } } ]";
    let company = Company::start(script).await;
    // The installation exists, but no process serves it.
    load::connect(&company, 8, 1).await;
    let given = |timeout: &str| {
        let mut command = company.command();
        command.args(["--timeout", timeout, "jobs", "ls", "-o", "json"]);
        command
    };
    let refused = given("500ms").output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(5), "{said}");
    assert!(
        said.contains("no responders for `list` yet") && said.contains("no process with the role")
    );
    let quiet = given("500ms").arg("--quiet").output().unwrap();
    assert!(!String::from_utf8_lossy(&quiet.stderr).contains("yet"));

    let mut waiting = given("60s").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(waiting.stderr.take().unwrap()).lines();
    let first = tokio::task::block_in_place(|| said.next()).unwrap().unwrap();
    assert!(first.contains("no responders for `list` yet; retrying for up to 60 s"), "{first}");
    let _process = company.serve("late", "door");
    let output = tokio::task::block_in_place(|| waiting.wait_with_output()).unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("jobs"), "{output:?}");
    assert_eq!(said.count(), 0, "it is said once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_for_programs_has_nothing_but_lines_for_programs() {
    let script = "rules: [ { name: none, when: { any: 'x' }, reply: { text: x } } ]";
    let mut company = Company::start(script).await;
    company.set("LOG__FORMAT", "json");
    company.set("LOG__LEVEL", "info");
    let mut process = company.serve("s", "supervisor");
    until("a process at work", async || process.logged().contains("at work")).await;
    process.signal("TERM");
    process.wait();
    for line in process.logged().lines() {
        let read = serde_json::from_str::<serde_json::Value>(line);
        assert!(read.is_ok_and(|line| line.is_object()), "{line}");
    }
}
