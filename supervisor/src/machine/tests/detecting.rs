//! `plan.when: auto`: goals that need no plan.

use proto::{
    agent::PlanWhen,
    decision::{Decision, Detect},
    fact::PlanReply,
    policy::{Detected, Detector},
};

use super::play::{Play, agent, plan};

fn found(complex: bool) -> Detected {
    Detected { complex, by: Detector::Patterns, why: "先.*然后".into() }
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
    let error = PlanReply::Unparseable { text: "Sure!".into(), error: "no JSON".into() };
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
    }));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert_eq!(work.model.model.as_deref(), Some("planner"));
    assert_eq!((work.model.temperature, work.model.top_p), (Some(0.1), Some(0.5)));
}
