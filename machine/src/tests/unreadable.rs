//! Unreadable records: malformed results of workers, and the end of poisoned jobs.

use proto::{
    fact::{PlanReply, Signal, Source},
    id::{Attempt, ToolName, Unit},
    job::{FailReason, JobState, Outcome, SubStatus},
    plan::Action,
    record::Unreadable,
    retry::RetryPolicy,
    subject::Family,
    tool::{Binding, Effect, ToolResult},
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, binding, plan, plan_with, work};

fn retrying(steps: &str) -> Play {
    let retry = RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
    Play::planned(agent(|a| a.tool.retry = retry), plan(steps))
}

/// Applies a worker's result whose body does not fit.
fn misfit(p: &mut Play, kind: &str, unit: &str, attempt: u32) {
    let unit = Some(Unit { work: work(unit), attempt: Attempt(attempt) });
    let (kind, path, why) = (kind.into(), "result.success".into(), "a secret".into());
    p.record(Family::In(Source::Crew), Err(Unreadable::Body { kind, path, why, unit }));
}

fn unknown(kind: &str) -> Unreadable {
    Unreadable::Kind { kind: kind.into(), unit: None }
}

fn park(p: &mut Play) {
    p.record(Family::In(Source::Door), Err(unknown("danced")));
    assert_eq!(p.view().sub_status, Some(SubStatus::Poisoned));
}

#[test]
fn a_malformed_result_breaks_its_attempt_and_is_told() {
    let mut p = retrying("a");
    p.drive();
    misfit(&mut p, "called", "g0.r0.a", 1);
    p.expect(&["wait g0.r0.a #2"]);
    let reason = p.view().reason.unwrap();
    let told =
        "the worker's result cannot be read: the body of \"called\" does not fit at result.success";
    assert!(reason.contains(told) && !reason.contains("a secret"), "{reason}");
    p.fire("retry-1");
    p.drive();
    misfit(&mut p, "called", "g0.r0.a", 1);
    assert_eq!(p.view().ignored, 1, "it is late");
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish completed"]);
}

#[test]
fn a_malformed_plan_is_asked_for_again() {
    let retry = RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
    let mut p = Play::submit(agent(|a| a.tool.retry = retry));
    p.expect(&["plan g0.p1 #1"]);
    misfit(&mut p, "planned", "g0.p1", 1);
    p.expect(&["wait g0.p1 #2"]);
}

#[test]
fn a_malformed_turn_is_taken_again() {
    let retry = RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
    let plan = plan_with("a", |_| Action::Agent);
    let mut p = Play::planned(agent(|a| a.tool.retry = retry), plan);
    p.drive();
    misfit(&mut p, "turned", "g0.r0.a.n1.t1", 1);
    p.expect(&["wait g0.r0.a.n1.t1 #2"]);
}

#[test]
fn a_once_call_with_a_malformed_result_is_never_repeated() {
    let once = Binding { effect: Effect::Once, ..binding() };
    let step = |_: &str| Action::Tool {
        tool: ToolName::new("pay").unwrap(),
        args: json!({}),
        binding: once.clone(),
    };
    let retry = RetryPolicy { max_attempts: 9, jitter: 0.0, ..RetryPolicy::default() };
    let mut p = Play::planned(agent(|a| a.tool.retry = retry), plan_with("a", step));
    p.drive();
    misfit(&mut p, "called", "g0.r0.a", 1);
    p.expect(&["finish failed"]);
    let Outcome::Failed { message, .. } = p.outcome() else { panic!() };
    assert!(message.contains("not known whether this had its effect"), "{message}");
}

#[rstest]
#[case::not_json(Unreadable::Malformed("not JSON".into()))]
#[case::of_nothing(Unreadable::Body { kind: "called".into(), path: "work".into(), why: String::new(), unit: None })]
fn a_result_that_names_no_unit_breaks_the_only_attempt_in_progress(#[case] garbage: Unreadable) {
    let mut one = retrying("a");
    one.drive();
    one.record(Family::In(Source::Crew), Err(garbage.clone()));
    one.expect(&["wait g0.r0.a #2"]);

    let mut two = retrying("a b");
    two.drive();
    two.record(Family::In(Source::Crew), Err(garbage));
    assert_eq!((two.view().ignored, two.view().sub_status), (1, Some(SubStatus::Executing)));
}

#[rstest]
#[case::of_unknown_work(Unreadable::Body { kind: "called".into(), path: "result".into(), why: String::new(),
    unit: Some(Unit { work: work("g0.r0.other"), attempt: Attempt::FIRST }) })]
#[case::a_decision(Unreadable::Body { kind: "call".into(), path: "tool".into(), why: String::new(),
    unit: Some(Unit { work: work("g0.r0.a"), attempt: Attempt::FIRST }) })]
fn garbage_of_a_worker_holds_no_job(#[case] garbage: Unreadable) {
    let mut p = retrying("a");
    p.drive();
    p.record(Family::In(Source::Crew), Err(garbage));
    assert_eq!((p.view().ignored, p.view().sub_status), (1, Some(SubStatus::Executing)));
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish completed"]);
}

fn call_of(pool: &str) -> Family {
    Family::In(Source::Call(proto::id::Pool::new(pool).unwrap()))
}

#[rstest]
#[case::a_planner(Family::In(Source::Plan))]
#[case::an_executor(Family::In(Source::Turn))]
#[case::another_pool(call_of("python"))]
fn garbage_of_another_role_or_pool_breaks_no_attempt(#[case] family: Family) {
    let mut p = retrying("a");
    p.drive();
    for garbage in [
        Unreadable::Malformed("not JSON".into()),
        Unreadable::Body {
            kind: "called".into(),
            path: "result".into(),
            why: String::new(),
            unit: Some(Unit { work: work("g0.r0.a"), attempt: Attempt::FIRST }),
        },
    ] {
        p.record(family.clone(), Err(garbage));
    }
    assert_eq!((p.view().ignored, p.view().sub_status), (2, Some(SubStatus::Executing)));
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish completed"]);
}

