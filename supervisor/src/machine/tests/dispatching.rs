//! Dependencies, order, placeholders.

use proto::{agent::Dispatch, decision::Decision, id::ToolName, job::Outcome, plan::Action};
use serde_json::json;

use super::play::{Play, agent, binding, plan, plan_with};

#[test]
fn a_diamond_runs_its_middle_in_parallel() {
    let mut p = Play::planned(agent(|_| {}), plan("s1 s2<s1 s3<s1 s4<s2,s3"));
    p.expect(&["call g0.r0.s1 #1"]);
    p.ok("g0.r0.s1", json!(1));
    p.expect(&["call g0.r0.s2 #1", "call g0.r0.s3 #1"]);
    p.ok("g0.r0.s3", json!(3));
    p.expect(&[]);
    p.ok("g0.r0.s2", json!(2));
    p.expect(&["call g0.r0.s4 #1"]);
    p.ok("g0.r0.s4", json!(4));
    p.expect(&["finish completed"]);
    let Outcome::Completed { results, summary } = p.outcome() else { panic!("not completed") };
    assert_eq!(results, json!({"s1": 1, "s2": 2, "s3": 3, "s4": 4}));
    assert_eq!(summary, "Carried out 4 steps:\n1. 1\n2. 2\n3. 3\n4. 4");
    assert_eq!(p.log.len(), 12, "a diamond is twelve records");
}

#[test]
fn sequential_keeps_the_order_of_the_plan() {
    let mut p = Play::planned(agent(|a| a.dispatch = Dispatch::Sequential), plan("a b c"));
    p.expect(&["call g0.r0.a #1"]);
    p.ok("g0.r0.a", json!(1));
    p.expect(&["call g0.r0.b #1"]);
    p.ok("g0.r0.b", json!(1));
    p.expect(&["call g0.r0.c #1"]);
    p.ok("g0.r0.c", json!(1));
    p.expect(&["finish completed"]);
}

#[test]
fn a_placeholder_takes_the_value_of_an_earlier_step_with_its_type() {
    let step = |name: &str| Action::Tool {
        tool: ToolName::new("t").unwrap(),
        args: if name == "b" {
            json!({"id": "{{a.id}}", "text": "task {{a.id}}"})
        } else {
            json!({})
        },
        binding: binding(),
    };
    let mut p = Play::planned(agent(|_| {}), plan_with("a b<a", step));
    p.drive();
    p.ok("g0.r0.a", json!({"id": 63, "title": "发邮件"}));
    p.expect(&["call g0.r0.b #1"]);
    let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
    assert_eq!(call.args, json!({"id": 63, "text": "task 63"}));
    assert_eq!(call.idempotency_key, "job.g0.r0.b");
}

#[test]
fn a_placeholder_that_cannot_be_resolved_fails_its_step() {
    let step = |name: &str| Action::Tool {
        tool: ToolName::new("t").unwrap(),
        args: if name == "b" { json!({"id": "{{a.nope}}"}) } else { json!({}) },
        binding: binding(),
    };
    let mut p = Play::planned(agent(|_| {}), plan_with("a b<a", step));
    p.drive();
    p.ok("g0.r0.a", json!({"id": 63}));
    p.expect(&["finish failed"]);
    let Outcome::Failed { message, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(
        message,
        "step b failed: cannot resolve the variable {{a.nope}}: the result of a has no \"nope\""
    );
}

#[test]
fn a_plan_of_five_hundred_steps_is_carried_out() {
    let steps: Vec<_> = (0..500).map(|n| format!("s{n}")).collect();
    let mut p = Play::planned(agent(|_| {}), plan(&steps.join(" ")));
    assert_eq!(p.job.decide().map(|_| ()), Some(()));
    // Driving all of it replays the log after every record; the first decisions are enough here.
    for _ in 0..5 {
        let next = p.job.decide().unwrap();
        p.decision(next.decision);
    }
    assert_eq!(p.states().matches("running").count(), 5);
}
