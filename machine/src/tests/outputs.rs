//! Structured results: when a model is asked for one, what it is told, and what a job ends with.

use proto::{
    agent::{Agent, OnFailure},
    budget::Axis,
    decision::{Decision, TurnWork},
    fact::{PlanReply, Signal, TurnReply},
    job::{FailReason, Outcome},
    output::{Misfit, OUTPUT_TRIES_MAX, OutputSchema},
    plan::Plan,
    tool::ToolResult,
    work_error::{ErrorClass, WorkError},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{Play, agent, plan, transient};

pub(super) fn schema() -> OutputSchema {
    OutputSchema(json!({"type": "object", "required": ["total"]}))
}

pub(super) fn fits() -> TurnReply {
    reply(json!({"total": 3}))
}

fn reply(value: Value) -> TurnReply {
    let (response, attachments) = (String::new(), Vec::new());
    TurnReply::Done { success: true, response, attachments, value }
}

pub(super) fn misfit() -> TurnReply {
    let misfits = vec![Misfit { field: "total".into(), why: "is missing".into() }];
    TurnReply::Misfit { text: r#"{"sum": 3}"#.into(), misfits }
}

fn stating(change: impl FnOnce(&mut Agent)) -> Agent {
    agent(|agent| {
        agent.output = Some(schema());
        change(agent);
    })
}

/// Returns a job whose plan has one step `a`, which has completed.
fn carried_out(agent: Agent) -> Play {
    let mut p = Play::planned(agent, plan("a"));
    p.drive();
    p.result("g0.r0.a", 1, ToolResult::ok(json!({"price": 3})), None);
    p
}

fn asked(p: &Play) -> TurnWork {
    let turn = p.decisions.iter().find_map(|decision| match decision {
        Decision::Turn(work) => Some(work.clone()),
        _ => None,
    });
    turn.unwrap()
}

fn failure(p: &Play) -> (FailReason, String) {
    let Outcome::Failed { reason, message, .. } = p.outcome() else { panic!("{:?}", p.outcome()) };
    (reason, message)
}

#[test]
fn the_result_is_asked_for_once_everything_else_is_over_and_ends_the_job() {
    let mut p = carried_out(stating(|_| {}));
    p.expect(&["turn g0.r0.output.n1.t1 #1"]);
    let work = asked(&p);
    assert_eq!(work.output, Some(schema()));
    assert!(work.must_answer && !work.may_ask);
    let task = work.task.unwrap();
    assert_eq!(task.dependencies[0].response, r#"{"price":3}"#);
    assert_eq!(p.states(), "a:completed output:running");
    p.turn("g0.r0.output.n1.t1", fits());
    p.expect(&["finish completed"]);
    let Outcome::Completed { summary, results, value } = p.outcome() else { panic!("failed") };
    assert_eq!(value, json!({"total": 3}));
    assert_eq!(results, json!({"a": {"price": 3}}));
    assert!(summary.contains("Carried out 1 step"), "{summary}");
}

#[test]
fn a_model_is_told_the_places_that_do_not_fit_until_its_tries_are_used_up() {
    let mut p = carried_out(stating(|_| {}));
    for run in 1..=OUTPUT_TRIES_MAX {
        p.expect(&[&format!("turn g0.r0.output.n{run}.t1 #1")]);
        let told = asked(&p).task.unwrap().previous_error.unwrap_or_default();
        assert_eq!(told.contains("- total: is missing"), run > 1, "{told}");
        assert_eq!(told.contains(r#"{"sum": 3}"#), run > 1, "{told}");
        p.turn(&format!("g0.r0.output.n{run}.t1"), misfit());
    }
    p.expect(&["finish failed"]);
    let (reason, message) = failure(&p);
    assert_eq!(reason, FailReason::OutputInvalid);
    assert!(message.contains("4 replies") && message.contains("- total: is missing"), "{message}");
    assert_eq!(p.outcome().value(), &Value::Null);
}

#[test]
fn a_repaired_result_ends_the_job_and_its_turns_are_counted() {
    let mut p = carried_out(stating(|_| {}));
    p.drive();
    p.turn("g0.r0.output.n1.t1", misfit());
    p.drive();
    p.turn("g0.r0.output.n2.t1", fits());
    p.expect(&["finish completed"]);
    assert_eq!(p.outcome().value(), &json!({"total": 3}));
    assert_eq!(p.job.usage().input_tokens, 20);
}

#[test]
fn a_repair_counts_against_the_budget() {
    let mut p = carried_out(stating(|agent| agent.budget.tokens = Some(11)));
    p.drive();
    p.turn("g0.r0.output.n1.t1", misfit());
    p.expect(&["finish failed"]);
    assert_eq!(failure(&p).0, FailReason::BudgetExceeded);
    assert!(p.view().budget.iter().any(|gauge| gauge.axis == Axis::Tokens));
}

#[rstest]
#[case::no_value(reply(Value::Null))]
#[case::calls(TurnReply::Calls { text: String::new(), calls: Vec::new() })]
#[case::nothing(TurnReply::Failed { error: transient() })]
fn a_worker_that_does_not_state_the_result_is_asked_again(#[case] reply: TurnReply) {
    let mut p = carried_out(stating(|_| {}));
    p.drive();
    p.turn("g0.r0.output.n1.t1", reply);
    p.expect(&["wait g0.r0.output.n1.t1 #2"]);
    p.fire("retry-1");
    p.expect(&["turn g0.r0.output.n1.t1 #2"]);
    p.turn("g0.r0.output.n1.t1", fits());
    p.expect(&["finish completed"]);
}

#[rstest]
#[case(OnFailure::Stop)]
#[case(OnFailure::Continue)]
#[case(OnFailure::Replan)]
#[case(OnFailure::FailRun)]
fn without_a_result_the_job_fails_whatever_failed_steps_do(#[case] policy: OnFailure) {
    let mut p = carried_out(stating(|agent| agent.step.on_failure = policy));
    p.drive();
    let error = WorkError::new("no such model", ErrorClass::Permanent);
    p.turn("g0.r0.output.n1.t1", TurnReply::Failed { error });
    p.expect(&["finish failed"]);
    assert_eq!(failure(&p), (FailReason::StepFailed, "no such model".into()));
}

#[test]
fn a_step_that_is_called_output_keeps_its_name() {
    let mut p = Play::planned(stating(|_| {}), plan("output"));
    p.drive();
    p.result("g0.r0.output", 1, ToolResult::ok(json!(1)), None);
    p.expect(&["turn g0.r0.output2.n1.t1 #1"]);
}

#[test]
fn an_answer_without_steps_is_put_into_the_form_of_the_result() {
    let mut p = Play::submit(stating(|agent| agent.plan.allow_empty = true));
    p.drive();
    p.reply(1, PlanReply::Finished { response: "It costs 3.".into(), language: None });
    p.drive();
    let work = asked(&p);
    assert!(work.task.unwrap().description.contains("It costs 3."));
    p.turn(work.work.as_str(), fits());
    p.expect(&["finish completed"]);
    let Outcome::Completed { summary, .. } = p.outcome() else { panic!("failed") };
    assert_eq!(summary, "It costs 3.");
}

#[test]
fn an_instruction_that_no_turn_heard_leads_to_a_new_plan_and_another_result() {
    let mut p = carried_out(stating(|agent| agent.replan.max = 2));
    p.drive();
    p.signal(Signal::Steer { text: "and the weight".into() });
    p.turn("g0.r0.output.n1.t1", fits());
    p.expect(&["plan g0.p2 #1"]);
    p.reply(2, PlanReply::Plan { plan: Plan { ..plan("b") } });
    p.drive();
    p.result("g0.r1.b", 1, ToolResult::ok(json!(7)), None);
    p.expect(&["turn g0.r1.output.n1.t1 #1"]);
    p.turn("g0.r1.output.n1.t1", reply(json!({"total": 7})));
    p.expect(&["finish completed"]);
    assert_eq!(p.outcome().value(), &json!({"total": 7}));
}

#[test]
fn a_job_without_a_schema_ends_as_before() {
    let mut p = carried_out(agent(|_| {}));
    p.expect(&["finish completed"]);
    assert_eq!(json!(p.outcome()).get("value"), None);
}
