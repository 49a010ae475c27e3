//! Tests of `tools call`: one call through a worker of a running installation.

use callboard_tests::{
    company::Company,
    wait::{wait_for_door, wait_for_tool},
};
use client::Client;
use serde_json::Value;

use super::chaos::connect;

/// Runs a command, and returns its exit code and what it printed: results, then all else.
fn run(company: &Company, args: &[&str]) -> (i32, String, String) {
    let output = company.command().args(args).output().unwrap();
    let [said, noted] = [output.stdout, output.stderr].map(|b| String::from_utf8(b).unwrap());
    (output.status.code().unwrap(), said, noted)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_by_hand_through_its_worker() {
    let company = Company::start("else: { text: unused }").await;
    let _process = company.serve("all", "door,supervisor,tools,interaction");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;
    for tool in ["echo", "write_file", "read_file", "http_post"] {
        wait_for_tool(&client, tool).await;
    }

    let args = r#"{"value": {"a": 7}}"#;
    let (code, said, noted) = run(&company, &["tools", "call", "echo", "--args", args]);
    assert_eq!((code, said.as_str()), (0, "{\n  \"a\": 7\n}\n"), "{noted}");

    let file = company.workspace().join("../args.json");
    std::fs::write(&file, r#"{"path": "note.md", "content": "hello"}"#).unwrap();
    let file = format!("@{}", file.display());
    let write = ["-o", "json", "tools", "call", "write_file", "--args", &file, "--id", "by-hand"];
    let (code, said, noted) = run(&company, &write);
    let done: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}{noted}"));
    assert_eq!(
        (code, &done["job"], &done["result"]["success"]),
        (0, &"by-hand".into(), &true.into())
    );
    assert_eq!(done["outcome"]["state"], "completed");
    // The same id is the same call.
    let (code, again, noted) = run(&company, &write);
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), done);
    assert!(code == 0 && noted.contains("existed already"), "{noted}");
    let (_, jobs, _) = run(&company, &["-o", "ids", "jobs", "ls"]);
    assert!(jobs.contains("by-hand"), "{jobs}");

    // A refusal of the tool is its result, and the exit code says so.
    let read = ["tools", "call", "read_file", "--args", r#"{"path": "absent.md"}"#];
    let (code, said, noted) = run(&company, &read);
    assert!(code == 1 && said.contains("absent.md"), "{code}: {said}{noted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_cannot_be_taken_back_needs_a_confirmation_and_a_wrong_one_is_refused() {
    let company = Company::start("else: { text: unused }").await;
    let _process = company.serve("all", "door,supervisor,tools,interaction");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;
    for tool in ["echo", "http_post"] {
        wait_for_tool(&client, tool).await;
    }

    let args = r#"{"url": "http://127.0.0.1:9/pay", "json": {}}"#;
    let post = ["-o", "json", "tools", "call", "http_post", "--args", args];
    let (code, said, error) = run(&company, &post);
    assert!(code == 2 && said.is_empty() && error.contains("unconfirmed"), "{code}: {said}{error}");
    let (_, jobs, _) = run(&company, &["-o", "ids", "jobs", "ls"]);
    assert_eq!(jobs, "", "nothing was submitted");

    // With --yes the call is approved and made; the worker's guard refuses the address.
    let (code, said, noted) = run(&company, &[&post[..], &["--yes"]].concat());
    let done: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{e}: {said}{noted}"));
    assert_eq!((code, &done["result"]["success"]), (1, &false.into()), "{said}{noted}");
    assert!(noted.contains("approved the call"), "{noted}");

    for (args, code, word) in [
        (&["tools", "call", "no_such_tool"][..], 6, "not_found"),
        (&["tools", "call", "echo", "--args", "[1]"], 2, "input"),
        (&["tools", "call", "echo", "--args", "{"], 2, "input"),
        (&["tools", "call", "echo", "--args", "{}"], 2, "invalid_request"),
    ] {
        let args = [&["-o", "json"][..], args].concat();
        let (found, said, error) = run(&company, &args);
        assert!(found == code && error.contains(word), "{args:?}: {found}: {said}{error}");
    }
}
