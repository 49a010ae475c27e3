//! Jobs that are submitted with a plan: direct tool calls.

use std::collections::BTreeSet;

use proto::{
    fact::{Signal, Submitted},
    job::{FailReason, Outcome},
    lang::Language,
    plan::{Plan, Step},
};
use serde_json::json;

use super::play::{Play, agent, plan};

fn submitted(plan: Plan) -> Submitted {
    Submitted {
        goal: "/todo buy milk".into(),
        agent: agent(|a| {
            a.confirm = true;
            a.replan.max = 0;
        }),
        language: Language::En,
        language_detected: false,
        digest: "d".into(),
        by: None,
        conversation: None,
        parent: None,
        agents: Default::default(),
        forked: None,
        plan: Some(plan),
        workflow: None,
        files: Vec::new(),
        labels: proto::label::Labels::default(),
        rules: proto::rules::Rules::NOW,
    }
}

#[test]
fn a_given_plan_is_carried_out_without_a_planner_and_without_asking() {
    let mut p = Play::submit_as(submitted(plan("a")));
    p.expect(&["call g0.r0.a #1"]);
    p.ok("g0.r0.a", json!({"id": 1}));
    p.expect(&["finish completed"]);
}

#[test]
fn nobody_plans_anew_whatever_is_said_to_it_meanwhile() {
    let mut p = Play::submit_as(submitted(plan("a")));
    p.drive();
    p.signal(Signal::Steer { text: "do it otherwise".into() });
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish completed"]);
}

#[test]
fn a_given_plan_that_is_not_whole_fails_the_job_and_runs_nothing() {
    let whole = plan("a");
    let twice: Vec<Step> = whole.steps.iter().chain(&whole.steps).cloned().collect();
    let broken = Plan { steps: twice, ..whole };
    assert!(broken.check(&BTreeSet::new()).is_err());
    let mut p = Play::submit_as(submitted(broken));
    p.drive();
    let outcome = p.view().outcome;
    assert!(
        matches!(outcome, Some(Outcome::Failed { reason: FailReason::PlanFailed, .. })),
        "{outcome:?}"
    );
}
