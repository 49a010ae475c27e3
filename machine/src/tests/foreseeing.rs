//! Previews: what they say of a signal is what the signal then does.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proto::{
    decision::Decision,
    fact::{Fact, PlanReply, Signal, TurnReply},
    id::{Seq, StepId, ToolName},
    interaction::{Answer, QuestionKind},
    job::Outcome,
    plan::{Action, Plan},
    record::Known,
    tool::{Binding, Effect, Fault},
};
use rstest::rstest;
use serde_json::json;

use super::{
    chance::{Chances, chances, midway},
    family::parent,
    play::*,
};
use crate::{
    preview::{Foresight, fork_after, signal_after},
    timeline::Timeline,
};

fn foresee(p: &Play, signal: &Signal) -> Foresight {
    signal_after(p.job.id(), &p.log, signal)
}

fn back(p: &Play, to: Seq) -> Signal {
    Signal::RollBack { to, seen: p.last(), again: true }
}

fn ids(foresight: &Foresight) -> Vec<&str> {
    foresight.steps.iter().map(|step| step.id.as_str()).collect()
}

fn timeline(p: &Play) -> Timeline {
    let mut timeline = Timeline::default();
    for (at, family, record) in &p.log {
        timeline.take(at.seq, family, record.as_ref().ok());
    }
    timeline
}

/// Returns a plan whose steps call a tool of this effect class.
fn calling(steps: &str, effect: Effect) -> Plan {
    let tool = ToolName::new("send").unwrap();
    let binding = || Binding { effect, ..binding() };
    plan_with(steps, |_| Action::Tool { tool: tool.clone(), args: json!({}), binding: binding() })
}

#[rstest]
#[case::pure(Effect::Pure, 0)]
#[case::idempotent(Effect::Idempotent, 2)]
#[case::once(Effect::Once, 2)]
fn a_rollback_runs_steps_again_whose_effects_stay(#[case] effect: Effect, #[case] calls: u32) {
    let mut p = Play::planned(agent(|_| {}), calling("a b<a c<b d<c", effect));
    p.drive();
    p.ok("g0.r0.a", json!(1));
    let a_ended = p.last();
    p.drive();
    p.ok("g0.r0.b", json!(2));
    p.drive();
    p.ok("g0.r0.c", json!(3));
    let before = p.log.len();
    let foresight = foresee(&p, &back(&p, a_ended));
    assert_eq!(p.log.len(), before);
    assert_eq!(foresight.records, 4, "two commands and two results");
    assert_eq!(ids(&foresight), ["b", "c"], "d had not begun");
    assert_eq!(foresight.steps[0].title, "do b");
    assert!(!foresight.plans);
    let done: Vec<_> =
        foresight.effects.iter().map(|one| (one.tool.as_str(), one.effect, one.calls)).collect();
    let expected = [("send", effect, calls)];
    assert_eq!(done, if calls > 0 { expected.as_slice() } else { &[] });
    let fork = fork_after(p.job.id(), &p.log, a_ended);
    assert_eq!((fork.records, ids(&fork)), (4, vec!["b", "c"]));
    assert_eq!(fork.effects, foresight.effects);
}

#[test]
fn a_step_that_is_with_a_worker_runs_again_wherever_the_job_continues() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.drive();
    let now = foresee(&p, &back(&p, p.last()));
    assert_eq!((now.records, ids(&now)), (0, vec!["a"]));
    assert!(now.effects.is_empty(), "nothing says that the call began");
    let fork = fork_after(p.job.id(), &p.log, p.last());
    assert_eq!((fork.records, ids(&fork)), (0, vec!["a"]));
}

#[test]
fn a_rollback_to_before_the_plan_has_it_made_again() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    let planning = p.log[1].0.seq;
    p.drive();
    let foresight = foresee(&p, &back(&p, planning));
    assert!(foresight.plans && foresight.steps.is_empty(), "{foresight:?}");
}

#[test]
fn a_signal_that_takes_out_nothing_has_no_figures() {
    let mut p = Play::planned(agent(|_| {}), plan("a b<a"));
    p.drive();
    let steer = Signal::Steer { text: "otherwise".into() };
    for signal in [Signal::Cancel, Signal::Pause, Signal::Resume, Signal::Retry, steer] {
        assert_eq!(foresee(&p, &signal), Foresight::default(), "{signal:?}");
    }
    let refused = Signal::RollBack { to: Seq(999), seen: p.last(), again: true };
    assert_eq!(foresee(&p, &refused), Foresight::default());
}

#[test]
fn a_retry_says_which_steps_are_tried_at_once() {
    let mut p = Play::planned(agent(|_| {}), plan("a b"));
    p.drive();
    p.fault("g0.r0.a", Fault::Timeout);
    p.expect(&["wait g0.r0.a #2"]);
    assert_eq!(ids(&foresee(&p, &Signal::Retry)), ["a"]);
    p.signal(Signal::Retry);
    p.expect(&["call g0.r0.a #2"]);
}

