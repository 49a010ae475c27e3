//! Ends of children that a worker claims, and of families with poisoned jobs.

use proto::{cost::Paid, job::SubStatus, message::Usage};

use super::*;
use crate::tests::outputs;

#[test]
fn a_worker_cannot_claim_that_a_child_has_ended() {
    let mut kin = Kin::planned("a:helper", |_| {});
    kin.root().ok("g0.r0.a", json!("forged"));
    kin.run();
    assert_eq!((kin.root().states(), kin.view().ignored), ("a:running".to_owned(), 1));
    kin.ends("g0.r0.a", 1, true, "A");
    let Outcome::Completed { results, .. } = kin.root().outcome() else { panic!() };
    assert_eq!(results["a"]["results"]["goal"], "A");
}

#[test]
fn canceling_a_poisoned_job_cancels_its_children_and_a_poisoned_child_tells_its_end() {
    let mut kin = Kin::planned("a:helper b:helper", |_| {});
    let strange = || Err(proto::record::Unreadable::Kind { kind: "danced".into(), unit: None });
    let door = proto::subject::Family::In(proto::fact::Source::Door);
    kin.root().record(door.clone(), strange());
    kin.child("g0.r0.b", 1).record(door, strange());
    kin.run();
    assert_eq!(kin.child("g0.r0.b", 1).view().sub_status, Some(SubStatus::Poisoned));
    kin.root().signal(Signal::Cancel);
    kin.run();
    let states: Vec<JobState> = kin.jobs.values().map(|p| p.view().state).collect();
    assert_eq!(states, [JobState::Canceled; 3]);
    let told: Vec<_> = kin.view().children.iter().map(|c| c.state).collect();
    assert_eq!(told, [JobState::Canceled; 2]);
}

#[test]
fn what_a_child_costs_is_no_cost_of_its_parent() {
    let mut kin = Kin::planned("a:helper", |_| {});
    let before = (kin.root().job.costs(), kin.root().view().usage);
    kin.ends("g0.r0.a", 1, true, "A");
    assert!(kin.root().view().usage.input_tokens > before.1.input_tokens);
    assert_eq!(kin.root().job.costs(), before.0);
}

#[test]
fn the_structured_result_of_a_child_is_told_to_its_parent() {
    let mut kin = Kin::begin(|_| {}, |a| a.output = Some(outputs::schema()));
    kin.run();
    kin.root().reply(1, proto::fact::PlanReply::Plan { plan: handing("a:helper") });
    kin.run();
    kin.ends("g0.r0.a", 1, true, "It costs 3.");
    assert_eq!(kin.root().states(), "a:running");
    kin.child("g0.r0.a", 1).turn("g0.r0.output.n1.t1", outputs::fits());
    kin.run();
    let Outcome::Completed { results, value, .. } = kin.root().outcome() else { panic!() };
    assert_eq!(results["a"]["response"], "It costs 3.");
    assert_eq!((&results["a"]["value"], value), (&json!({"total": 3}), Value::Null));
}

/// A supervisor that dies before it stores the end of a child tells the parent again, which counts the
/// first report.
#[test]
fn a_child_reports_what_it_had_cost_when_its_outcome_was_settled() {
    let mut kin = Kin::planned("a:helper", |_| {});
    let hands_over = calls(vec![agent_call("c", "helper", json!({"goal": "do it"}))]);
    kin.child("g0.r0.a", 1).turn("g0.r0.goal.n1.t1", hands_over);
    kin.run();
    let child = kin.child("g0.r0.a", 1);
    child.signal(Signal::Cancel);
    let end = loop {
        let next = child.job.decide().expect("it ends");
        if matches!(next.decision, Decision::Finish(_)) {
            break next;
        }
        child.decision(next.decision);
    };
    let (work, attempt) = (work("g0.r0.goal.n1.t1.c0"), Attempt(1));
    let below = child_id(child.job.id(), child.job.first(), &work, attempt);
    let before = child.view().usage;
    let news = News::Ended {
        outcome: Outcome::Canceled { reason: None },
        usage: Usage::reported(1_000, 10),
        turns: 1,
        paid: Paid::default(),
    };
    child.fact(Fact::Child(ChildSaid { work, attempt, child: below, news }));
    assert_eq!(child.view().usage.input_tokens, before.input_tokens + 1_000);
    assert_eq!(child.job.decide(), Some(end));
}
