//! Rollbacks: kept results, repeated decisions, and fenced decisions.

use jiff::SignedDuration;
use proto::{
    budget::Budget,
    decision::{Closed, Decision, Finish, Note},
    fact::{PlanReply, Signal},
    id::{Generation, Seq, SnapshotName},
    interaction::Verdict,
    job::{JobState, Outcome},
    plan::Action,
    tool::Approval,
};
use rstest::rstest;
use serde_json::json;

use super::play::*;

/// Returns a job of two calls that has completed, with its position after each step.
fn completed() -> (Play, Seq, Seq) {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    let planned = p.last();
    p.expect(&["call g0.r0.a #1"]);
    p.ok("g0.r0.a", json!(1));
    let first = p.last();
    p.expect(&["call g0.r0.b #1"]);
    p.ok("g0.r0.b", json!(2));
    p.expect(&["finish completed"]);
    (p, planned, first)
}

#[test]
fn a_completed_job_goes_on_from_where_it_was_and_completes_again() {
    let (mut p, _, first) = completed();
    let before = p.outcome();
    assert!(p.back(first));
    assert_eq!(p.view().state, JobState::Working);
    assert_eq!(p.states(), "a:completed b:ready");
    p.expect(&["call g1.r0.b #1"]);
    p.ok("g1.r0.b", json!(2));
    p.expect(&["finish completed"]);
    assert_eq!(p.outcome(), before);
    assert_eq!((p.view().generation, p.view().ignored), (Generation(1), 0));
}

#[test]
fn what_was_with_workers_at_that_point_is_decided_anew_and_late_results_change_nothing() {
    let mut p = Play::planned(agent(|_| {}), plan("a b"));
    p.expect(&["call g0.r0.a #1", "call g0.r0.b #1"]);
    let both_out = p.last();
    p.ok("g0.r0.a", json!(1));
    assert!(p.back(both_out));
    p.expect(&["call g1.r0.a #1", "call g1.r0.b #1"]);
    p.result("g0.r0.b", 1, proto::tool::ToolResult::ok(json!("late")), None);
    assert_eq!(p.view().ignored, 1);
    assert_eq!(p.states(), "a:running b:running");
    p.ok("g1.r0.b", json!(2));
    p.ok("g1.r0.a", json!(1));
    p.expect(&["finish completed"]);
    let Outcome::Completed { results, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(results, json!({"a": 1, "b": 2}));
}

#[rstest]
#[case::a_command("call")]
#[case::the_end("finish")]
#[case::a_question("ask")]
#[case::a_close("note")]
fn what_somebody_decided_who_did_not_know_of_it_is_fenced(#[case] kind: &str) {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    let planned = p.last();
    p.expect(&["call g0.r0.a #1"]);
    let Some(Decision::Call(call)) = p.decisions.first().cloned() else { panic!("no call") };
    assert!(p.back(planned));
    let stale = match kind {
        "call" => Decision::Call(call),
        "finish" => Decision::Finish(Finish {
            outcome: Outcome::Canceled { reason: None },
            usage: Default::default(),
            generation: Generation::FIRST,
        }),
        "ask" => {
            let question = proto::interaction::Question {
                id: proto::id::AskId::new("q1").unwrap(),
                prompt: "?".into(),
                kind: proto::interaction::QuestionKind::Question,
                step: None,
                deadline: None,
                default: None,
            };
            Decision::Ask(proto::decision::AskWork { work: work("g0.p1.ask"), question })
        }
        _ => Decision::Note(Note::QuestionClosed {
            ask: proto::id::AskId::new("q9").unwrap(),
            because: Closed::Superseded,
            generation: Generation::FIRST,
        }),
    };
    p.decision(stale);
    assert_eq!((p.job.poison(), p.view().ignored), (None, 1));
    let follows = p.drive();
    let expected: &[&str] = match kind {
        "ask" => &["close q1 RolledBack", "call g1.r0.a #1"],
        _ => &["call g1.r0.a #1"],
    };
    assert_eq!(follows, expected);
    p.ok("g1.r0.a", json!(1));
    p.expect(&["finish completed"]);
}

#[test]
fn questions_are_closed_and_those_of_that_point_are_asked_again_by_another_name() {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: plan("a") });
    p.expect(&["ask q1 plan_check"]);
    let asked = p.last();
    p.answer("q1", Verdict::Respond, Some("shorter"));
    p.expect(&["plan g0.p2 #1"]);
    p.reply(2, PlanReply::Plan { plan: plan("b") });
    p.expect(&["ask q2 plan_check"]);
    assert!(p.back(asked));
    assert!(p.view().questions.is_empty());
    p.expect(&["close q2 RolledBack", "ask q3 plan_check"]);
    p.answer("q1", Verdict::Respond, Some("late"));
    p.answer("q2", Verdict::Respond, Some("late"));
    assert_eq!(p.view().ignored, 2);
    let digest = digest_shown(&p);
    p.answer_with("q3", proto::interaction::Answer::approve(digest));
    p.expect(&["call g1.r0.a #1"]);
}

