//! Tests of models with different prices and context windows, with real processes on a real
//! nats-server. A limit on money ends a job at the prices of its models, and each model gets a
//! prompt that fits its window.

use callboard_tests::{
    company::Company,
    load,
    wait::{until, wait_for_door},
};
use client::Client;
use proto::{
    agent::Agent,
    budget::Axis,
    door::{AgentChoice, Submit},
    error::{Code, Failure},
    id::JobId,
    job::{FailReason, JobState, Outcome},
    view::JobView,
};
use serde_json::{Value, json};

use super::chaos::connect;

/// The script of the models: every reply costs a thousand tokens. A working model calls a tool
/// until no tool is offered; a model with a small window reports omitted exchanges.
const SCRIPT: &str = r#"
rules:
  - name: a plan
    when: { system: 'You are a planner' }
    reply:
      json: { title: T, steps: [ { id: a, description: "read a page" } ] }
      usage: { input: 1000, output: 0 }
  - name: what is not shown any more
    when: { offers: finish, any: 'earlier exchanges are left out' }
    reply:
      calls: [ { tool: finish, args: { success: true, response: "not all of it is shown" } } ]
      usage: { input: 1000, output: 0 }
  - name: work
    when: { offers: echo }
    reply:
      calls: [ { tool: echo, args: { value: "a page of words that says nothing, and says it once more to whoever reads it" } } ]
      usage: { input: 1000, output: 0 }
else:
  text: "that is all"
"#;

/// Ten cents and a dollar per thousand tokens, and a model without a price.
const KNOWN: &str = r#"[
  { name = "cheap-1.5", price = { input_per_million = 100.0, output_per_million = 0.0 } },
  { name = "org/dear", price = { input_per_million = 1000.0, output_per_million = 0.0 } },
  { name = "small", context_tokens = 1600 },
]"#;

fn submission(id: &str, policies: &Value) -> Submit {
    let mut whole = json!({
        "confirm": false, "tools": ["echo"],
        "guard": {"repeat_warn": 0, "repeat_stop": 0, "no_progress_stop": 0},
    });
    for (name, value) in policies.as_object().unwrap() {
        whole[name] = value.clone();
    }
    let agent: Agent = serde_json::from_value(whole).unwrap();
    Submit {
        id: Some(JobId::new(id).unwrap()),
        agent: Some(AgentChoice::Inline(Box::new(agent))),
        ..Submit::goal("read a page".to_owned())
    }
}

async fn run(client: &Client, id: &str, policies: Value, end: JobState) -> JobView {
    let job = client.submit(submission(id, &policies)).await.unwrap().job;
    until(client, &job, end).await
}

async fn refused(client: &Client, policies: Value) -> Failure {
    client.submit(submission("refused", &policies)).await.expect_err("it was taken")
}

fn money(view: &JobView) -> f64 {
    view.budget.iter().find(|gauge| gauge.axis == Axis::Money).unwrap().used
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_on_money_ends_a_job_at_the_prices_of_the_models_that_were_asked() {
    let mut company = Company::start(SCRIPT).await;
    company.set("MODEL__KNOWN", KNOWN);
    let _all = company.serve("all", "all");
    let broker = connect(&company).await;
    let client = Client::new(&broker);
    wait_for_door(&client).await;

    // The plan costs a dollar and each turn ten cents: a fifth turn starts below 1.45, a sixth does
    // not. The other way round the plan costs ten cents, and each turn a dollar.
    for (id, planner, worker, spent, turns) in [
        ("dear-plan", "org/dear", "cheap-1.5", 1.5, 5),
        ("dear-work", "cheap-1.5", "org/dear", 2.1, 2),
        ("cheap", "cheap-1.5", "cheap-1.5", 1.5, 14),
        ("dear", "org/dear", "org/dear", 2.0, 1),
    ] {
        let policies =
            json!({"model": worker, "plan": {"model": planner}, "budget": {"money": 1.45}});
        let view = run(&client, id, policies, JobState::Failed).await;
        let Some(Outcome::Failed { reason, .. }) = view.outcome else { panic!("{view:#?}") };
        assert_eq!(reason, FailReason::BudgetExceeded, "{id}");
        assert!((money(&view) - spent).abs() < 1e-9, "{id}: {}", money(&view));
        assert_eq!(view.plan.unwrap().steps[0].turns, turns, "{id}");
    }

    // The prices of these models are unknown.
    for (policies, named) in [
        (json!({"budget": {"money": 1.0}}), "\"scripted\" (model.name"),
        (json!({"model": "small", "budget": {"money": 1.0}}), "\"small\" (agent.model)"),
        (
            json!({"model": "org/dear", "plan": {"model": "nobody's"}, "budget": {"money": 1.0}}),
            "\"nobody's\" (agent.plan.model)",
        ),
    ] {
        let failure = refused(&client, policies).await;
        assert_eq!(failure.code, Code::UnknownPrice, "{failure}");
        assert!(failure.message.contains(named), "{failure}");
        assert!(failure.hint.contains("model.known"), "{}", failure.hint);
    }

    // The same loop: the context fits the window of one model, and not that of the other.
    let loops =
        |model: &str| json!({"model": model, "plan": {"when": "never"}, "step": {"max_turns": 30}});
    for (id, model, says) in
        [("wide", "cheap-1.5", "that is all"), ("narrow", "small", "not all of it is shown")]
    {
        let view = run(&client, id, loops(model), JobState::Completed).await;
        assert_eq!(view.plan.unwrap().steps[0].response.as_deref(), Some(says), "{id}");
    }

    for job in ["dear-plan", "dear-work", "cheap", "dear", "wide", "narrow"] {
        load::ended(&broker, &[JobId::new(job).unwrap()]).await;
    }
}
