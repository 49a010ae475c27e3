//! Replanning: its causes, the steps that stay, and the view of the revisions.

use proto::{
    agent::{Agent, Dispatch, Listed, OnFailure, ReplanApply, ReplanWhen},
    decision::{Decision, PlanTalk, PlanWork},
    fact::{PlanNote, PlanPhase, PlanReply},
    id::StepId,
    job::{FailReason, Outcome},
    outline,
    plan::Plan,
    policy::PlanProtocol,
    revision::{Cause, Revision},
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, plan, question};

fn when(when: ReplanWhen, change: impl FnOnce(&mut Agent)) -> Agent {
    agent(|a| {
        a.replan.when = Some(when);
        change(a);
    })
}

fn listing(steps: &str, listed: &[&str]) -> Plan {
    let replan = listed.iter().map(|id| StepId::new(*id).unwrap()).collect();
    Plan { replan, ..plan(steps) }
}

#[track_caller]
fn planned(p: &Play) -> &PlanWork {
    let Some(Decision::Plan(work)) = p.decisions.last() else {
        panic!("no plan: {:?}", p.decisions)
    };
    work
}

#[track_caller]
fn progressed(p: &Play) -> (Vec<String>, Vec<String>, Cause) {
    let Some(PlanTalk::Progressed { steps, kept, because, .. }) = planned(p).dialogue.last() else {
        panic!("no progress")
    };
    let ends = steps.iter().map(|end| format!("{}:{}", end.id, end.state)).collect();
    (ends, kept.iter().map(ToString::to_string).collect(), *because)
}

fn again(p: &mut Play, round: u32, plan: Plan) {
    p.reply(round, PlanReply::Plan { plan });
}

/// Returns revisions as they are displayed, without the labels of steps.
fn shown(revisions: &[Revision]) -> Vec<String> {
    let line = |r: &Revision| {
        let steps = r.steps.iter().map(|l| format!("{}{}:{}", l.change.mark(), l.id, l.state));
        let cause = r.cause.map_or("", Cause::as_str);
        format!("{} {cause}:{}", r.number, steps.map(|s| format!(" {s}")).collect::<String>())
    };
    revisions.iter().map(line).collect()
}

