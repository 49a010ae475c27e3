//! Tests of the activation's bounds and of its cached fold. `crate::proof` covers the order of
//! effects.

use std::time::Duration;

use jiff::Timestamp;
use proto::{
    agent::Agent,
    decision::{Decision, DecisionKind},
    entry::Entry,
    fact::{Fact, Submitted},
    id::{JobId, Seq, Unit, WorkerId},
    lang::Language,
    record::Record,
    subject::Family,
};
use rstest::rstest;

use super::{Activation, Arrival, Effect, GivenUp, Outcome, Ran, Rest};

fn job() -> JobId {
    JobId::new("job").unwrap()
}

/// Returns the first record of a job.
pub(super) fn submission() -> Entry {
    submission_to(Agent { confirm: false, ..Agent::default() })
}

/// Returns the submission of a job of this agent.
pub(super) fn submission_to(agent: Agent) -> Entry {
    let fact = Fact::Submitted(Submitted {
        goal: "g".into(),
        agent,
        language: Language::En,
        language_detected: false,
        digest: "d".into(),
        by: None,
        conversation: None,
        parent: None,
        agents: Default::default(),
        forked: None,
        plan: None,
        workflow: None,
        files: Vec::new(),
        labels: proto::label::Labels::default(),
        rules: proto::rules::Rules::NOW,
    });
    let record = Record::of_fact(&fact, "r1", &WorkerId::new("door").unwrap()).unwrap();
    let family = Family::In(fact.source());
    let (seq, time) = (Seq(1), Timestamp::UNIX_EPOCH);
    Entry { seq, time, job: job(), family, record: Ok(record), trace: None }
}

pub(super) fn begun(entry: &Entry, is_again: bool) -> Activation {
    let mut activation = Activation::new(job());
    activation.begin([Arrival { entry, is_again }].into_iter(), false, false);
    activation
}

#[rstest]
#[case::delivered_for_the_first_time(false, false)]
#[case::delivered_before(true, true)]
fn the_first_record_of_a_job_needs_no_read(#[case] is_again: bool, #[case] reads: bool) {
    let activation = begun(&submission(), is_again);
    assert_eq!(matches!(activation.effect(), Effect::Read), reads);
    assert_eq!(matches!(activation.effect(), Effect::Count(_)), !reads);
}

#[test]
fn an_activation_stores_what_follows_and_acknowledges_then() {
    let mut activation = begun(&submission(), false);
    activation.done(Outcome::Done);
    activation.done(Outcome::Ran(None));
    let Effect::Store { next, after } = activation.effect() else { panic!("it plans") };
    assert_eq!((next.decision.kind(), after), (DecisionKind::Plan, Seq(0)));
    activation.done(Outcome::Stored(Seq(2)));
    assert!(matches!(activation.effect(), Effect::Acknowledge));
    activation.done(Outcome::Done);
    assert!(matches!(activation.effect(), Effect::Rest));
    assert_eq!(activation.rest(), Rest::Working);
}

#[test]
fn a_plan_that_is_made_here_is_stored_with_its_command() {
    let mut activation = begun(&submission(), false);
    activation.done(Outcome::Done);
    let Effect::Run(decision) = activation.effect() else { panic!("it may plan here") };
    let fact = planned(&decision.unit().unwrap());
    activation.done(Outcome::Ran(Some(Box::new(Ran { fact, took: Duration::from_millis(4) }))));
    // A plan without steps is rejected, and another one is wanted.
    activation.done(Outcome::Ran(None));
    let Effect::Store { next, .. } = activation.effect() else {
        panic!("{:?}", activation.effect())
    };
    let Decision::Done(done) = &next.decision else { panic!("{:?}", next.decision) };
    assert_eq!(done.took_ms(), 4);
    activation.done(Outcome::Stored(Seq(2)));
    let job = activation.folded_job().unwrap();
    assert!(!job.has_work_out(), "nobody else is asked for the plan");
}

#[test]
fn a_fact_that_answers_another_command_leaves_the_command_to_a_worker() {
    let mut activation = begun(&submission(), false);
    activation.done(Outcome::Done);
    let Effect::Run(decision) = activation.effect() else { panic!("it may plan here") };
    let Unit { work, attempt } = decision.unit().unwrap();
    let fact = planned(&Unit { work, attempt: attempt.next() });
    activation.done(Outcome::Ran(Some(Box::new(Ran { fact, took: Duration::from_millis(4) }))));
    let Effect::Store { next, .. } = activation.effect() else { panic!("it stores the command") };
    assert_eq!(next.decision.kind(), DecisionKind::Plan);
}

#[test]
fn nothing_is_carried_out_here_after_a_redelivery_or_a_conflict() {
    let entry = submission();
    let mut again = begun(&entry, true);
    again.done(Outcome::Read(vec![entry.clone()]));
    again.done(Outcome::Done);
    let mut refused = begun(&entry, false);
    refused.done(Outcome::Done);
    refused.done(Outcome::Ran(None));
    refused.done(Outcome::Conflict);
    refused.done(Outcome::Read(vec![entry.clone()]));
    for activation in [again, refused] {
        assert!(matches!(activation.effect(), Effect::Store { .. }), "{:?}", activation.effect());
    }
}

fn planned(unit: &Unit) -> Fact {
    let planned = serde_json::json!({
        "work": unit.work, "attempt": unit.attempt,
        "reply": {"type": "plan", "plan": {"title": "t", "steps": []}},
    });
    Fact::Planned(serde_json::from_value(planned).unwrap())
}

#[test]
fn a_job_that_another_supervisor_keeps_deciding_is_given_up() {
    let entry = submission();
    let mut activation = begun(&entry, false);
    activation.done(Outcome::Done);
    activation.done(Outcome::Ran(None));
    let conflicts = (0..).find(|_| {
        activation.done(Outcome::Conflict);
        let reads = matches!(activation.effect(), Effect::Read);
        activation.done(Outcome::Read(vec![entry.clone()]));
        !reads
    });
    assert_eq!(conflicts, Some(super::CONFLICTS_MAX));
}

#[test]
fn an_outcome_of_another_effect_gives_the_activation_up() {
    let entry = submission();
    for outcome in [Outcome::Conflict, Outcome::Stored(Seq(2)), Outcome::Occupied(None)] {
        let mut activation = begun(&entry, true);
        activation.done(outcome);
        assert!(matches!(activation.effect(), Effect::GiveUp(GivenUp::Misled)));
        activation.give_up([Arrival { entry: &entry, is_again: false }].into_iter());
        assert!(matches!(activation.effect(), Effect::Rest));
    }
}
