//! Tests of the policies' bounds and of unknown words.

use super::*;

#[test]
fn a_policy_out_of_bounds_is_named() {
    let check = |json: &str| {
        let agent: Agent = serde_json::from_str(json).unwrap();
        agent.check_bounds().map_err(|e| e.field)
    };
    assert_eq!(check("{}"), Ok(()));
    for (json, field) in [
        (r#"{"step":{"max_turns":0}}"#, "step.max_turns"),
        (r#"{"step":{"max_calls":65}}"#, "step.max_calls"),
        (r#"{"step":{"retry":{"jitter":2.0}}}"#, "step.retry.jitter"),
        (r#"{"tool":{"retry":{"max_attempts":1000000000}}}"#, "tool.retry.max_attempts"),
        (r#"{"plan":{"temperature":-0.1}}"#, "plan.temperature"),
        (r#"{"plan":{"top_p":0.0}}"#, "plan.top_p"),
        (r#"{"top_p":1.01}"#, "top_p"),
        (r#"{"top_p":-1}"#, "top_p"),
        (r#"{"ask":{"limit":1001}}"#, "ask.limit"),
        (r#"{"replan":{"max":101}}"#, "replan.max"),
        (r#"{"budget":{"steps":0}}"#, "budget.steps"),
        (r#"{"deadline_ms":0}"#, "deadline_ms"),
        (r#"{"ask":{"deadline_ms":0}}"#, "ask.deadline_ms"),
    ] {
        assert_eq!(check(json), Err(field.to_owned()), "{json}");
    }
}

#[test]
fn a_misspelt_policy_is_refused() {
    let err = serde_json::from_str::<Agent>(r#"{"step":{"retires":{}}}"#).unwrap_err().to_string();
    assert!(err.contains("unknown field `retires`"), "{err}");
}

#[test]
fn what_is_not_said_is_not_written_down_so_that_old_readers_can_read_it() {
    let written = serde_json::to_value(Agent::default()).unwrap();
    assert_eq!(written["replan"], serde_json::json!({"max": 3}));
    assert!(written["step"].get("on_blocked").is_none());
}

#[test]
fn a_protocol_that_decides_one_action_at_a_time_brings_its_replanning_with_it() {
    let when = |json: &str| serde_json::from_str::<Agent>(json).unwrap().replan_when();
    assert_eq!(when("{}"), ReplanWhen::Never);
    assert_eq!(when(r#"{"step":{"on_failure":"replan"}}"#), ReplanWhen::OnFailure);
    assert_eq!(when(r#"{"plan":{"protocol":"decision"}}"#), ReplanWhen::EveryTurn);
    assert_eq!(when(r#"{"plan":{"protocol":"phased"}}"#), ReplanWhen::AfterEachItem);
    assert_eq!(when(r#"{"replan":{"when":"after_each_step"}}"#), ReplanWhen::AfterEachStep);
}