#[test]
fn after_each_step_what_remains_is_planned_anew() {
    let mut p = Play::planned(
        when(ReplanWhen::AfterEachStep, |a| a.dispatch = Dispatch::Sequential),
        plan("a b c"),
    );
    p.expect(&["call g0.r0.a #1"]);
    p.ok("g0.r0.a", json!(1));
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(progressed(&p), (vec!["a:completed".into()], vec![], Cause::Completed));
    assert_eq!(p.states(), "a:completed", "steps that never began are gone");
    again(&mut p, 2, plan("b"));
    p.expect(&["call g0.r1.b #1"]);
    assert_eq!(p.states(), "a:completed b:running");
    p.ok("g0.r1.b", json!(2));
    p.expect(&["plan g0.p3 #1"]);
    again(&mut p, 3, plan(""));
    p.expect(&["finish completed"]);
    let Outcome::Completed { results, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(results, json!({"a": 1, "b": 2}), "nothing remains to be done");
}

#[test]
fn what_was_begun_ends_before_and_nothing_new_is_begun() {
    let mut p = Play::planned(when(ReplanWhen::AfterEachStep, |_| {}), plan("a b c<a"));
    p.expect(&["call g0.r0.a #1", "call g0.r0.b #1"]);
    p.ok("g0.r0.a", json!(1));
    p.expect(&[]);
    assert_eq!(p.states(), "a:completed b:running c:ready");
    p.fault("g0.r0.b", proto::tool::Fault::Timeout);
    p.expect(&["wait g0.r0.b #2"]);
    p.fire("retry-1");
    p.expect(&["call g0.r0.b #2"]);
    p.ok("g0.r0.b", json!(2));
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(progressed(&p).0, ["a:completed", "b:completed"]);
}

#[test]
fn a_person_who_is_being_asked_is_waited_for() {
    let loops = super::play::plan_with("a b", |_| proto::plan::Action::Agent);
    let mut p = Play::planned(when(ReplanWhen::AfterEachStep, |_| {}), loops);
    p.drive();
    p.turn("g0.r0.a.n1.t1", super::play::calls(vec![question("c", "which?")]));
    p.expect(&["ask q1 question"]);
    p.done("g0.r0.b.n1.t1", true, "done");
    p.expect(&[]);
    p.answer_with("q1", proto::interaction::Answer::respond("this".into()));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    p.done("g0.r0.a.n1.t2", true, "this");
    p.expect(&["plan g0.p2 #1"]);
}

#[rstest]
#[case::each(Listed::Each, &["plan g0.p2 #1"])]
#[case::all(Listed::All, &["call g0.r0.b #1"])]
fn after_listed_steps(#[case] listed: Listed, #[case] expected: &[&str]) {
    let agent = when(ReplanWhen::AfterListed, |a| {
        a.replan.listed = listed;
        a.dispatch = Dispatch::Sequential;
    });
    let mut p = Play::planned(agent, listing("x a b c", &["a", "b"]));
    p.expect(&["call g0.r0.x #1"]);
    p.ok("g0.r0.x", json!(0));
    p.expect(&["call g0.r0.a #1"]);
    p.ok("g0.r0.a", json!(1));
    p.expect(expected);
    if listed == Listed::All {
        p.ok("g0.r0.b", json!(2));
        p.expect(&["plan g0.p2 #1"]);
    }
    assert_eq!(progressed(&p).2, Cause::Listed);
}

#[test]
fn a_plan_that_lists_its_last_step_is_planned_on() {
    let mut p = Play::planned(when(ReplanWhen::AfterListed, |_| {}), listing("a", &["a"]));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.expect(&["plan g0.p2 #1"]);
    again(&mut p, 2, listing("b", &[]));
    p.expect(&["call g0.r1.b #1"]);
    p.ok("g0.r1.b", json!(2));
    p.expect(&["finish completed"]);
}

#[test]
fn a_plan_that_lists_a_step_that_is_none_goes_back() {
    let mut p = Play::submit(when(ReplanWhen::AfterListed, |_| {}));
    p.drive();
    again(&mut p, 1, listing("a", &["b"]));
    p.expect(&["plan g0.p2 #1"]);
    let Some(PlanTalk::Rejected { error, .. }) = planned(&p).dialogue.last() else { panic!() };
    assert_eq!(error, "replan names b, which is not a step of the plan");
}

#[test]
fn without_the_policy_what_a_plan_lists_says_nothing() {
    let mut p = Play::planned(agent(|_| {}), listing("a b<a", &["a"]));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.expect(&["call g0.r0.b #1"]);
}

#[test]
fn when_the_replans_are_used_up_the_plan_is_carried_out_as_it_is() {
    let agent = when(ReplanWhen::AfterEachStep, |a| {
        a.replan.max = 1;
        a.dispatch = Dispatch::Sequential;
    });
    let mut p = Play::planned(agent, plan("a b"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.expect(&["plan g0.p2 #1"]);
    again(&mut p, 2, plan("b c"));
    p.drive();
    p.ok("g0.r1.b", json!(2));
    p.expect(&["call g0.r1.c #1"]);
    p.ok("g0.r1.c", json!(3));
    p.expect(&["finish completed"]);
}

#[test]
fn after_a_failure_a_plan_without_steps_is_none() {
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::Replan), plan("a"));
    p.drive();
    p.no("g0.r0.a");
    p.expect(&["plan g0.p2 #1"]);
    again(&mut p, 2, plan(""));
    p.expect(&["plan g0.p3 #1"]);
}

#[test]
fn appended_steps_come_after_what_is_still_to_be_done() {
    let agent = when(ReplanWhen::AfterListed, |a| a.replan.apply = ReplanApply::Append);
    let mut p = Play::planned(agent, listing("a b<a c<b", &["a"]));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(progressed(&p).1, ["b", "c"]);
    again(&mut p, 2, plan("b"));
    p.expect(&["plan g0.p3 #1"]);
    let Some(PlanTalk::Rejected { error, .. }) = planned(&p).dialogue.last() else { panic!() };
    assert_eq!(error, "step b is still part of the plan; use another id");
    again(&mut p, 3, plan("d<c,a"));
    p.expect(&["call g0.r0.b #1"]);
    p.ok("g0.r0.b", json!(2));
    p.expect(&["call g0.r0.c #1"]);
    p.ok("g0.r0.c", json!(3));
    p.expect(&["call g0.r1.d #1"]);
    p.ok("g0.r1.d", json!(4));
    p.expect(&["finish completed"]);
    assert_eq!(p.states(), "a:completed b:completed c:completed d:completed");
    assert_eq!(
        shown(&p.view().revisions),
        [
            "0 : +a:completed +b:completed +c:completed",
            "1 listed:  a:completed  b:completed  c:completed +d:completed"
        ]
    );
}

#[test]
fn appending_nothing_goes_on_with_what_is_there() {
    let agent = agent(|a| {
        a.step.on_failure = OnFailure::Replan;
        a.replan.apply = ReplanApply::Append;
        a.dispatch = Dispatch::Sequential;
    });
    let mut p = Play::planned(agent, plan("a b c<a"));
    p.drive();
    p.no("g0.r0.a");
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(
        progressed(&p),
        (vec!["a:failed".into(), "c:blocked".into()], vec!["b".into()], Cause::Failed)
    );
    again(&mut p, 2, plan(""));
    p.expect(&["call g0.r0.b #1"]);
}

#[test]
fn a_question_of_a_step_that_stays_stays_open() {
    let loops = super::play::plan_with("a b", |name| match name {
        "a" => proto::plan::Action::Agent,
        _ => plan("x").steps[0].action.clone(),
    });
    for (apply, closed) in [(ReplanApply::Append, false), (ReplanApply::ReplacePending, true)] {
        let agent = agent(|a| {
            a.step.on_failure = OnFailure::Replan;
            a.replan.apply = apply;
        });
        let mut p = Play::planned(agent, loops.clone());
        p.drive();
        p.turn("g0.r0.a.n1.t1", super::play::calls(vec![question("c", "which?")]));
        p.expect(&["ask q1 question"]);
        p.no("g0.r0.b");
        let mut expected = vec!["plan g0.p2 #1"];
        expected.splice(0..0, closed.then_some("close q1 Superseded"));
        let mut got = p.drive();
        got.sort();
        expected.sort_unstable();
        assert_eq!(got, expected);
        if !closed {
            p.answer_with("q1", proto::interaction::Answer::respond("this".into()));
            again(&mut p, 2, plan(""));
            p.expect(&["turn g0.r0.a.n1.t2 #1"]);
        }
    }
}

#[test]
fn a_plan_that_replaces_all_can_read_what_was_before_and_leaves_it_in_sight() {
    let agent = when(ReplanWhen::AfterEachStep, |a| a.replan.apply = ReplanApply::ReplaceAll);
    let mut p = Play::planned(agent, plan("a b<a"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.expect(&["plan g0.p2 #1"]);
    again(&mut p, 2, plan("c<a"));
    p.expect(&["call g0.r1.c #1"]);
    assert_eq!(p.states(), "a:completed c:running");
    p.ok("g0.r1.c", json!(2));
    p.drive();
    again(&mut p, 3, plan(""));
    p.expect(&["finish completed"]);
    let Outcome::Completed { results, summary, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(results, json!({"a": 1, "c": 2}));
    assert_eq!(summary, "Carried out 2 steps:\n1. do a: 1\n2. do c: 2");
    assert_eq!(
        shown(&p.view().revisions),
        [
            "0 : +a:completed +b:skipped",
            "1 completed: -a:completed -b:skipped +c:completed",
            "2 completed: -c:completed"
        ]
    );
}

#[test]
fn a_step_waits_for_the_newest_step_of_an_id() {
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::Replan), plan("a b<a"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.drive();
    p.no("g0.r0.b");
    p.drive();
    again(&mut p, 2, plan("b<a c<b,a"));
    p.expect(&["call g0.r1.b #1"]);
    p.ok("g0.r1.b", json!(2));
    p.expect(&["call g0.r1.c #1"]);
}

#[test]
fn revisions_show_what_changed_and_why() {
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::Replan), plan("a b<a c<b"));
    assert!(p.view().revisions.is_empty(), "there is one plan");
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.drive();
    p.no("g0.r0.b");
    p.drive();
    again(&mut p, 2, plan("b<a d"));
    p.expect(&["call g0.r1.b #1", "call g0.r1.d #1"]);
    assert_eq!(
        shown(&p.view().revisions),
        [
            "0 : +a:completed +b:failed +c:blocked",
            "1 failed:  a:completed -b:failed -c:blocked +b:running +d:running"
        ]
    );
}

#[test]
fn every_turn_another_action_is_decided_until_the_goal_is_reached() {
    let mut p = Play::submit(agent(|a| {
        a.plan.protocol = PlanProtocol::Decision;
        a.step.on_failure = OnFailure::Replan;
        a.replan.max = 1;
    }));
    p.expect(&["plan g0.p1 #1"]);
    for round in 1..=5 {
        again(&mut p, round, plan(&format!("s{round}")));
        let work = format!("g0.r{}.s{round}", round - 1);
        p.expect(&[&format!("call {work} #1")]);
        if round == 1 {
            p.no(&work);
        } else {
            p.ok(&work, json!(round));
        }
        p.expect(&[&format!("plan g0.p{} #1", round + 1)]);
        assert_eq!(progressed(&p).2, Cause::Turn);
    }
    p.reply(6, PlanReply::Finished { response: "all done".into(), language: None });
    p.expect(&["finish completed"]);
    let Outcome::Completed { summary, results, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(summary, "all done");
    assert_eq!(
        results,
        json!({"s2": 2, "s3": 3, "s4": 4, "s5": 5}),
        "the first action failed, and was corrected"
    );
}

#[test]
fn after_each_item_the_list_is_made_anew() {
    let note = |phase| PlanReply::Noted {
        note: PlanNote { phase, outline: outline::of_texts(["look", "write"]), response: None },
    };
    let mut p = Play::submit(agent(|a| a.plan.protocol = PlanProtocol::Phased));
    p.drive();
    p.reply(1, note(PlanPhase::Planned));
    p.expect(&["plan g0.p2 #1"]);
    again(&mut p, 2, plan("s1"));
    p.expect(&["call g0.r0.s1 #1"]);
    p.ok("g0.r0.s1", json!(1));
    p.expect(&["plan g0.p3 #1"]);
    p.reply(3, note(PlanPhase::ItemDone));
    p.expect(&["plan g0.p4 #1"]);
    p.reply(4, note(PlanPhase::Replanned));
    p.expect(&["plan g0.p5 #1"]);
    p.reply(5, PlanReply::Finished { response: "written".into(), language: None });
    p.expect(&["finish completed"]);
}

#[test]
fn a_command_that_was_decided_before_a_step_completed_can_still_follow() {
    let mut p = Play::planned(when(ReplanWhen::AfterEachStep, |_| {}), plan("a b"));
    let first = p.job.decide().unwrap().decision;
    p.decision(first);
    let decided = p.job.decide().unwrap().decision;
    p.ok("g0.r0.a", json!(1));
    p.decision(decided);
    assert!(p.job.poison().is_none(), "{:?}", p.job.poison());
    p.expect(&[]);
    p.ok("g0.r0.b", json!(2));
    p.expect(&["plan g0.p2 #1"]);
}

#[test]
fn completed_steps_are_immutable_whatever_is_applied() {
    for apply in [ReplanApply::ReplaceAll, ReplanApply::ReplacePending, ReplanApply::Append] {
        let agent = when(ReplanWhen::AfterEachStep, |a| a.replan.apply = apply);
        let mut p = Play::planned(agent, plan("a b<a"));
        p.drive();
        p.ok("g0.r0.a", json!(1));
        p.drive();
        again(&mut p, 2, plan("a"));
        p.expect(&["plan g0.p3 #1"]);
        let Some(PlanTalk::Rejected { error, .. }) = planned(&p).dialogue.last() else { panic!() };
        assert!(error.starts_with("step a has completed already"), "{apply:?}: {error}");
    }
}

#[test]
fn a_job_that_fails_after_its_replans_says_so() {
    let agent = agent(|a| {
        a.step.on_failure = OnFailure::Replan;
        a.replan.max = 0;
    });
    let mut p = Play::planned(agent, plan("a"));
    p.drive();
    p.no("g0.r0.a");
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::ReplanLimit);
}

#[test]
fn an_approval_that_is_waited_for_is_closed_with_its_step() {
    let ask = |_: &str| {
        let mut action = plan("x").steps[0].action.clone();
        if let proto::plan::Action::Tool { binding, .. } = &mut action {
            binding.approval = proto::tool::Approval::Always;
        }
        action
    };
    let steps = super::play::plan_with("a", ask);
    let mut both = plan("b");
    both.steps.extend(steps.steps);
    let mut p = Play::planned(agent(|a| a.step.on_failure = OnFailure::Replan), both);
    p.expect(&["call g0.r0.b #1", "ask q1 tool_approval"]);
    p.no("g0.r0.b");
    assert!(p.drive().contains(&"plan g0.p2 #1".to_owned()));
    assert!(p.view().questions.is_empty());
}

#[test]
fn the_summary_has_the_results_of_all_plans_also_where_each_replaces_all() {
    let agent = when(ReplanWhen::AfterEachStep, |a| {
        (a.replan.apply, a.replan.max) = (ReplanApply::ReplaceAll, 1);
    });
    let mut p = Play::planned(agent, plan("a b<a"));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    p.drive();
    again(&mut p, 2, plan("c"));
    p.drive();
    p.ok("g0.r1.c", json!(2));
    p.expect(&["finish completed"]);
    let Outcome::Completed { summary, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(summary, "Carried out 2 steps:\n1. do a: 1\n2. do c: 2");
}
