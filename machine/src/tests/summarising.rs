//! Turns that exceed the context window: a summary is one more command of the same turn, once.

use proto::{
    agent::Agent,
    decision::{Decision, FullResult, TurnWork},
    fact::{Signal, TurnReply},
    id::{Attempt, Seq},
    job::{FailReason, Outcome},
    observe::{Shortened, Summarise, Summary},
    plan::Action,
};
use serde_json::json;

use super::{
    forking::fork,
    play::{self, Play, agent, calls, plan_with, tool_call, transient},
};

const SECOND: &str = "g0.r0.a.n1.t2";
const AGAIN: &str = "g0.r0.a.n1.t2.s";

/// Returns a loop whose second turn is out, with the position of its first turn's record.
fn second_turn(change: impl FnOnce(&mut Agent)) -> (Play, Seq) {
    let agent = agent(|a| {
        a.observe.summarise = Summarise::Exchanges;
        change(a);
    });
    let mut p = Play::planned(agent, plan_with("a", |_| Action::Agent));
    p.drive();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool_call("x", "read", json!({}))]));
    let heard = p.last();
    p.drive();
    p.ok("g0.r0.a.n1.t1.c0", json!("long"));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    (p, heard)
}

fn summarised(through: Seq) -> TurnReply {
    let summary = Some(Summary { text: "It was long.".into(), through });
    TurnReply::Summarised { summary, results: Vec::new() }
}

fn turn(p: &Play) -> TurnWork {
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    turn.clone()
}

#[test]
fn a_turn_that_was_summarised_for_is_the_same_turn_once_more_with_the_summary() {
    let (mut p, heard) = second_turn(|a| a.step.max_turns = 2);
    let before = turn(&p);
    assert!(before.summarise && before.summary.is_none());
    let (turns, usage) = (p.view().plan.unwrap().steps[0].turns, p.view().usage);
    p.turn(SECOND, summarised(heard));
    p.expect(&["turn g0.r0.a.n1.t2.s #1"]);
    let after = turn(&p);
    assert_eq!(
        (after.turn, after.after, &after.replies),
        (before.turn, before.after, &before.replies)
    );
    assert_eq!(after.summary, Some(Summary { text: "It was long.".into(), through: heard }));
    assert!(!after.summarise, "one summary for each turn");
    assert_eq!(p.view().plan.unwrap().steps[0].turns, turns, "it is no turn");
    assert!(p.view().usage.input_tokens > usage.input_tokens, "and it costs what it costs");
    // It is the last of two turns, with or without a summary.
    p.done(AGAIN, true, "read");
    p.expect(&["finish completed"]);
}

#[test]
fn calls_of_a_turn_that_was_summarised_for_and_the_turns_after_it_go_on_as_ever() {
    let (mut p, heard) = second_turn(|_| {});
    p.turn(SECOND, summarised(heard));
    p.drive();
    p.turn(AGAIN, calls(vec![tool_call("y", "read", json!({"n": 2}))]));
    let second = p.last();
    p.expect(&["call g0.r0.a.n1.t2.s.c0 #1"]);
    p.ok("g0.r0.a.n1.t2.s.c0", json!("short"));
    p.expect(&["turn g0.r0.a.n1.t3 #1"]);
    let third = turn(&p);
    assert_eq!((third.after, third.summarise, third.summary), (Some(second), true, None));
}

#[test]
fn a_late_or_repeated_summary_changes_nothing() {
    let (mut p, heard) = second_turn(|_| {});
    p.turn(SECOND, summarised(heard));
    p.turn(SECOND, summarised(heard));
    p.expect(&["turn g0.r0.a.n1.t2.s #1"]);
    p.turn(SECOND, summarised(Seq(1)));
    p.expect(&[]);
    assert_eq!(p.view().ignored, 2);
}

#[test]
fn a_summary_that_nobody_wants_is_a_broken_attempt() {
    let (mut p, heard) = second_turn(|_| {});
    p.turn(SECOND, summarised(heard));
    p.drive();
    p.turn(AGAIN, summarised(heard));
    p.expect(&["wait g0.r0.a.n1.t2.s #2"]);
    let (mut p, heard) = second_turn(|a| a.observe.summarise = Summarise::Nothing);
    assert!(!turn(&p).summarise);
    p.turn(SECOND, summarised(heard));
    p.expect(&["wait g0.r0.a.n1.t2 #2"]);
    let (mut p, through) = second_turn(|_| {});
    let empty = Some(Summary { text: " ".into(), through });
    p.turn(SECOND, TurnReply::Summarised { summary: empty, results: Vec::new() });
    p.expect(&["wait g0.r0.a.n1.t2 #2"]);
}

#[test]
fn a_summary_is_tried_again_as_a_turn_is_and_so_is_the_turn_after_it() {
    let (mut p, heard) = second_turn(|_| {});
    p.turn(SECOND, TurnReply::Failed { error: transient() });
    p.expect(&["wait g0.r0.a.n1.t2 #2"]);
    p.fire("retry-1");
    p.expect(&["turn g0.r0.a.n1.t2 #2"]);
    assert!(turn(&p).summarise);
    p.turn(SECOND, summarised(heard));
    p.expect(&["turn g0.r0.a.n1.t2.s #1"]);
    p.turn(AGAIN, TurnReply::Failed { error: transient() });
    p.expect(&["wait g0.r0.a.n1.t2.s #2"]);
    p.fire("retry-2");
    p.expect(&["turn g0.r0.a.n1.t2.s #2"]);
    assert_eq!(turn(&p).summary.map(|summary| summary.through), Some(heard));
}