#[test]
fn what_a_person_agreed_to_is_asked_about_again() {
    let mut approved = binding();
    approved.approval = Approval::Always;
    let tool = proto::id::ToolName::new("pay").unwrap();
    let action =
        |_: &str| Action::Tool { tool: tool.clone(), args: json!({}), binding: approved.clone() };
    let mut p = Play::planned(agent(|_| {}), plan_with("a", action));
    p.expect(&["ask q1 tool_approval"]);
    let digest = digest_shown(&p);
    let yes = |digest| proto::interaction::Answer {
        decision: Verdict::Approve,
        value: None,
        text: None,
        digest,
        remember: None,
    };
    p.answer_with("q1", yes(digest.clone()));
    let agreed = p.last();
    p.expect(&["call g0.r0.a #1"]);
    assert!(p.back(agreed));
    p.expect(&["ask q2 tool_approval"]);
    p.answer_with("q2", yes(digest));
    assert_eq!(p.view().ignored, 1, "what was agreed to has the name of its work in it");
}

#[test]
fn timers_are_canceled_and_one_that_fires_late_ends_no_wait() {
    let mut p = Play::planned(agent(|a| a.deadline_ms = Some(60_000)), plan("a"));
    let planned = p.last();
    p.drive();
    p.fault("g0.r0.a", proto::tool::Fault::Timeout);
    p.expect(&["wait g0.r0.a #2"]);
    assert!(p.armed.contains_key(&timer("retry-1")) && p.armed.contains_key(&timer("deadline")));
    assert!(p.back(planned));
    p.expect(&["call g1.r0.a #1"]);
    let armed: Vec<_> = p.armed.keys().map(ToString::to_string).collect();
    assert_eq!(armed, ["deadline-g1"]);
    p.fact(proto::fact::Fact::Fired(proto::fact::Fired { timer: timer("deadline") }));
    p.fact(proto::fact::Fact::Fired(proto::fact::Fired { timer: timer("retry-1") }));
    assert_eq!((p.view().ignored, p.view().state), (2, JobState::Working));
    p.fault("g1.r0.a", proto::tool::Fault::Timeout);
    p.expect(&["wait g1.r0.a #2"]);
    assert!(p.armed.contains_key(&timer("retry-g1-1")));
}

fn timer(name: &str) -> proto::id::TimerName {
    proto::id::TimerName::new(name).unwrap()
}

#[test]
fn the_time_that_is_taken_out_does_not_count() {
    let mut p = Play::planned(agent(|a| a.deadline_ms = Some(60_000)), plan("a"));
    let planned = p.last();
    p.drive();
    p.fire("deadline");
    p.expect(&["finish failed"]);
    assert!(p.back(planned));
    let now = p.view().updated;
    p.expect(&["call g1.r0.a #1"]);
    let left = p.armed[&timer("deadline-g1")].duration_since(now);
    assert_eq!(left, SignedDuration::from_millis(60_000 - 2), "two records before that point");
}

#[test]
fn roll_backs_nest_and_what_is_taken_out_is_no_point_to_go_back_to() {
    let (mut p, planned, first) = completed();
    let end = p.last();
    assert!(p.back(first));
    let marker = p.last();
    p.expect(&["call g1.r0.b #1"]);
    assert!(!p.back(end), "the end was taken out");
    assert!(p.back(marker));
    p.expect(&["call g2.r0.b #1"]);
    assert!(p.back(planned));
    p.expect(&["call g3.r0.a #1"]);
    assert!(!p.back(first) && !p.back(marker));
    assert_eq!(p.view().ignored, 3);
    p.ok("g3.r0.a", json!(1));
    p.expect(&["call g3.r0.b #1"]);
    p.ok("g3.r0.b", json!(2));
    p.expect(&["finish completed"]);
}

#[test]
fn a_job_that_is_parked_goes_on_from_before_the_record_that_cannot_be_read() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    let sent = p.last();
    let family = proto::subject::Family::In(proto::fact::Source::Door);
    p.record(family, Err(proto::record::Unreadable::Kind { kind: "danced".into(), unit: None }));
    assert!(p.job.poison().is_some());
    assert!(p.back(sent));
    assert!(p.job.poison().is_none());
    p.expect(&["call g1.r0.a #1"]);
}

