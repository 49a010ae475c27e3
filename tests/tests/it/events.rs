//! Tests of a watcher through every failure: it is killed, its connection breaks, and the broker
//! dies and returns. In the end it has seen the events of an uninterrupted watcher: none is
//! missing, and none is repeated.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Stdio},
};

use broker::testing::wait::{eventually, soon, until as holds};
use callboard_tests::{
    company::Company,
    wait::{until, wait_for_door},
};
use client::{Client, WatchOptions};
use futures::StreamExt;
use proto::{
    door::{AgentChoice, GiveAnswer, Submit, Watched},
    error::Code,
    event::{Event, EventId},
    id::{AgentName, AskId, JobId},
    interaction::Verdict,
    job::JobState,
};
use serde_json::Value;

use super::chaos::connect;

const SCRIPT: &str = r#"
rules:
  - name: ask first
    when: { system: 'You are a planner', offers: ask_user, turn: 1, last: 'report' }
    reply: { calls: [ { tool: ask_user, args: { mode: query, prompt: "How long?" } } ] }
  - name: then plan
    when: { system: 'You are a planner' }
    reply:
      json:
        title: "report"
        steps:
          - { id: one, description: "one", tool: sleep, args: { ms: 300 } }
          - { id: think, description: "think", depends_on: [one] }
          - { id: two, description: "two", depends_on: [think], tool: sleep, args: { ms: 1500 } }
          - { id: three, description: "three", depends_on: [two], tool: echo, args: { value: 3 } }
  - name: first turn
    when: { offers: finish, turn: 1 }
    reply: { calls: [ { tool: echo, args: { value: 1 } } ] }
  - name: second turn
    when: { offers: finish, turn: 2 }
    reply: { calls: [ { tool: finish, args: { success: true, response: "thought about it" } } ] }
"#;

/// Runs a watching `callboard`, and kills it after a number of lines.
fn killed_after(company: &Company, arguments: &[&str], lines: usize) -> Vec<Value> {
    let mut command = company.command();
    let mut child: Child = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let printed = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = printed.take(lines).map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let seen = seen.collect();
    child.kill().unwrap();
    child.wait().unwrap();
    seen
}

fn printed(company: &Company, arguments: &[&str]) -> Vec<Value> {
    let output = company.command().args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_sees_every_event_once_whatever_breaks_in_between() {
    let mut company = Company::start(SCRIPT).await;
    let _processes = [
        company.serve("supervisor", "supervisor,interaction,door"),
        company.serve("worker", "planner,executor,tools"),
    ];
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let job = JobId::new("report-7").unwrap();
    let agent = AgentChoice::Named(AgentName::new("unattended").unwrap());
    let submit = Submit { id: Some(job.clone()), agent: Some(agent), ..Submit::goal("report") };
    client.submit(submit).await.unwrap();
    let watching = tokio::spawn(watched(client.clone(), job.clone()));
    until(&client, &job, JobState::InputRequired).await;
    // The watcher is killed in the middle of its output.
    let mut seen = killed_after(&company, &["-o", "jsonl", "watch", "report-7"], 3);

    company.nats.kill9();
    // The watcher in this process has lost its connection too.
    holds("a broker that is away", async || broker.log.ping().await.is_err()).await;
    company.nats.restart().await;
    wait_for_door(&client).await;
    answer(&client, &job).await;
    // Step two sleeps long enough for the broker to die once more while the step runs.
    running(&client, &job, "two").await;
    let last = seen.last().unwrap()["id"].as_str().unwrap().to_owned();
    seen.extend(killed_after(&company, &["-o", "jsonl", "watch", "report-7", "--after", &last], 6));
    company.nats.restart().await;
    wait_for_door(&client).await;
    until(&client, &job, JobState::Completed).await;

    let whole =
        printed(&company, &["-o", "jsonl", "watch", "report-7", "--after", "0.0", "--no-follow"]);
    let last = seen.last().unwrap()["id"].as_str().unwrap().to_owned();
    seen.extend(printed(&company, &["-o", "jsonl", "watch", "report-7", "--after", &last]));
    assert_eq!(seen, whole, "killed twice");
    assert_eq!(watching.await.unwrap(), whole, "over two deaths of the broker");
    let live = printed(&company, &["-o", "jsonl", "watch", "report-7", "--live"]);
    assert_eq!(live, whole, "nothing is said any more");
    let kinds = |kind: &str| whole.iter().filter(|event| event["type"] == kind).count();
    assert!(kinds("step") >= 8 && kinds("tool") >= 8 && kinds("interaction") == 2, "{whole:#?}");
}

/// Returns all events of a watcher that reconnects by itself.
async fn watched(client: Client, job: JobId) -> Vec<Value> {
    let items = client.watch(&job, WatchOptions::events(EventId::START));
    let event = |event: Box<Event>| serde_json::to_value(&*event).unwrap();
    items
        .filter_map(|item| async move {
            match item.unwrap() {
                Watched::Event { event: one } => Some(event(one)),
                Watched::Record { .. }
                | Watched::View { .. }
                | Watched::Live { .. }
                | Watched::Heartbeat
                | Watched::End { .. } => None,
            }
        })
        .collect()
        .await
}

async fn answer(client: &Client, job: &JobId) {
    let answer = GiveAnswer {
        job: job.clone(),
        ask: AskId::new("q1").unwrap(),
        decision: Verdict::Respond,
        value: Some("short".into()),
        text: None,
        digest: None,
        remember: None,
        by: Some("ann".into()),
        four_eyes: false,
    };
    // The broker has just returned, and the inbox may be later than the door.
    eventually("somebody who takes the answer", async || match client.call(&answer).await {
        // The answer was stored, and its acknowledgement was lost.
        Err(failure) if failure.code == Code::AlreadyAnswered => Ok(()),
        answered => answered.map(drop),
    })
    .await;
}

async fn running(client: &Client, job: &JobId, step: &str) {
    let items = client.watch(job, WatchOptions::events(EventId::START));
    let mut started = std::pin::pin!(items.filter(|item| {
        let found = match item {
            Ok(Watched::Event { event }) => {
                let event = serde_json::to_value(event).unwrap();
                event["step"] == step && event["phase"] == "started"
            }
            Ok(
                Watched::Record { .. }
                | Watched::View { .. }
                | Watched::Live { .. }
                | Watched::Heartbeat
                | Watched::End { .. },
            )
            | Err(_) => false,
        };
        std::future::ready(found)
    }));
    assert!(soon(step, started.next()).await.is_some(), "step {step} never started");
}
