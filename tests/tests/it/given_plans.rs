//! Tests of jobs with a plan of their submitter, on a real nats-server and through the command line.

use std::process::Output;

use callboard_tests::{
    company::Company,
    wait::{until, wait_for_tool},
};
use client::Client;
use proto::{door::Submit, id::JobId, job::JobState};
use serde_json::json;

use super::chaos::connect;

/// The planner answers only after a step has failed; every other request finds no rule and fails
/// its job.
const SCRIPT: &str = r#"
rules:
  - name: plan the rest
    when: { system: 'You are a planner', last: 'begun' }
    reply: { json: { title: "another way", steps: [ { id: other, description: "echo", tool: echo, args: { value: "saved" } } ] } }
"#;

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_submitted_plan_is_carried_out_without_a_planner_and_without_a_question() {
    let company = Company::start(SCRIPT).await;
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_tool(&client, "echo").await;
    let plan = r#"{"title": "Say it twice", "steps": [
        {"id": "first", "description": "Say it", "tool": "echo", "args": {"value": "hello"}},
        {"id": "second", "description": "Say it again", "tool": "echo", "args": {"value": "{{first}}"}, "depends_on": ["first"]}
    ]}"#;
    let submit = |plan: &str| {
        let args = ["submit", "say it", "--id", "given", "--tool", "echo", "--plan", plan];
        company.command().args(args).output().unwrap()
    };
    let refused = submit(&plan.replace(r#""tool": "echo""#, r#""tool": "read_file""#));
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    for field in ["plan.steps[0].tool", "plan.steps[1].tool"] {
        assert!(said(&refused).contains(field), "{}", said(&refused));
    }
    let submitted = submit(plan);
    assert!(submitted.status.success(), "{}", said(&submitted));
    // No rule of the script answers a planner that has no failed step.
    let view = until(&client, &JobId::new("given").unwrap(), JobState::Completed).await;
    let responses = view.plan.unwrap().steps.into_iter().map(|step| step.response.unwrap());
    assert_eq!(responses.collect::<Vec<_>>(), ["hello", "hello"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planner_writes_the_rest_of_a_submitted_plan_that_failed() {
    let company = Company::start(SCRIPT).await;
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_tool(&client, "read_file").await;
    let agent =
        json!({"confirm": false, "step": {"on_failure": "replan", "retry": {"max_attempts": 1}}});
    let plan = json!({"steps": [
        {"id": "read", "description": "Read it", "tool": "read_file", "args": {"path": "nothing.txt"}},
    ]});
    let submit = Submit {
        agent: Some(serde_json::from_value(agent).unwrap()),
        plan: Some(plan),
        ..Submit::goal("read it")
    };
    let job = client.submit(submit).await.unwrap().job;
    let view = until(&client, &job, JobState::Completed).await;
    assert_eq!(view.plan.unwrap().steps.last().unwrap().id.as_str(), "other");
}
