//! Faults, retries, failed steps and replans.

use proto::{
    agent::OnFailure,
    decision::{CallWork, Decision, PlanTalk},
    fact::{PlanReply, TurnReply},
    job::{FailReason, Outcome, SubStatus},
    retry::RetryPolicy,
    tool::Fault,
    work_error::WorkError,
};
use serde_json::json;

use super::play::{Play, agent, plan, plan_with, transient};

fn tries(n: u32) -> RetryPolicy {
    RetryPolicy { max_attempts: n, jitter: 0.0, ..RetryPolicy::default() }
}

#[test]
fn a_fault_that_may_pass_is_tried_again_after_a_wait_with_the_same_key() {
    let mut p = Play::planned(agent(|a| a.tool.retry = tries(3)), plan("a"));
    p.expect(&["call g0.r0.a #1"]);
    let [Decision::Call(first)] = p.decisions.as_slice() else { panic!("not one call") };
    let key = first.idempotency_key.clone();
    p.fault("g0.r0.a", Fault::Timeout);
    p.expect(&["wait g0.r0.a #2"]);
    assert_eq!(p.view().sub_status, Some(SubStatus::BackingOff));
    assert!(!p.job.has_work_out());
    p.expect(&[]);
    p.fire("retry-1");
    p.expect(&["call g0.r0.a #2"]);
    let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
    assert_eq!(call.idempotency_key, key);
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish completed"]);
    assert_eq!(p.view().plan.unwrap().steps[0].attempts, 2);
}

#[test]
fn all_attempts_carry_the_key_of_the_first_command() {
    let mut p = Play::planned(agent(|a| a.tool.retry = tries(3)), plan("a"));
    let Some(Decision::Call(first)) = p.job.decide().map(|next| next.decision) else {
        panic!("not a call")
    };
    p.decision(Decision::Call(CallWork {
        idempotency_key: "of an earlier release".into(),
        ..first
    }));
    p.fault("g0.r0.a", Fault::Timeout);
    p.drive();
    p.fire("retry-1");
    p.expect(&["call g0.r0.a #2"]);
    let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
    assert_eq!(call.idempotency_key, "of an earlier release");
}

#[test]
fn when_no_attempt_is_left_the_step_has_failed() {
    let mut p = Play::planned(agent(|a| a.tool.retry = tries(2)), plan("a b"));
    p.drive();
    p.fault("g0.r0.a", Fault::Timeout);
    p.drive();
    p.fire("retry-1");
    p.drive();
    p.fault("g0.r0.a", Fault::Timeout);
    p.expect(&[]);
    assert_eq!(p.states(), "a:failed b:running", "what runs may end");
    p.ok("g0.r0.b", json!(1));
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, results, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!((reason, results), (FailReason::StepFailed, json!({"b": 1})));
}

#[test]
fn a_fault_that_cannot_pass_is_not_tried_again() {
    for fault in
        [Fault::InvalidArguments, Fault::UnknownTool, Fault::VersionMismatch, Fault::Unknown]
    {
        let mut p = Play::planned(agent(|a| a.tool.retry = tries(5)), plan("a"));
        p.drive();
        p.fault("g0.r0.a", fault);
        p.expect(&["finish failed"]);
    }
}

#[test]
fn a_once_tool_caught_in_the_middle_is_reported_unknown_and_never_run_again() {
    let mut p = Play::planned(
        agent(|a| {
            a.tool.retry = tries(5);
            a.step.retry = tries(5);
        }),
        plan("a"),
    );
    p.drive();
    p.fault("g0.r0.a", Fault::Unknown);
    p.expect(&["finish failed"]);
    let Outcome::Failed { message, .. } = p.outcome() else { panic!("not failed") };
    assert!(message.contains("not known whether this had its effect"), "{message}");
    let call = &p.view().plan.unwrap().steps[0].calls[0];
    assert_eq!(call.state, proto::view::CallState::Unknown);
}

#[test]
fn a_tools_own_no_is_tried_again_by_the_policy_of_steps() {
    let mut p = Play::planned(agent(|a| a.step.retry = tries(2)), plan("a"));
    p.drive();
    p.no("g0.r0.a");
    p.expect(&["wait g0.r0.a #2"]);
    p.fire("retry-1");
    p.expect(&["call g0.r0.a #2"]);
    p.no("g0.r0.a");
    p.expect(&["finish failed"]);
}

#[test]
fn continue_goes_on_with_what_does_not_need_the_failed_step() {
    let mut p =
        Play::planned(agent(|a| a.step.on_failure = OnFailure::Continue), plan("a b<a c d<c"));
    p.expect(&["call g0.r0.a #1", "call g0.r0.c #1"]);
    p.no("g0.r0.a");
    p.expect(&[]);
    p.ok("g0.r0.c", json!(1));
    p.expect(&["call g0.r0.d #1"]);
    p.ok("g0.r0.d", json!(1));
    p.expect(&["finish failed"]);
    assert_eq!(p.states(), "a:failed b:blocked c:completed d:completed");
}