#[test]
fn a_tool_that_began_unseen_holds_it_unless_it_may_run_again() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    let planned = p.last();
    p.drive();
    let seen = p.last();
    let (of, attempt) = (work("g0.r0.a"), proto::id::Attempt::FIRST);
    p.fact(proto::fact::Fact::Started(proto::fact::Started { work: of, attempt }));
    p.signal(Signal::RollBack { to: planned, seen, again: false });
    assert_eq!((p.job.generation(), p.view().ignored), (Generation::FIRST, 1));
    p.signal(Signal::RollBack { to: planned, seen, again: true });
    assert_eq!(p.job.generation(), Generation(1));
}

#[test]
fn a_start_that_another_pool_forges_holds_no_roll_back() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    let planned = p.last();
    p.drive();
    let seen = p.last();
    let (of, attempt) = (work("g0.r0.a"), proto::id::Attempt::FIRST);
    let python = proto::fact::Source::Call(proto::id::Pool::new("python").unwrap());
    let started = proto::fact::Started { work: of, attempt };
    p.fact_from(python, proto::fact::Fact::Started(started));
    assert_eq!(p.view().ignored, 1);
    p.signal(Signal::RollBack { to: planned, seen, again: false });
    assert_eq!(p.job.generation(), Generation(1));
}

#[test]
fn a_snapshot_is_a_name_for_a_point_and_goes_with_what_is_taken_out() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    let name = |name: &str| SnapshotName::new(name).unwrap();
    p.signal(Signal::Snapshot { name: name("before"), at: None });
    let before = p.last();
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.signal(Signal::Snapshot { name: name("after"), at: None });
    let shown = |p: &Play| p.job.snapshots().iter().map(|s| s.name.to_string()).collect::<Vec<_>>();
    assert_eq!(shown(&p), ["before", "after"]);
    p.signal(Signal::Snapshot { name: name("before"), at: None });
    assert_eq!(p.job.snapshots().last().unwrap().seq, p.last(), "the later one takes its place");
    assert!(p.back(before));
    assert_eq!(shown(&p), ["before"]);
    assert_eq!(p.job.snapshots()[0].seq, before);
}

#[test]
fn an_earlier_record_gets_a_name_and_a_later_one_does_not() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    let planned = p.last();
    p.drive();
    p.ok("g0.r0.a", json!(1));
    let name = |p: &mut Play, at: u64| {
        let name = SnapshotName::new("then").unwrap();
        p.signal(Signal::Snapshot { name, at: Some(Seq(at)) });
        p.job.snapshots().iter().map(|named| named.seq).collect::<Vec<_>>()
    };
    assert_eq!(name(&mut p, planned.0), [planned]);
    // No record is later than the signal: the name is that of the signal's own position.
    let later = p.last().0 + 9;
    assert_eq!(name(&mut p, later), [p.last()]);
}

#[test]
fn what_is_sent_anew_is_counted_once() {
    let budget = Budget { turns: Some(2), ..Budget::default() };
    let mut p =
        Play::planned(agent(|a| a.budget = budget.clone()), plan_with("a b<a", |_| Action::Agent));
    p.expect(&["turn g0.r0.a.n1.t1 #1"]);
    for _ in 0..3 {
        let sent = p.last();
        assert!(p.back(sent));
        p.drive();
    }
    p.done("g3.r0.a.n1.t1", true, "done");
    p.expect(&["turn g3.r0.b.n1.t1 #1"]);
    p.done("g3.r0.b.n1.t1", true, "done");
    p.expect(&["finish completed"]);
}

#[test]
fn the_turns_of_a_run_before_that_point_are_those_it_goes_on_from() {
    let mut p = Play::planned(agent(|_| {}), plan_with("a", |_| Action::Agent));
    p.expect(&["turn g0.r0.a.n1.t1 #1"]);
    p.turn("g0.r0.a.n1.t1", calls(vec![tool_call("1", "echo", json!({}))]));
    let heard = p.last();
    p.expect(&["call g0.r0.a.n1.t1.c0 #1"]);
    p.ok("g0.r0.a.n1.t1.c0", json!("x"));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    assert!(p.back(heard));
    p.expect(&["call g1.r0.a.n1.t1.c0 #1"]);
    p.ok("g1.r0.a.n1.t1.c0", json!("y"));
    p.expect(&["turn g1.r0.a.n1.t2 #1"]);
    let Some(Decision::Turn(turn)) = p.decisions.last() else { panic!("no turn") };
    assert_eq!(turn.after, Some(heard));
}

fn digest_shown(p: &Play) -> Option<String> {
    use proto::interaction::QuestionKind;
    match p.view().questions.first().map(|question| question.kind.clone()) {
        Some(
            QuestionKind::PlanCheck { digest, .. } | QuestionKind::ToolApproval { digest, .. },
        ) => Some(digest),
        _ => None,
    }
}