#[test]
fn what_people_say_before_and_after_a_summary_is_told_in_the_turn() {
    let (mut p, heard) = second_turn(|_| {});
    p.signal(Signal::Steer { text: "in metres".into() });
    p.turn(SECOND, summarised(heard));
    p.signal(Signal::Steer { text: "and quickly".into() });
    p.drive();
    assert_eq!(turn(&p).instructions, ["in metres", "and quickly"]);
}

#[test]
fn a_summary_uses_up_no_turn_of_the_budget_but_its_tokens() {
    let (mut p, heard) = second_turn(|a| a.budget.turns = Some(2));
    p.turn(SECOND, summarised(heard));
    p.expect(&["turn g0.r0.a.n1.t2.s #1"]);
    p.done(AGAIN, true, "read");
    p.expect(&["finish completed"]);

    // Each turn costs eleven tokens, so the first turn and the summary use up the budget.
    let (mut p, heard) = second_turn(|a| a.budget.tokens = Some(22));
    p.turn(SECOND, summarised(heard));
    p.drive();
    let Outcome::Failed { reason, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::BudgetExceeded);
}

#[test]
fn a_job_that_goes_back_to_a_summary_has_it_and_one_that_goes_back_before_it_makes_another() {
    let (mut p, heard) = second_turn(|a| a.budget.turns = Some(2));
    let before = p.last();
    p.turn(SECOND, summarised(heard));
    let after = p.last();
    p.drive();
    assert!(p.back(after));
    p.expect(&["turn g1.r0.a.n1.t2.s #1"]);
    assert_eq!(turn(&p).summary.map(|summary| summary.through), Some(heard));
    assert!(p.back(before));
    p.expect(&["turn g2.r0.a.n1.t2 #1"]);
    assert!(turn(&p).summarise);
    p.turn("g2.r0.a.n1.t2", summarised(heard));
    p.expect(&["turn g2.r0.a.n1.t2.s #1"]);
    p.done("g2.r0.a.n1.t2.s", true, "read");
    p.expect(&["finish completed"]);
}

#[test]
fn a_fork_takes_a_summary_along_as_one_of_another_jobs_records() {
    let (mut p, heard) = second_turn(|_| {});
    p.turn(SECOND, summarised(heard));
    let mut forked = fork(&p, p.last());
    forked.expect(&["turn g1.r0.a.n1.t2.s #1"]);
    let along = turn(&forked);
    assert_eq!(along.after, Some(heard.taken_along()));
    assert_eq!(along.summary.map(|summary| summary.through), Some(heard.taken_along()));
    forked.done("g1.r0.a.n1.t2.s", true, "read");
    forked.expect(&["finish completed"]);
}

/// Returns a second turn that carries a result longer than the part that is shown.
fn long_result(observe: Summarise) -> (Play, TurnWork) {
    let agent = agent(|a| {
        a.observe.summarise = observe;
        (a.observe.head, a.observe.tail) = (10, 10);
    });
    let mut p = Play::planned(agent, plan_with("a", |_| Action::Agent));
    p.drive();
    let read = |id: &str, n: u32| tool_call(id, "read", json!({ "n": n }));
    p.turn("g0.r0.a.n1.t1", calls(vec![read("x", 1), read("y", 2)]));
    p.drive();
    p.ok("g0.r0.a.n1.t1.c0", json!("0123456789".repeat(50)));
    p.ok("g0.r0.a.n1.t1.c1", json!(7));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    let told = turn(&p);
    (p, told)
}

fn shortened(id: &str, text: &str) -> TurnReply {
    let results = vec![Shortened { id: id.into(), text: text.into() }];
    TurnReply::Summarised { summary: None, results }
}

#[test]
fn a_result_that_is_too_long_is_told_in_short_where_that_is_the_policy() {
    let (mut p, told) = long_result(Summarise::All);
    let wholes: Vec<_> = told.replies.iter().map(|reply| reply.whole.clone()).collect();
    let whole = FullResult { work: play::work("g0.r0.a.n1.t1.c0"), attempt: Attempt(1) };
    assert_eq!(wholes, [Some(whole), None], "only what is cut");
    p.turn(SECOND, shortened("x", "fifty times the ten digits"));
    p.expect(&["turn g0.r0.a.n1.t2.s #1"]);
    let again = turn(&p);
    assert_eq!(again.replies[0].text, "fifty times the ten digits");
    assert_eq!((&again.replies[1], &again.replies[0].whole), (&told.replies[1], &None));
    assert!(again.summary.is_none() && !again.summarise);
    p.done(AGAIN, true, "read");
    p.expect(&["finish completed"]);
}

#[test]
fn what_is_said_of_a_result_is_never_longer_than_its_ends_and_is_of_a_result_that_was_cut() {
    let (mut p, told) = long_result(Summarise::All);
    p.turn(SECOND, shortened("x", &"much ".repeat(100)));
    p.drive();
    assert_eq!(turn(&p).replies[0].text.chars().count(), told.replies[0].text.chars().count());
    for (id, text) in [("y", "seven"), ("z", "unknown"), ("x", " ")] {
        let (mut p, _) = long_result(Summarise::All);
        p.turn(SECOND, shortened(id, text));
        p.expect(&["wait g0.r0.a.n1.t2 #2"]);
    }
    let (_, told) = long_result(Summarise::Exchanges);
    assert!(told.replies.iter().all(|reply| reply.whole.is_none()), "it is cut there");
}
