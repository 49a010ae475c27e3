//! Tests of `submit` with a `plan`: the submitter's plan in place of the planner's first one.

use broker::{kv::Bucket, memory::MemoryOptions, testing::wait::until};
use proto::error::Code;
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    directing::announce,
    hall::{Hall, Setup},
};

async fn hall() -> Hall {
    let hall = Hall::with(MemoryOptions::default(), Setup::default()).await;
    announce(&hall).await;
    hall
}

fn submission(plan: &Value) -> Value {
    json!({"id": "j", "goal": "buy milk and drink it", "agent": {"confirm": true}, "plan": plan})
}

#[rstest]
#[case::with_steps(json!({"title": "Milk", "steps": [
    {"id": "buy", "description": "Buy it", "tool": "create_task", "args": {"title": "milk"}},
    {"description": "Drink {{buy.id}}", "depends_on": ["buy"]},
]}), &["buy", "step2"])]
#[case::as_a_list(json!(["Buy it", "Drink it"]), &["step1", "step2"])]
#[tokio::test]
async fn a_submitted_plan_is_in_force_at_once(#[case] plan: Value, #[case] ids: &[&str]) {
    let hall = hall().await;
    let body = submission(&plan).to_string();
    hall.ask("submit", body.clone()).await.unwrap();
    let view = hall.ask("get", r#"{"job":"j"}"#).await.unwrap();
    assert_eq!(view["plan"]["confirmed"], true, "{view}");
    let steps = view["plan"]["steps"].as_array().unwrap();
    let given: Vec<_> = steps.iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert_eq!(given, ids);
    assert_eq!(hall.ask("submit", body).await.unwrap()["created"], false);
}

#[tokio::test]
async fn a_wrong_plan_is_refused_with_every_mistake_and_leaves_nothing() {
    let hall = hall().await;
    let step = |field: &str, value: Value| {
        let mut step = json!({"id": "a", "description": "Do it"});
        step[field] = value;
        json!({"steps": [step]})
    };
    for (plan, field) in [
        (json!("buy it"), "plan"),
        (json!({"steps": []}), "plan.steps"),
        (json!({"steps": [], "colour": "red"}), "plan.colour"),
        (step("tool", json!("dance")), "plan.steps[0].tool"),
        (step("depends_on", json!(["b"])), "plan.steps[0].depends_on"),
        (
            json!({"steps": [{"id": "a", "tool": "create_task", "description": "x"}]}),
            "plan.steps[0].args",
        ),
    ] {
        let (code, named) = hall.refused("submit", submission(&plan).to_string()).await;
        assert_eq!((code, named.as_str()), (Code::InvalidRequest, field), "{plan}");
    }
    let both = json!({"steps": [
        {"id": "a", "description": "x", "tool": "dance"},
        {"id": "b", "description": "y", "tool": "create_task", "args": {"title": 7}},
    ]});
    let failure = hall.ask("submit", submission(&both).to_string()).await.unwrap_err();
    for mistake in ["plan.steps[0].tool: ", "plan.steps[1].args"] {
        assert!(failure.message.contains(mistake), "{failure}");
    }
    assert_eq!(hall.jobs().await, Vec::<String>::new());
}

#[tokio::test]
async fn a_repeated_submission_attaches_whatever_became_of_its_tools() {
    let hall = hall().await;
    let step =
        json!({"id": "a", "description": "x", "tool": "create_task", "args": {"title": "t"}});
    let body = submission(&json!({"steps": [step]})).to_string();
    hall.ask("submit", body.clone()).await.unwrap();
    hall.broker.kv.delete(Bucket::Tools, "create_task").await.unwrap();
    until("a door without the tool", async || {
        let tools = hall.ask("tools", "").await.unwrap();
        tools["tools"].as_array().unwrap().is_empty()
    })
    .await;
    assert_eq!(hall.ask("submit", body.clone()).await.unwrap()["created"], false);
    let other = body.replace("buy milk", "buy beer");
    assert_eq!(hall.refused("submit", other).await.0, Code::IdempotencyConflict);
}

#[rstest]
#[case("decision")]
#[case("phased")]
#[case("inline_tools")]
#[tokio::test]
async fn an_agent_that_plans_one_action_at_a_time_takes_no_plan(#[case] protocol: &str) {
    let hall = hall().await;
    let agent = json!({"plan": {"protocol": protocol}});
    let body = json!({"goal": "buy milk", "agent": agent, "plan": ["buy it"]});
    let refused = hall.refused("submit", body.to_string()).await;
    assert_eq!(refused, (Code::InvalidRequest, "plan".to_owned()));
}

#[tokio::test]
async fn a_submission_without_a_tool_has_no_plan_with_it() {
    let hall = hall().await;
    let plan = json!({"steps": [{"id": "a", "description": "x", "tool": "create_task", "args": {"title": "t"}}]});
    let mut body = submission(&plan);
    body["tools"] = json!([]);
    let refused = hall.refused("submit", body.to_string()).await;
    assert_eq!(refused, (Code::InvalidRequest, "plan.steps[0].tool".to_owned()));
}
