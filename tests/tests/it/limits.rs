//! Tests of budgets, guards against loops, and conversations, with real processes on a real
//! nats-server.

use broker::Broker;
use callboard_tests::{
    company::Company,
    load,
    wait::{self, wait_for_door},
};
use client::Client;
use proto::{
    agent::Agent,
    budget::Axis,
    decision::Decision,
    door::{AgentChoice, Submit},
    entry::Entry,
    id::{JobId, Seq},
    job::{FailReason, JobState, Outcome},
    notice::Notice,
    view::JobView,
};
use serde_json::{Value, json};

use super::chaos::connect;

/// The script of the model: one agent repeats the same tool call until it must answer, and one
/// recalls an earlier exchange.
const SCRIPT: &str = r#"
rules:
  - name: recall
    when: { offers: finish, any: 'Answer \(completed\): [\s\S]*(?<found>The \w+)[\s\S]*Book the first' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "booked {{ captures.found }}" } } ] }
  - name: find
    when: { offers: finish, last: 'Find a hotel' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "The Palace" } } ] }
  - name: go round in circles
    when: { offers: echo }
    reply: { calls: [ { tool: echo, args: { value: "again and again" } } ] }
else:
  calls: [ { tool: finish, args: { success: true, response: "that is all" } } ]
"#;

fn agent(policies: &Value) -> AgentChoice {
    let mut whole = json!({"name": "loop", "confirm": false, "plan": {"when": "never"}});
    for (name, value) in policies.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let agent: Agent = serde_json::from_value(whole).unwrap();
    AgentChoice::Inline(Box::new(agent))
}

async fn run(client: &Client, id: &str, goal: &str, policies: Value) -> JobView {
    let job = JobId::new(id).unwrap();
    let submit = Submit {
        id: Some(job.clone()),
        agent: Some(agent(&policies)),
        ..Submit::goal(goal.to_owned())
    };
    client.submit(submit).await.unwrap();
    wait::view(client, &job, |view| view.state.is_terminal()).await
}

fn failed(view: &JobView) -> (FailReason, &str) {
    let Some(Outcome::Failed { reason, message, .. }) = &view.outcome else {
        panic!("{:?}", view.outcome)
    };
    (*reason, message)
}

/// Returns the turn commands of a job.
async fn turns(broker: &Broker, id: &str) -> Vec<proto::decision::TurnWork> {
    let entries = broker.log.read(&JobId::new(id).unwrap(), Seq(0)).await.unwrap();
    entries.iter().filter_map(Entry::decision).flat_map(Decision::into_turns).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_round_in_circles_is_told_made_to_answer_and_ended() {
    let company = Company::start(SCRIPT).await;
    let _all = company.serve("all", "all");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;

    // A warning after the third call, and only an answer after the fifth.
    let view = run(&client, "circles", "do something", json!({})).await;
    assert_eq!(view.state, JobState::Completed, "{:?}", view.outcome);
    let step = &view.plan.as_ref().unwrap().steps[0];
    assert_eq!((step.turns, step.calls.len()), (6, 5));
    let turns = turns(&broker, "circles").await;
    let repeated = |n: &Notice| matches!(n, Notice::Repeated { .. });
    let told: Vec<bool> = turns.iter().map(|turn| turn.notices.iter().any(repeated)).collect();
    assert_eq!(told, [false, false, false, true, true, true]);
    assert_eq!(turns.iter().filter(|turn| turn.must_answer).count(), 1);

    // Calls without progress.
    let guard = json!({"guard": {"repeat_warn": 0, "repeat_stop": 0, "no_progress_stop": 4}});
    let view = run(&client, "idle", "do something", guard).await;
    let (reason, message) = failed(&view);
    assert_eq!(reason, FailReason::NoProgress, "{message}");
    assert_eq!(view.plan.as_ref().unwrap().steps[0].calls.len(), 5, "all that is known is kept");

    // A budget of five steps: three turns and the calls between them.
    let off = json!({"repeat_warn": 0, "repeat_stop": 0, "no_progress_stop": 0});
    let budget = json!({"guard": off, "budget": {"steps": 5, "counts": ["turn", "tool"]}});
    let view = run(&client, "spent", "做点什么", budget).await;
    let (reason, message) = failed(&view);
    assert_eq!(reason, FailReason::BudgetExceeded);
    for part in ["已达到最大执行步数（5/5 步）", "已完成部分：", "未完成原因：", "下一步建议："]
    {
        assert!(message.contains(part), "{part}: {message}");
    }
    let gauge = view.budget.iter().find(|gauge| gauge.axis == Axis::Steps).unwrap();
    assert!(gauge.is_used_up() && gauge.warned);

    // A narrow window: the oldest turns are omitted, and the model still answers.
    let narrow = json!({"guard": {"repeat_stop": 30, "no_progress_stop": 0}, "step": {"max_turns": 12}, "tools": ["echo"], "observe": {"context_tokens": 1400}});
    let view = run(&client, "narrow", "do something", narrow).await;
    assert_eq!(view.state, JobState::Completed, "{:?}", view.outcome);

    for job in ["circles", "idle", "spent", "narrow"] {
        load::ended(&broker, &[JobId::new(job).unwrap()]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_outlives_everything_between_two_of_its_jobs() {
    let mut company = Company::start(SCRIPT).await;
    let mut processes = [
        company.serve("supervisor", "supervisor,interaction,door"),
        company.serve("worker", "planner,executor,tools"),
    ];
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;
    let said = callboard(&company, &["submit", "Find a hotel in Kyoto", "--conversation", "trip"]);
    assert!(said.contains("The Palace"), "{said}");

    processes.iter_mut().for_each(callboard_tests::company::Process::kill9);
    company.nats.kill9();
    company.nats.restart().await;
    processes.iter_mut().for_each(|process| process.restart(&company));
    wait_for_door(&client).await;

    let said = callboard(&company, &["submit", "Book the first of them", "--conversation", "trip"]);
    assert!(said.contains("booked The Palace"), "{said}");
    let listed = callboard(&company, &["jobs", "ls", "--conversation", "trip"]);
    let goals = ["Book the first of them", "Find a hotel in Kyoto"].map(|goal| listed.find(goal));
    assert!(goals[0].is_some() && goals[0] < goals[1], "{listed}");
}

/// Runs the program. A submission waits for its end and prints the outcome.
fn callboard(company: &Company, args: &[&str]) -> String {
    let mut command = company.command();
    command.args(args);
    if args[0] == "submit" {
        command.args(["--agent", "direct", "--wait"]);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}
