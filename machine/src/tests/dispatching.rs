//! Dependencies, order and placeholders.

use proto::{
    agent::{Dispatch, Hosts, OnBlocked, OnFailure},
    decision::Decision,
    id::ToolName,
    job::{FailReason, Outcome},
    lang::Language,
    plan::Action,
    tool::Fault,
};
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
    let Outcome::Completed { results, summary, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(results, json!({"s1": 1, "s2": 2, "s3": 3, "s4": 4}));
    assert_eq!(summary, "Carried out 4 steps:\n1. do s1: 1\n2. do s2: 2\n3. do s3: 3\n4. do s4: 4");
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
    let expected = format!("job.g0.r0.b.1-{}", p.job.created().as_millisecond());
    assert_eq!(call.idempotency_key, expected);
}

#[test]
fn a_call_carries_the_hosts_of_its_agent() {
    for hosts in [None, Some(Hosts::new(vec!["a.test".into()]))] {
        let mut p = Play::planned(agent(|a| a.tool.hosts.clone_from(&hosts)), plan("a"));
        p.drive();
        let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
        assert_eq!(call.hosts, hosts);
    }
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
        "step b failed: cannot resolve the variable {{a.nope}}: the result a has no \"nope\"; it has id"
    );
}

#[test]
fn sequential_passes_by_what_waits_for_a_later_step_of_the_list() {
    let mut p = Play::planned(agent(|a| a.dispatch = Dispatch::Sequential), plan("a<c b c d"));
    for step in ["b", "c", "a", "d"] {
        p.expect(&[&format!("call g0.r0.{step} #1")]);
        p.ok(&format!("g0.r0.{step}"), json!(1));
    }
    p.expect(&["finish completed"]);
}

#[test]
fn in_strict_order_nothing_runs_after_the_first_failure() {
    let mut p = Play::planned(agent(|a| a.dispatch = Dispatch::Sequential), plan("a b c"));
    p.expect(&["call g0.r0.a #1"]);
    p.no("g0.r0.a");
    p.expect(&["finish failed"]);
    assert_eq!(p.states(), "a:failed b:canceled c:canceled");
}

#[test]
fn levels_begin_only_when_the_whole_level_above_has_ended() {
    let steps = "a b c<a d<b e<c f<a,e";
    let mut p = Play::planned(agent(|a| a.dispatch = Dispatch::Levels), plan(steps));
    p.expect(&["call g0.r0.a #1", "call g0.r0.b #1"]);
    p.ok("g0.r0.a", json!(1));
    p.expect(&[]);
    p.ok("g0.r0.b", json!(1));
    p.expect(&["call g0.r0.c #1", "call g0.r0.d #1"]);
    p.ok("g0.r0.c", json!(1));
    p.expect(&[]);
    p.ok("g0.r0.d", json!(1));
    p.expect(&["call g0.r0.e #1"]);
    p.ok("g0.r0.e", json!(1));
    p.expect(&["call g0.r0.f #1"]);
}

#[test]
fn a_level_whose_step_failed_has_ended_where_the_job_goes_on() {
    let mut p = Play::planned(
        agent(|a| {
            a.dispatch = Dispatch::Levels;
            a.step.on_failure = OnFailure::Continue;
        }),
        plan("a b c<a d<b"),
    );
    p.drive();
    p.ok("g0.r0.b", json!(1));
    p.expect(&[]);
    p.no("g0.r0.a");
    p.expect(&["call g0.r0.d #1"]);
    assert_eq!(p.states(), "a:failed b:completed c:blocked d:running");
}

#[test]
fn a_run_that_fails_at_once_abandons_what_runs() {
    let mut p =
        Play::planned(agent(|a| a.step.on_failure = OnFailure::FailRun), plan("a b c<a d<c"));
    p.expect(&["call g0.r0.a #1", "call g0.r0.b #1"]);
    p.no("g0.r0.a");
    p.expect(&["finish failed"]);
    assert_eq!(p.states(), "a:failed b:canceled c:blocked d:blocked");
    let ignored = p.view().ignored;
    p.ok("g0.r0.b", json!(1));
    assert_eq!(p.view().ignored, ignored + 1, "what comes of it changes nothing");
    let Outcome::Failed { reason, results, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!((reason, results), (FailReason::StepFailed, json!(null)));
}

#[test]
fn a_run_fails_only_when_no_retry_of_the_step_is_left() {
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::FailRun), plan("a b"));
    p.drive();
    p.fault("g0.r0.a", Fault::Timeout);
    p.expect(&["wait g0.r0.a #2"]);
    p.fault("g0.r0.b", Fault::InvalidArguments);
    p.expect(&["finish failed"]);
}

