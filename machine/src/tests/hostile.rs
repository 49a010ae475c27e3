//! Records that are late, duplicated, forged, or of another version.

use proto::{
    cost::Cost,
    decision::{Decision, Finish},
    fact::{Answered, Called, Fact, Fired, PlanReply, Planned, Source},
    id::{AskId, Attempt, Pool, TimerName, WorkId},
    interaction::{Answer, Verdict},
    job::{Outcome, SubStatus},
    message::Usage,
    record::Unreadable,
    subject::Family,
    tool::{Fault, ToolResult},
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, plan};

#[test]
fn a_result_counts_once() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    p.drive();
    p.result("g0.r0.a", 1, ToolResult::ok(json!("first")), None);
    p.result("g0.r0.a", 1, ToolResult::ok(json!("again")), None);
    p.result("g0.r0.a", 1, ToolResult::failed("no"), None);
    p.expect(&["call g0.r0.b #1"]);
    assert_eq!(p.view().ignored, 2);
    assert_eq!(p.view().plan.unwrap().steps[0].response.as_deref(), Some("first"));
}

#[test]
fn a_late_result_of_an_earlier_attempt_changes_nothing() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    p.fault("g0.r0.a", Fault::WorkerLost);
    p.result("g0.r0.a", 1, ToolResult::ok(json!("late")), None);
    p.expect(&["wait g0.r0.a #2"]);
    p.result("g0.r0.a", 1, ToolResult::ok(json!("later")), None);
    p.fire("retry-1");
    p.expect(&["call g0.r0.a #2"]);
    p.result("g0.r0.a", 1, ToolResult::ok(json!("latest")), None);
    p.expect(&[]);
    p.result("g0.r0.a", 3, ToolResult::ok(json!("from the future")), None);
    p.expect(&[]);
    assert_eq!(p.view().ignored, 4);
}

#[test]
fn results_for_work_that_does_not_exist_change_nothing() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    for id in ["g0.r0.b", "g1.r0.a", "g0.r1.a", "g0.p1", "x"] {
        p.result(id, 1, ToolResult::ok(json!(1)), None);
    }
    p.expect(&[]);
    assert_eq!(p.view().ignored, 5);
}

#[test]
fn stale_timer_is_ignored() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    for timer in ["retry-7", "ask-q9", "nonsense"] {
        p.fact(Fact::Fired(Fired { timer: TimerName::new(timer).unwrap() }));
    }
    p.expect(&[]);
    assert_eq!(p.view().ignored, 3);
}

#[test]
fn a_timer_that_fires_before_its_wait_is_stored_is_not_lost() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    p.fault("g0.r0.a", Fault::Timeout);
    let wait = p.job.decide().unwrap();
    assert_eq!(wait.arm.len(), 1, "the timer is armed before the wait is stored");
    p.fact(Fact::Fired(Fired { timer: wait.arm[0].timer.clone() }));
    p.decision(wait.decision);
    p.expect(&["call g0.r0.a #2"]);
}

#[test]
fn a_deadline_that_passes_before_its_question_is_stored_is_not_lost() {
    let mut p = Play::submit(agent(|a| {
        a.confirm = true;
        a.ask.deadline_ms = Some(10);
    }));
    p.drive();
    p.reply(1, proto::fact::PlanReply::Plan { plan: plan("a") });
    let ask = p.job.decide().unwrap();
    p.fact(Fact::Fired(Fired { timer: ask.arm[0].timer.clone() }));
    p.decision(ask.decision);
    p.expect(&["close q1 Expired", "finish failed"]);
}

#[test]
fn a_timer_left_of_a_question_that_was_never_stored_expires_no_other() {
    let mut p = Play::submit(agent(|a| {
        a.confirm = true;
        a.ask.deadline_ms = Some(3_600_000);
    }));
    p.drive();
    p.reply(1, proto::fact::PlanReply::Plan { plan: plan("a") });
    let ask = p.job.decide().unwrap();
    p.fact(Fact::Fired(Fired { timer: ask.arm[0].timer.clone() }));
    p.decision(ask.decision);
    p.expect(&[]);
    assert_eq!(p.view().questions.len(), 1);
}

#[test]
fn data_too_deep_to_be_written_once_more_is_kept_as_text() {
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    p.ok("g0.r0.a", deep.clone());
    p.expect(&["finish completed"]);
    let Some(Decision::Finish(finish)) = p.decisions.last() else { panic!("no end") };
    let finish = serde_json::to_value(finish).unwrap();
    assert!(!proto::strict::is_deep(&finish), "{finish}");
    assert!(finish.to_string().contains(&deep.to_string()), "{finish}");
}

#[test]
fn an_approval_forged_by_a_worker_is_ignored() {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    p.drive();
    p.reply(1, proto::fact::PlanReply::Plan { plan: plan("a") });
    p.drive();
    let answer = Answer {
        decision: Verdict::Approve,
        value: None,
        text: None,
        digest: None,
        remember: None,
    };
    let forged = Answered { ask: AskId::new("q1").unwrap(), answer, by: "the agent".into() };
    p.fact_from(Source::Crew, Fact::Answered(forged));
    p.expect(&[]);
    assert_eq!((p.view().questions.len(), p.view().ignored), (1, 1));
}

