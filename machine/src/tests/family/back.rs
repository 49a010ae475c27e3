//! Families in which a job is rolled back: the children that end, and the state that stays.

use proto::fact::Signaled;
use rstest::rstest;

use super::*;

/// Returns a signal of the parent; signals without `parent_seq` come from the job's own operators.
fn from_above(signal: Signal, parent_seq: u64) -> Fact {
    let parent_seq = Some(Seq(parent_seq));
    Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq })
}

#[test]
fn a_child_of_a_job_that_went_back_is_ended_and_another_one_begun() {
    let mut kin = Kin::planned("a:helper", |_| {});
    let planned = kin.root().log[2].0.seq;
    assert!(kin.root().back(planned));
    kin.run();
    assert_eq!(kin.child("g0.r0.a", 1).view().state, JobState::Canceled);
    kin.ends("g1.r0.a", 1, true, "A");
    assert_eq!(kin.view().state, JobState::Completed);
    assert_eq!(kin.jobs.len(), 3);
}

/// The supervisor that decided the spawn had not seen the rollback, and had submitted the child
/// when it stored the decision.
#[rstest]
#[case::before_it_was_noted(false)]
#[case::and_noted(true)]
fn a_child_that_was_begun_by_somebody_who_did_not_know_of_a_roll_back_is_ended(
    #[case] noted: bool,
) {
    let mut kin = Kin::begin(|_| {}, |_| {});
    kin.run();
    kin.root().reply(1, proto::fact::PlanReply::Plan { plan: handing("a:helper") });
    let planned = kin.root().last();
    // It decides to spawn a child and notes the submission, without having seen the rollback.
    let mut unaware = kin.root().job.clone();
    let mut decided = Vec::new();
    for _ in 0..2 {
        let next = unaware.decide().unwrap();
        let at = crate::At { seq: Seq(unaware.seq().0 + 1), time: unaware.updated() };
        let known = proto::record::Known::Decision(Box::new(next.decision.clone()));
        let family = proto::subject::Family::Do(next.decision.kind(), next.decision.pool());
        unaware.apply(at, &family, Ok(&known));
        decided.push(next);
    }
    assert!(kin.root().back(planned));
    for (next, stored) in decided.into_iter().zip([true, noted]) {
        next.tell.into_iter().for_each(|tell| kin.hear(tell));
        if stored {
            kin.root().decision(next.decision);
        }
    }
    kin.run();
    assert_eq!(kin.child("g0.r0.a", 1).view().state, JobState::Canceled);
    assert_eq!(kin.root().states(), "a:running");
    kin.ends("g1.r0.a", 1, true, "A");
    assert_eq!(kin.view().state, JobState::Completed);
}

/// A canceled child reports its end after its parent has ended, and the report is never repeated.
#[test]
fn a_job_that_ended_and_went_back_does_not_wait_for_those_that_ended_with_it() {
    let mut kin = Kin::planned("a:helper", |a| {
        a.budget.fan_out.alive = 1;
        a.budget.turns = Some(10);
    });
    let before = kin.root().last();
    kin.root().signal(Signal::Cancel);
    kin.run();
    assert_eq!(kin.view().state, JobState::Canceled);
    assert_eq!(kin.child("g0.r0.a", 1).view().state, JobState::Canceled);
    assert!(kin.root().back(before));
    kin.run();
    kin.ends("g1.r0.a", 1, true, "A");
    assert_eq!(kin.view().state, JobState::Completed);
}

/// The parent has been told the outcome, and is never told another one.
#[rstest]
#[case::before_its_end_is_stored(1)]
#[case::after(2)]
fn a_job_whose_parent_hears_what_it_comes_to_goes_back_no_more(#[case] decisions: usize) {
    let mut kin = Kin::planned("a:helper", |_| {});
    let child = kin.child("g0.r0.a", 1);
    let begun = child.last();
    child.done("g0.r0.goal.n1.t1", true, "A");
    for _ in 0..decisions {
        let next = child.job.decide().unwrap();
        child.decision(next.decision);
    }
    let ignored = child.job.ignored();
    assert!(!child.back(begun));
    assert_eq!(child.job.ignored(), ignored + 1);
    child.drive();
    assert_eq!(child.view().state, JobState::Completed);
}

#[test]
fn a_child_that_goes_back_hears_no_less_of_what_its_parent_said() {
    for (signal, state) in
        [(Signal::Cancel, JobState::Canceled), (Signal::Pause, JobState::Working)]
    {
        let mut kin = Kin::planned("a:helper", |_| {});
        let child = kin.child("g0.r0.a", 1);
        let before = child.last();
        child.fact(from_above(signal.clone(), 7));
        assert!(child.back(before), "{signal:?}");
        child.drive();
        let view = child.view();
        let paused = view.sub_status == Some(proto::job::SubStatus::Paused);
        assert_eq!((view.state, paused), (state, signal == Signal::Pause));
    }
    // Signals of the job's own operators count only for records after them.
    let mut kin = Kin::planned("a:helper", |_| {});
    let child = kin.child("g0.r0.a", 1);
    let before = child.last();
    child.signal(Signal::Pause);
    assert!(child.back(before));
    assert_ne!(child.view().sub_status, Some(proto::job::SubStatus::Paused));
}

/// Spending that a rollback removed does not count, and repeated work counts once.
#[test]
fn budgets_count_the_children_of_the_timeline_alone() {
    let mut kin = Kin::planned("a:helper b:helper<a", |a| a.budget.fan_out.total = 2);
    kin.ends("g0.r0.a", 1, true, "A");
    let a_ended = kin.root().last();
    for generation in 1..4 {
        kin.child(&format!("g{}.r0.b", generation - 1), 1);
        assert!(kin.root().back(a_ended));
        kin.run();
    }
    kin.ends("g3.r0.b", 1, true, "B");
    assert_eq!(kin.view().state, JobState::Completed);
    assert_eq!(kin.view().usage.input_tokens, 20, "those that were called off cost nothing here");
}