#[test]
fn a_command_that_was_decided_before_the_failure_can_still_follow() {
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::FailRun), plan("a b"));
    let first = p.job.decide().unwrap().decision;
    p.decision(first);
    let decided = p.job.decide().unwrap().decision;
    p.no("g0.r0.a");
    p.decision(decided);
    assert!(p.job.poison().is_none(), "{:?}", p.job.poison());
    p.expect(&["finish failed"]);
}

fn skipping() -> proto::agent::Agent {
    agent(|a| {
        a.step.on_failure = OnFailure::Continue;
        a.step.on_blocked = OnBlocked::Skip;
    })
}

#[test]
fn blocked_steps_may_be_skipped_and_the_job_completes_with_what_it_has() {
    let mut p = Play::planned(skipping(), plan("a b<a c<b d"));
    p.drive();
    p.no("g0.r0.a");
    p.expect(&[]);
    p.ok("g0.r0.d", json!(4));
    p.expect(&["finish completed"]);
    assert_eq!(p.states(), "a:failed b:skipped c:skipped d:completed");
    let Outcome::Completed { summary, results, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(results, json!({"d": 4}));
    assert_eq!(
        summary,
        "Carried out 1 step:\n1. do d: 4\nWithout what failed: step a failed: no; skipped: b, c"
    );
}

#[test]
fn but_a_job_of_which_nothing_completed_has_failed() {
    let mut p = Play::planned(skipping(), plan("a b<a"));
    p.drive();
    p.no("g0.r0.a");
    p.expect(&["finish failed"]);
}

#[test]
fn a_placeholder_that_cannot_be_resolved_is_named_in_the_language_of_the_job() {
    let step = |name: &str| Action::Tool {
        tool: ToolName::new("t").unwrap(),
        args: if name == "b" { json!({"to": ["{{a.tags[3]}}"]}) } else { json!({}) },
        binding: binding(),
    };
    let mut p = Play::submit_in(agent(|_| {}), Language::Zh);
    p.drive();
    p.reply(1, proto::fact::PlanReply::Plan { plan: plan_with("a b<a", step) });
    p.drive();
    p.ok("g0.r0.a", json!({"tags": ["x"]}));
    p.expect(&["finish failed"]);
    let Outcome::Failed { message, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(
        message,
        "步骤 b 失败: 无法解析变量：{{a.tags[3]}}（结果 a.tags 是 1 项的列表，没有 \"3\"）"
    );
}

#[test]
fn the_results_a_step_depends_on_are_in_its_context() {
    let mut p = Play::planned(
        agent(|_| {}),
        plan_with("a b c<b,a", |name| match name {
            "c" => Action::Agent,
            _ => plan("x").steps[0].action.clone(),
        }),
    );
    p.drive();
    p.ok("g0.r0.a", json!({"id": 7}));
    p.ok("g0.r0.b", json!("done"));
    p.expect(&["turn g0.r0.c.n1.t1 #1"]);
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    let told = turn.task.as_ref().unwrap().dependencies.iter();
    let told: Vec<_> = told.map(|end| format!("[{}]: {}", end.id, end.response)).collect();
    assert_eq!(told, [r#"[a]: {"id":7}"#, "[b]: done"]);
}

#[test]
fn a_plan_of_five_hundred_steps_is_carried_out() {
    let steps: Vec<_> = (0..500).map(|n| format!("s{n}")).collect();
    let mut p = Play::planned(agent(|_| {}), plan(&steps.join(" ")));
    assert_eq!(p.job.decide().map(|_| ()), Some(()));
    // A full run would replay the log after every record; the first decisions are enough here.
    for _ in 0..5 {
        let next = p.job.decide().unwrap();
        p.decision(next.decision);
    }
    assert_eq!(p.states().matches("running").count(), 5);
}