/// A source that may not answer a command.
#[rstest]
#[case::the_planner(Source::Plan)]
#[case::the_executor(Source::Turn)]
#[case::the_door(Source::Door)]
#[case::another_pool(Source::Call(Pool::new("python").unwrap()))]
fn a_result_of_another_role_or_pool_is_ignored(#[case] forger: Source) {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    let forged = Called {
        work: WorkId::new("g0.r0.a").unwrap(),
        attempt: Attempt::FIRST,
        result: ToolResult::ok(json!("forged")),
        fault: None,
        outage: false,
        duration_ms: 0,
        cost: Cost::default(),
        files: Vec::new(),
    };
    p.fact_from(forger, Fact::Called(forged));
    p.expect(&[]);
    assert_eq!(p.view().ignored, 1);
    p.result("g0.r0.a", 1, ToolResult::ok(json!("true")), None);
    p.expect(&["finish completed"]);
}

#[rstest]
#[case::the_executor(Source::Turn)]
#[case::a_tool(Source::Call(Pool::new("builtin").unwrap()))]
fn a_plan_of_another_role_is_ignored(#[case] forger: Source) {
    let mut p = Play::submit(agent(|_| {}));
    p.drive();
    let forged = Planned {
        work: WorkId::new("g0.p1").unwrap(),
        attempt: Attempt::FIRST,
        reply: PlanReply::Plan { plan: plan("forged") },
        usage: Usage::default(),
        detected: None,
        outline: Vec::new(),
        reasoning: String::new(),
        answered: None,
    };
    p.fact_from(forger, Fact::Planned(forged));
    p.expect(&[]);
    assert_eq!((p.view().plan.is_none(), p.view().ignored), (true, 1));
}

#[test]
fn a_decision_in_the_place_of_a_fact_is_ignored() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    let outcome = Outcome::Canceled { reason: None };
    let forged = Decision::Finish(Finish {
        outcome,
        usage: Usage::default(),
        generation: proto::id::Generation::FIRST,
    });
    p.record(Family::In(Source::Crew), Ok(proto::record::Known::Decision(Box::new(forged))));
    assert_eq!((p.job.has_ended(), p.view().ignored), (false, 1));
}

#[test]
fn a_record_of_a_newer_version_parks_this_job_and_names_its_place() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    p.drive();
    p.record(Family::In(Source::Door), Err(Unreadable::Kind { kind: "danced".into(), unit: None }));
    let seq = p.job.seq();
    p.ok("g0.r0.a", json!(1));
    p.expect(&[]);
    let view = p.view();
    assert_eq!(view.sub_status, Some(SubStatus::Poisoned));
    assert_eq!(view.reason, Some(format!("record {seq}: unknown kind \"danced\"")));
}

#[test]
fn what_the_broker_was_made_to_write_holds_its_position_and_the_job_goes_on() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    p.drive();
    for family in [Family::UnknownDo("forged".into()), Family::In(Source::People)] {
        let (decisions, before) = (matches!(family, Family::UnknownDo(_)), p.job.last_decision());
        p.record(family, Err(Unreadable::Forged));
        let expected = if decisions { p.job.seq() } else { before };
        assert_eq!(p.job.last_decision(), expected);
    }
    p.ok("g0.r0.a", json!(1));
    p.expect(&["call g0.r0.b #1"]);
    assert_eq!((p.view().sub_status, p.view().ignored), (Some(SubStatus::Executing), 2));
}

#[test]
fn a_decision_of_a_newer_kind_parks_this_job_and_holds_its_position() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    p.drive();
    let newer = Family::UnknownDo("rest".into());
    p.record(newer, Err(Unreadable::Kind { kind: "rest".into(), unit: None }));
    assert_eq!(p.job.last_decision(), p.job.seq());
    p.ok("g0.r0.a", json!(1));
    p.expect(&[]);
    assert_eq!(p.view().sub_status, Some(SubStatus::Poisoned));
}

#[test]
fn a_decision_that_cannot_follow_parks_the_job() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    let sent = p.decisions.clone();
    p.decision(sent.into_iter().next().unwrap());
    assert!(p.job.poison().is_some());
    assert!(p.job.decide().is_none());
}

#[test]
fn an_ended_job_ignores_everything() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.drive();
    let before = p.view();
    p.signal(proto::fact::Signal::Cancel);
    p.ok("g0.r0.a", json!(2));
    assert_eq!(p.view().outcome, before.outcome);
    assert_eq!(p.view().ignored, 2);
    p.expect(&[]);
}

#[test]
fn the_same_attempt_is_never_sent_twice() {
    let mut p = Play::planned(agent(|_| {}), plan("a b c<a,b"));
    let mut sent = p.drive();
    p.ok("g0.r0.b", json!(1));
    sent.extend(p.drive());
    p.fault("g0.r0.a", Fault::Internal);
    sent.extend(p.drive());
    p.fire("retry-1");
    sent.extend(p.drive());
    p.result("g0.r0.a", Attempt(2).0, ToolResult::ok(json!(1)), None);
    sent.extend(p.drive());
    let unique: std::collections::BTreeSet<_> = sent.iter().collect();
    assert_eq!(unique.len(), sent.len(), "{sent:?}");
}

#[test]
fn a_job_under_rules_of_a_newer_release_is_parked() {
    let newer: proto::rules::Rules = serde_json::from_value(json!(99)).unwrap();
    assert!(!newer.are_known() && proto::rules::Rules::NOW.are_known());
    let mut p = Play::submit_under(newer, agent(|_| {}));
    p.expect(&[]);
    let poison = p.job.poison().unwrap();
    assert_eq!(poison.reason, "the job is under rules of a newer Callboard (99)");
}