#[test]
fn children_end_with_their_parent_and_with_a_rollback_before_them() {
    let p = parent();
    let child: Vec<_> = p.view().children.into_iter().map(|child| child.job).collect();
    assert_eq!(child.len(), 1);
    let cancel = foresee(&p, &Signal::Cancel);
    assert_eq!((cancel.ends, cancel.children), (child.clone(), Vec::new()));
    let planned = p.log[2].0.seq;
    let foresight = foresee(&p, &back(&p, planned));
    assert_eq!((&foresight.ends, &foresight.children), (&child, &child));
    assert!(foresee(&p, &Signal::Pause).ends.is_empty());
}

/// Ends everything that is decided with success, and returns the steps that got a command.
fn finish(p: &mut Play) -> BTreeSet<StepId> {
    let mut steps = BTreeSet::new();
    p.signal(Signal::Resume);
    for _ in 0..400 {
        p.drive();
        if p.job.has_ended() {
            break;
        }
        for decision in std::mem::take(&mut p.decisions) {
            match decision {
                Decision::Plan(work) => {
                    let round: u32 =
                        work.work.as_str().rsplit_once(".p").unwrap().1.parse().unwrap();
                    p.reply(round, PlanReply::Plan { plan: plan(&format!("late{round}")) });
                }
                Decision::Turn(work) => {
                    steps.insert(work.step);
                    let attachments = Vec::new();
                    let reply = TurnReply::Done {
                        success: true,
                        response: "done".into(),
                        attachments,
                        value: serde_json::Value::Null,
                    };
                    p.turn(work.work.as_str(), reply);
                }
                Decision::Call(work) => {
                    steps.insert(work.step);
                    p.ok(work.work.as_str(), json!(1));
                }
                _ => {}
            }
        }
        if let Some((timer, _)) = p.armed.first_key_value() {
            let timer = timer.to_string();
            p.fire(&timer);
        }
        for question in p.view().questions {
            let QuestionKind::PlanCheck { digest, .. } = question.kind else { panic!("no plan") };
            p.answer_with(question.id.as_str(), Answer::approve(Some(digest)));
        }
    }
    steps
}

/// Returns the steps that got a command.
fn begun(p: &Play) -> BTreeSet<StepId> {
    let decisions = p.log.iter().filter_map(|(_, _, record)| match record {
        Ok(Known::Decision(decision)) => Some(&**decision),
        _ => None,
    });
    let steps = decisions.filter_map(|decision| match decision {
        Decision::Turn(work) => Some(work.step.clone()),
        Decision::Call(work) => Some(work.step.clone()),
        _ => None,
    });
    steps.collect()
}

/// Returns the number of calls whose results are among these records.
fn called(p: &Play, is_gone: impl Fn(Seq) -> bool) -> usize {
    let calls = p.log.iter().filter(|(at, _, _)| is_gone(at.seq)).filter_map(|(_, _, record)| {
        let Ok(Known::Fact(fact)) = record else { return None };
        let Fact::Called(called) = &**fact else { return None };
        Some((called.work.clone(), called.attempt))
    });
    calls.collect::<BTreeSet<_>>().len()
}

fn keeps_its_promise(chances: &Chances, at: usize) {
    let mut p = midway(chances);
    let seqs = timeline(&p).seqs().to_vec();
    let to = seqs[at % seqs.len()];
    let there = p.at(to);
    if there.has_ended() || there.is_being_canceled() {
        return;
    }
    let promised = foresee(&p, &back(&p, to));
    let before = begun(&p);
    let signal = back(&p, to);
    p.signal(signal);
    let after = timeline(&p);
    let gone = seqs.iter().filter(|seq| !after.has(**seq)).count();
    assert_eq!(promised.records, gone as u64);
    let calls: u32 = promised.effects.iter().map(|one| one.calls).sum();
    let is_gone = |seq| seqs.contains(&seq) && !after.has(seq);
    assert!(calls as usize <= called(&p, is_gone), "{promised:?}");
    let promised_steps: BTreeSet<_> = promised.steps.into_iter().map(|step| step.id).collect();
    let again: BTreeSet<_> = finish(&mut p).intersection(&before).cloned().collect();
    assert!(again.is_subset(&promised_steps), "{again:?} run again, not {promised_steps:?}");
    let all_ran = p.view().plan.is_some_and(|plan| {
        let is_done = |id: &StepId| {
            plan.steps.iter().any(|step| step.id == *id && step.success == Some(true))
        };
        promised_steps.iter().all(is_done)
    });
    if all_ran && matches!(p.job.outcome(), Some(Outcome::Completed { .. })) {
        assert_eq!(again, promised_steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn what_a_preview_promises_is_what_the_rollback_does(chances in chances(), at in any::<usize>()) {
        keeps_its_promise(&chances, at);
    }
}