#[test]
fn replan_keeps_what_has_completed_and_makes_the_rest_anew() {
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::Replan), plan("a b<a c<b"));
    p.drive();
    p.ok("g0.r0.a", json!({"id": 7}));
    p.drive();
    p.no("g0.r0.b");
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(p.view().sub_status, Some(SubStatus::Replanning));
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let [PlanTalk::Progressed { steps, .. }] = work.dialogue.as_slice() else {
        panic!("no progress")
    };
    let ends: Vec<_> =
        steps.iter().map(|s| format!("{} {}: {}", s.id, s.state, s.response)).collect();
    assert_eq!(ends, [r#"a completed: {"id":7}"#, "b failed: no", "c blocked: b failed"]);
    p.reply(2, PlanReply::Plan { plan: plan("b2<a") });
    p.expect(&["call g0.r1.b2 #1"]);
    p.ok("g0.r1.b2", json!(2));
    p.expect(&["finish completed"]);
    let Outcome::Completed { results, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(results, json!({"a": {"id": 7}, "b2": 2}));
    assert_eq!(p.states(), "a:completed b:failed b2:completed");
    let view = p.view();
    assert_eq!((view.successful_steps, view.failed_steps), (2, 1));
}

#[test]
fn a_replan_may_not_touch_a_completed_step() {
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::Replan), plan("a b<a"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.drive();
    p.no("g0.r0.b");
    p.drive();
    p.reply(2, PlanReply::Plan { plan: plan("a b") });
    p.expect(&["plan g0.p3 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let Some(PlanTalk::Rejected { error, .. }) = work.dialogue.last() else {
        panic!("not rejected")
    };
    assert!(error.contains("a has completed already"), "{error}");
}

#[test]
fn replans_are_limited() {
    let mut p = Play::planned(
        agent(|a| {
            a.step.on_failure = OnFailure::Replan;
            a.replan.max = 1;
        }),
        plan("a"),
    );
    p.drive();
    p.no("g0.r0.a");
    p.expect(&["plan g0.p2 #1"]);
    p.reply(2, PlanReply::Plan { plan: plan("b") });
    p.drive();
    p.no("g0.r1.b");
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::ReplanLimit);
}

#[test]
fn a_replan_waits_until_what_runs_has_ended() {
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::Replan), plan("a b"));
    p.expect(&["call g0.r0.a #1", "call g0.r0.b #1"]);
    p.no("g0.r0.a");
    p.expect(&[]);
    p.ok("g0.r0.b", json!(1));
    p.expect(&["plan g0.p2 #1"]);
}

#[test]
fn a_model_that_cannot_be_reached_is_asked_again_and_not_sooner_than_it_said() {
    let mut p = Play::submit(agent(|a| a.tool.retry = tries(2)));
    p.expect(&["plan g0.p1 #1"]);
    let error = WorkError { retry_after_ms: Some(60_000), ..transient() };
    p.reply(1, PlanReply::Failed { error });
    p.expect(&["wait g0.p1 #2"]);
    let [Decision::Wait(wait)] = p.decisions.as_slice() else { panic!("not one wait") };
    let waited = wait.until.duration_since(p.view().updated);
    assert!(waited.as_secs() >= 59, "{waited:?}");
    p.fire("retry-1");
    p.expect(&["plan g0.p1 #2"]);
    p.reply(1, PlanReply::Failed { error: transient() });
    p.expect(&["finish failed"]);
}

#[test]
fn a_failed_run_of_a_step_is_followed_by_another_that_knows_why() {
    let agent = agent(|a| a.step.retry = tries(2));
    let mut p = Play::planned(agent, plan_with("a", |_| proto::plan::Action::Agent));
    p.expect(&["turn g0.r0.a.n1.t1 #1"]);
    p.done("g0.r0.a.n1.t1", false, "the door is locked");
    p.expect(&["wait g0.r0.a #2"]);
    p.fire("retry-1");
    p.expect(&["turn g0.r0.a.n2.t1 #1"]);
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.task.as_ref().unwrap().previous_error.as_deref(), Some("the door is locked"));
    p.turn("g0.r0.a.n2.t1", TurnReply::Failed { error: transient() });
    p.expect(&["wait g0.r0.a.n2.t1 #2"]);
    p.fire("retry-2");
    p.expect(&["turn g0.r0.a.n2.t1 #2"]);
    p.done("g0.r0.a.n2.t1", true, "open now");
    p.expect(&["finish completed"]);
}