fn names(unit: &str) -> Unreadable {
    let unit = Some(Unit { work: work(unit), attempt: Attempt::FIRST });
    Unreadable::Kind { kind: "result".into(), unit }
}

fn newer() -> Unreadable {
    Unreadable::Version(proto::record::VERSION + 1)
}

#[rstest]
#[case::a_kind_of_nothing(call_of("builtin"), unknown("danced"))]
#[case::a_kind_of_unknown_work(call_of("builtin"), names("g0.r0.other"))]
#[case::a_kind_of_another_pool(call_of("python"), names("g0.r0.a"))]
#[case::a_kind_of_a_planner(Family::In(Source::Plan), names("g0.r0.a"))]
#[case::a_version_of_another_pool(call_of("python"), newer())]
#[case::a_version_of_an_executor(Family::In(Source::Turn), newer())]
#[case::no_version_of_another_pool(call_of("python"), Unreadable::Version(0))]
#[case::a_lost_body_of_another_pool(call_of("python"), Unreadable::Missing("00".into()))]
fn what_no_command_asks_of_a_worker_holds_no_job(#[case] family: Family, #[case] why: Unreadable) {
    let mut p = retrying("a b<a");
    p.drive();
    p.record(family, Err(why));
    assert_eq!((p.view().ignored, p.view().sub_status), (1, Some(SubStatus::Executing)));
    p.ok("g0.r0.a", json!(1));
    p.expect(&["call g0.r0.b #1"]);
}

#[rstest]
#[case::an_unknown_kind(names("g0.r0.a"))]
#[case::no_version(Unreadable::Version(0))]
fn an_unreadable_result_of_the_asked_worker_breaks_its_attempt(#[case] why: Unreadable) {
    let mut p = retrying("a");
    p.drive();
    p.record(call_of("builtin"), Err(why));
    p.expect(&["wait g0.r0.a #2"]);
    p.fire("retry-1");
    p.drive();
    p.record(call_of("builtin"), Err(names("g0.r0.a")));
    assert_eq!(p.view().ignored, 1, "it is late");
    p.result("g0.r0.a", 2, ToolResult::ok(json!(1)), None);
    p.expect(&["finish completed"]);
}

/// A newer Callboard, or the return of the object, makes such a result readable.
#[rstest]
#[case::a_newer_version(newer())]
#[case::a_lost_body(Unreadable::Missing("00".into()))]
fn a_result_that_becomes_readable_holds_its_job_until_then(#[case] why: Unreadable) {
    let mut p = retrying("a");
    p.drive();
    p.record(call_of("builtin"), Err(why));
    p.ok("g0.r0.a", json!(1));
    p.expect(&[]);
    assert_eq!(p.view().sub_status, Some(SubStatus::Poisoned));
}

#[test]
fn what_a_worker_writes_after_the_end_leaves_the_end_as_it_is() {
    let mut p = retrying("a");
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.drive();
    p.record(call_of("builtin"), Err(newer()));
    assert_eq!((p.job.poison(), p.view().ignored), (None, 1));
}

#[rstest]
#[case::of_the_door(Family::In(Source::Door))]
#[case::of_people(Family::In(Source::People))]
#[case::a_decision(Family::Do(proto::decision::DecisionKind::Note, proto::id::Pool::new("none").unwrap()))]
fn a_malformed_record_of_callboard_itself_holds_its_job(#[case] family: Family) {
    let mut p = retrying("a");
    p.drive();
    p.record(family, Err(Unreadable::Malformed("torn".into())));
    assert!(p.job.poison().is_some());
}

#[test]
fn a_cancellation_ends_a_poisoned_job() {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.expect(&["ask q1 plan_check"]);
    park(&mut p);
    p.signal(Signal::Pause);
    p.expect(&[]);
    p.signal(Signal::Cancel);
    p.expect(&["close q1 JobEnded", "finish canceled"]);
    assert_eq!(p.view().state, JobState::Canceled);
}

#[test]
fn the_deadline_ends_a_poisoned_job() {
    let mut p = Play::planned(agent(|a| a.deadline_ms = Some(5_000)), plan("a"));
    p.drive();
    park(&mut p);
    p.ok("g0.r0.a", json!(1));
    p.expect(&[]);
    p.fire("deadline");
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!() };
    assert_eq!(reason, FailReason::DeadlineExceeded);
}

#[test]
fn a_poisoned_job_names_its_first_unreadable_record_until_it_ends() {
    let mut p = retrying("a");
    p.drive();
    park(&mut p);
    let first = p.job.poison().unwrap().seq;
    p.record(Family::In(Source::Door), Err(unknown("sang")));
    p.signal(Signal::Cancel);
    p.drive();
    assert_eq!(p.job.poison().unwrap().seq, first);
    assert!(p.job.has_ended());
}

#[test]
fn a_poisoned_job_waits_for_its_deadline_alone() {
    for drives in [false, true] {
        let mut p = Play::submit(agent(|a| a.deadline_ms = Some(60_000)));
        if drives {
            p.drive();
        }
        park(&mut p);
        let waits = p.job.waits();
        let timers: Vec<String> = waits.timers.iter().map(|arm| arm.timer.to_string()).collect();
        assert_eq!(timers, ["deadline"]);
        assert!(waits.commands.is_empty() && waits.questions.is_empty());
    }
}
