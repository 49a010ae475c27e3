//! Detection (`plan.when: auto`): goals that need no plan.

use proto::{
    agent::{PlanWhen, StepExec},
    budget::{Axis, Price},
    decision::{Decision, Detect},
    effort::Effort,
    fact::{CallTarget, PlanReply, TurnCall},
    id::ToolName,
    interaction::{Answer, QuestionKind, Verdict},
    job::Outcome,
    message::Usage,
    plan::Action,
    policy::{Detected, Detector},
    price::ModelPrice,
    tool::{Binding, Effect},
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, binding, calls, plan, plan_with, question, tool_call};

fn found(complex: bool) -> Detected {
    Detected { complex, by: Detector::Patterns, why: "先.*然后".into(), usage: Usage::default() }
}

#[test]
fn the_first_round_finds_out_and_a_simple_goal_is_one_step_without_a_confirmation() {
    let mut p = Play::submit(agent(|a| {
        a.plan.when = PlanWhen::Auto;
        a.confirm = true;
    }));
    p.expect(&["plan g0.p1 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert_eq!(work.detect, Some(Detect { by: Detector::Patterns, model: None }));
    p.planned_with(1, PlanReply::Simple, |planned| planned.detected = Some(found(false)));
    p.expect(&["turn g0.r0.goal.n1.t1 #1"]);
    assert_eq!(p.view().detected, Some(found(false)));
}

#[test]
fn a_complex_goal_is_planned_and_not_looked_at_again() {
    let mut p = Play::submit(agent(|a| {
        a.plan.when = PlanWhen::Auto;
        a.plan.detect = Detector::Model;
        a.plan.detect_model = Some("small".into());
    }));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let by_model = Detect { by: Detector::Model, model: Some("small".into()) };
    assert_eq!(work.detect, Some(by_model));
    let error =
        PlanReply::Unparseable { text: "Sure!".into(), error: "no JSON".into(), action: false };
    p.planned_with(1, error, |planned| planned.detected = Some(found(true)));
    p.expect(&["plan g0.p2 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert_eq!(work.detect, None);
    p.reply(2, PlanReply::Plan { plan: plan("a") });
    p.expect(&["call g0.r0.a #1"]);
    assert!(p.view().detected.unwrap().complex);
}

#[test]
fn nobody_is_believed_who_was_not_asked() {
    let mut p = Play::submit(agent(|_| {}));
    p.drive();
    p.planned_with(1, PlanReply::Simple, |planned| planned.detected = Some(found(false)));
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(p.view().detected, None);
    let mut p = Play::submit(agent(|a| a.plan.when = PlanWhen::Auto));
    p.drive();
    p.planned_with(1, PlanReply::Simple, |planned| planned.detected = Some(found(true)));
    p.expect(&["plan g0.p2 #1"]);
}

#[test]
fn the_planner_has_a_model_of_its_own_where_the_agent_says_so() {
    let mut p = Play::submit(agent(|a| {
        (a.model, a.temperature) = (Some("large".into()), Some(0.9));
        (a.plan.model, a.plan.temperature) = (Some("planner".into()), Some(0.1));
        (a.top_p, a.plan.top_p) = (Some(0.9), Some(0.5));
        (a.effort, a.plan.effort) = (Some(Effort::Low), Some(Effort::High));
    }));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert_eq!(work.model.model.as_deref(), Some("planner"));
    assert_eq!((work.model.temperature, work.model.top_p), (Some(0.1), Some(0.5)));
    assert_eq!(work.model.effort, Some(Effort::High));
}

/// Detection, planning and execution may use three models, each with a price of its own.
#[rstest]
#[case::of_each(&["small", "large"], 0.001 + 2.0 + 0.1)]
#[case::of_the_planner(&["large"], 0.01 + 2.0 + 0.1)]
#[case::of_none(&[], 0.01 + 0.02 + 0.1)]
fn every_call_is_booked_at_the_price_of_the_model_that_was_asked(
    #[case] priced: &[&str],
    #[case] expected: f64,
) {
    let price = |input| Price::new(input, 0.0);
    let mut p = Play::submit(agent(|a| {
        a.plan.when = PlanWhen::Auto;
        a.plan.detect = Detector::Model;
        a.plan.detect_model = Some("small".into());
        a.plan.model = Some("large".into());
        a.model = Some("usual".into());
        a.budget.money = Some(100.0);
        a.budget.price = Some(price(10_000.0));
        let known =
            [ModelPrice::new("small", price(1_000.0)), ModelPrice::new("large", price(1e6))];
        a.budget.prices =
            known.into_iter().filter(|p| priced.contains(&p.model.as_str())).collect();
    }));
    p.drive();
    let tokens = |input_tokens| Usage::reported(input_tokens, 0);
    let plan = PlanReply::Plan { plan: plan_with("a", |_| Action::Agent) };
    p.planned_with(1, plan, |planned| {
        planned.detected = Some(Detected { usage: tokens(1), ..found(true) });
        planned.usage = tokens(3);
    });
    p.drive();
    p.done("g0.r0.a.n1.t1", true, "done");
    let money = p.view().budget.iter().find(|gauge| gauge.axis == Axis::Money).unwrap().used;
    assert!((money - expected).abs() < 1e-9, "{money}");
    assert_eq!(p.view().usage, Usage::reported(13, 1));
}

/// Returns a job whose goal was taken for simple, under an agent that confirms plans.
fn taken_for_simple(change: impl FnOnce(&mut proto::agent::Agent)) -> Play {
    let mut p = Play::submit(agent(|a| {
        (a.plan.when, a.confirm) = (PlanWhen::Auto, true);
        change(a);
    }));
    p.drive();
    p.planned_with(1, PlanReply::Simple, |planned| planned.detected = Some(found(false)));
    p.expect(&["turn g0.r0.goal.n1.t1 #1"]);
    p
}

/// Returns a call of a tool that only reads, that changes, or that destroys.
fn call_of(name: &str) -> TurnCall {
    let (effect, destructive) = match name {
        "read" => (Effect::Pure, false),
        "delete" => (Effect::Idempotent, true),
        _ => (Effect::Idempotent, false),
    };
    let binding = Binding { effect, destructive, ..binding() };
    let target = CallTarget::Tool { tool: ToolName::new(name).unwrap(), binding };
    TurnCall { target, ..tool_call(name, name, json!({"what": "{{step9.id}}"})) }
}

#[rstest]
#[case::two_changes(&["write", "send"], true)]
#[case::one_that_destroys(&["read", "delete"], true)]
#[case::one_change(&["read", "write", "read"], false)]
fn changes_that_a_simple_goal_leads_to_are_confirmed_as_a_plan(
    #[case] names: &[&str],
    #[case] confirmed: bool,
) {
    let mut p = taken_for_simple(|_| {});
    p.turn("g0.r0.goal.n1.t1", calls(names.iter().map(|name| call_of(name)).collect()));
    if !confirmed {
        assert!(p.drive().iter().all(|decision| decision.starts_with("call g0.r0.goal")));
        return;
    }
    p.expect(&["ask q1 plan_check"]);
    let QuestionKind::PlanCheck { plan, .. } = p.view().questions[0].kind.clone() else {
        panic!("not a check of a plan")
    };
    let steps: Vec<_> = plan.steps.iter().map(|step| step.description.as_str()).collect();
    assert_eq!(steps, names);
    p.answer("q1", Verdict::Approve, None);
    p.drive();
    let Some(Decision::Call(call)) = p.decisions.last() else { panic!("{:?}", p.decisions) };
    assert_eq!(call.args, json!({"what": "{{step9.id}}"}), "braces of a model are no placeholders");
    for (n, _) in names.iter().enumerate() {
        p.ok(&format!("g0.r1.step{}", n + 1), json!(n));
        p.drive();
    }
    let Outcome::Completed { summary, .. } = p.outcome() else { panic!("not completed") };
    assert!(summary.starts_with("Carried out 2 steps:"), "{summary}");
    assert!(p.view().plan.unwrap().steps.iter().all(|step| step.id.as_str() != "goal"));
}

#[test]
fn a_question_beside_changes_is_asked_before_they_become_a_plan() {
    let mut p = taken_for_simple(|_| {});
    let wanted = vec![question("ask", "which one?"), call_of("read"), call_of("delete")];
    p.turn("g0.r0.goal.n1.t1", calls(wanted));
    p.expect(&["call g0.r0.goal.n1.t1.c1 #1", "ask q1 question"]);
    p.ok("g0.r0.goal.n1.t1.c1", json!("two of them"));
    p.answer_with("q1", Answer::respond(json!("the old one")));
    p.expect(&["turn g0.r0.goal.n1.t2 #1"]);
    let [Decision::Turn(work)] = p.decisions.as_slice() else { panic!("{:?}", p.decisions) };
    let told = serde_json::to_string(&work.replies).unwrap();
    assert!(told.contains("a person is asked first") && told.contains("the old one"), "{told}");
    p.turn("g0.r0.goal.n1.t2", calls(vec![call_of("delete")]));
    p.expect(&["ask q2 plan_check"]);
}

#[test]
fn without_a_confirmation_or_where_steps_are_loops_the_calls_of_a_simple_goal_run() {
    let mut p = taken_for_simple(|a| a.step.exec = StepExec::MasterLoop);
    p.turn("g0.r0.goal.n1.t1", calls(vec![call_of("delete")]));
    p.expect(&["call g0.r0.goal.n1.t1.c0 #1"]);
    let mut p = Play::submit(agent(|a| a.plan.when = PlanWhen::Auto));
    p.drive();
    p.planned_with(1, PlanReply::Simple, |planned| planned.detected = Some(found(false)));
    p.drive();
    p.turn("g0.r0.goal.n1.t1", calls(vec![call_of("delete")]));
    p.expect(&["call g0.r0.goal.n1.t1.c0 #1"]);
}