#[test]
fn a_command_stored_before_the_failure_was_known_is_waited_for_and_then_replanned() {
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::Replan), plan("a b"));
    let first = p.job.decide().expect("a call").decision;
    p.decision(first);
    let second = p.job.decide().expect("another call").decision;
    p.fault("g0.r0.a", Fault::InvalidArguments);
    p.decision(second);
    assert_eq!(p.job.poison(), None);
    p.expect(&[]);
    p.ok("g0.r0.b", json!(1));
    p.expect(&["plan g0.p2 #1"]);
    p.reply(2, PlanReply::Plan { plan: plan("c<b") });
    p.expect(&["call g0.r1.c #1"]);
    p.ok("g0.r1.c", json!(2));
    p.expect(&["finish completed"]);
}

#[test]
fn a_question_that_expires_before_the_replan_is_stored_fails_the_job() {
    let agent = agent(|a| {
        a.step.on_failure = OnFailure::Replan;
        a.ask.deadline_ms = Some(60_000);
    });
    let asks = |step: &str| match step {
        "q" => proto::plan::Action::Agent,
        _ => plan("a").steps.remove(0).action,
    };
    let mut p = Play::planned(agent, plan_with("a q", asks));
    p.drive();
    let question = proto::fact::Asked {
        prompt: "which?".into(),
        kind: proto::fact::AskedKind::Query,
        default: None,
    };
    let call = proto::fact::TurnCall {
        id: "1".into(),
        name: "ask".into(),
        args: json!({}),
        target: proto::fact::CallTarget::Person { question },
    };
    p.turn("g0.r0.q.n1.t1", TurnReply::Calls { text: String::new(), calls: vec![call] });
    p.expect(&["ask q1 question"]);
    p.fault("g0.r0.a", Fault::InvalidArguments);
    let replan = p.job.decide().expect("a replan").decision;
    assert!(matches!(replan, Decision::Plan(_)), "{replan:?}");
    p.fire("ask-q1");
    p.decision(replan);
    assert_eq!(p.job.poison(), None);
    p.expect(&["close q1 Expired", "finish failed"]);
}

/// Applies faults (`f`) and negative answers (`n`) of a call in this order, until no attempt is
/// left.
fn until_given_up(tool: u32, step: u32, course: &str) -> Option<usize> {
    let change =
        |a: &mut proto::agent::Agent| (a.tool.retry, a.step.retry) = (tries(tool), tries(step));
    let mut p = Play::planned(agent(change), plan("a"));
    p.drive();
    for (n, what) in course.chars().enumerate() {
        if what == 'f' {
            p.fault("g0.r0.a", Fault::Timeout)
        } else {
            p.no("g0.r0.a")
        }
        p.drive();
        if p.job.has_ended() {
            return Some(n + 1);
        }
        p.fire(&format!("retry-{}", n + 1));
        p.drive();
    }
    None
}

#[test]
fn faults_use_up_no_runs_of_a_step_and_noes_no_tries_of_its_call() {
    for (course, ends) in [
        ("nn", Some(2)),
        ("fff", Some(3)),
        // A timeout does not count as a run of the step.
        ("fnn", Some(3)),
        ("ffnn", Some(4)),
        ("nfff", Some(4)),
        ("nffn", Some(4)),
        ("nff", None),
        ("ffn", None),
    ] {
        assert_eq!(until_given_up(3, 2, course), ends, "{course}");
    }
}

#[test]
fn what_only_looks_like_a_placeholder_fails_its_step_before_anything_is_called() {
    let reads = |text: &str| {
        let text = text.to_owned();
        plan_with("a b<a", move |step| proto::plan::Action::Tool {
            tool: proto::id::ToolName::new("echo").unwrap(),
            args: if step == "b" { json!({ "say": text }) } else { json!({}) },
            binding: super::play::binding(),
        })
    };
    let mut p = Play::planned(agent(|_| {}), reads("it is {{a[x]}}"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish failed"]);
    let Outcome::Failed { message, .. } = p.outcome() else { panic!("not failed") };
    let why = "cannot resolve the variable {{a[x]}}: this is not how a placeholder is written";
    assert_eq!(message, format!("step b failed: {why}"));
    // Braces of another syntax, and escaped braces.
    for (written, sent) in
        [("{{values[x]}} {{a}}", "{{values[x]}} 1"), (r#"{{"{{"}}a}} {{a}}"#, "{{a}} 1")]
    {
        let mut p = Play::planned(agent(|_| {}), reads(written));
        p.drive();
        p.ok("g0.r0.a", json!(1));
        p.drive();
        let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
        assert_eq!(call.args, json!({ "say": sent }));
    }
}
