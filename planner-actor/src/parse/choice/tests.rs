//! Decisions as models write them.

#![expect(clippy::needless_pass_by_value, reason = "JSON literals read better unborrowed")]

use rstest::rstest;
use serde_json::json;

use super::*;

fn line(choice: Result<Choice, Misshapen>) -> String {
    match choice {
        Ok(Choice::Act { plan, tool, input }) => format!("{tool} {input} [{}]", plan.join("; ")),
        Ok(Choice::Ask { plan, question }) => {
            format!("ask {} [{}]", question.unwrap_or("nothing".into()), plan.join("; "))
        }
        Ok(Choice::Done { response }) => format!("done {}", response.unwrap_or_default()),
        Ok(Choice::Listed { items }) => format!("items {}", items.join("; ")),
        Ok(Choice::ItemDone { response }) => format!("item {}", response.unwrap_or_default()),
        Err(wrong) => format!("no: {wrong}"),
    }
}

fn go(tool: &str, input: Value) -> Value {
    json!({"status": "continue", "plan": ["a", "b"], "next_action": {"tool": tool, "input": input}, "response": null})
}

#[rstest]
#[case::an_action(go("todo", json!("/todo add x")), "todo \"/todo add x\" [a; b]")]
#[case::with_arguments(go("todo", json!({"command": "x"})), "todo {\"command\":\"x\"} [a; b]")]
#[case::a_question(go("ask_user", json!(" When? ")), "ask When? [a; b]")]
#[case::done(json!({"status": "done", "plan": [], "next_action": null, "response": "ready"}), "done ready")]
#[case::an_empty_response_is_none(
    json!({"status": "continue", "next_action": {"tool": "todo", "input": "x"}, "response": " "}),
    "todo \"x\" []")]
#[case::no_status(json!({"plan": []}), "no: status: is missing; it must be continue or done")]
#[case::another_status(json!({"status": "planned"}), "no: status: must be continue or done")]
#[case::go_on_with_nothing(json!({"status": "continue"}),
    "no: next_action: is missing; status continue needs the next action")]
#[case::go_on_and_answer(
    json!({"status": "continue", "next_action": {"tool": "t", "input": ""}, "response": "x"}),
    "no: response: must be null while status is continue")]
#[case::done_and_act(
    json!({"status": "done", "next_action": {"tool": "t", "input": ""}, "response": "x"}),
    "no: next_action: must be null when status is done")]
#[case::done_without_an_answer(json!({"status": "done", "response": ""}),
    "no: response: is missing; status done needs the final answer")]
#[case::ask_nothing(go("ask_user", json!(" ")),
    "ask nothing [a; b]")]
#[case::a_plan_of_numbers(json!({"status": "done", "plan": [1], "response": "x"}), "no: plan[0]: must be a text")]
#[case::an_action_in_words(json!({"status": "continue", "next_action": "todo"}),
    "no: next_action: must be an object with tool and input, or null")]
#[case::an_action_with_more(
    json!({"status": "continue", "next_action": {"tool": "t", "input": "", "approved": true}}),
    "no: next_action.approved: is not a field of an action; leave it out")]
#[case::more_fields(json!({"status": "done", "response": "x", "budget": 9}),
    "no: budget: is not a field of this reply; leave it out")]
#[case::a_list(json!(["continue"]), "no: .: must be an object with a status")]
fn a_decision_is(#[case] value: Value, #[case] expected: &str) {
    assert_eq!(line(decision(value)), expected);
}

#[rstest]
#[case::planned(Phase::Plan, json!({"status": "planned", "plan": ["a", "b"]}), "items a; b")]
#[case::planned_nothing(Phase::Plan, json!({"status": "planned", "plan": []}),
    "no: plan: must be a list of at least one item")]
#[case::thought_before_a_plan(Phase::Plan, json!({"status": "done"}), "no: status: must be planned")]
#[case::act(Phase::Thought, json!({"status": "continue", "next_action": {"tool": "t", "input": "x"}}), "t \"x\" []")]
#[case::item_done(Phase::Thought, json!({"status": "done", "response": "ok"}), "item ok")]
#[case::item_done_silently(Phase::Thought, json!({"status": "done"}), "item ")]
#[case::ask(Phase::Thought, json!({"status": "ask_user", "question": "When?"}), "ask When? []")]
#[case::ask_as_an_action(Phase::Thought,
    json!({"status": "ask_user", "next_action": {"tool": "ask_user", "input": "When?"}}), "ask When? []")]
#[case::ask_nothing(Phase::Thought, json!({"status": "ask_user"}), "ask nothing []")]
#[case::ask_and_act(Phase::Thought, json!({"status": "ask_user", "question": "When?", "next_action": {"tool": "t", "input": "x"}}),
    "no: question: is missing; status ask_user needs one question and no action")]
#[case::go_on_with_nothing(Phase::Thought, json!({"status": "continue"}),
    "no: next_action: is missing; status continue needs the next action")]
#[case::replanned_in_a_thought(Phase::Thought, json!({"status": "replanned", "plan": ["a"]}),
    "no: status: must be continue, done or ask_user")]
#[case::replanned(Phase::Replan, json!({"status": "replanned", "plan": ["c"]}), "items c")]
#[case::nothing_remains(Phase::Replan, json!({"status": "replanned", "plan": []}), "done ")]
#[case::closed(Phase::Replan, json!({"status": "done", "response": "all"}), "done all")]
#[case::act_while_replanning(Phase::Replan,
    json!({"status": "replanned", "plan": [], "next_action": {"tool": "t", "input": ""}}),
    "no: next_action: must be null; this is only about the list of items")]
fn what_is_said_in_a_phase_is(#[case] phase: Phase, #[case] value: Value, #[case] expected: &str) {
    assert_eq!(line(phased(value, phase)), expected);
}
