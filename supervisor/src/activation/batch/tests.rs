//! Tests of records with several units of work.

use std::time::Duration;

use proto::{
    decision::{Decision, DecisionKind, Done, DoneUnit},
    entry::Entry,
    fact::Fact,
    id::{Seq, Unit, WorkerId},
    job::JobState,
    record::Record,
    subject::Family,
    tool::ToolResult,
    work_error::{ErrorClass, WorkError},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    super::{
        Activation, Arrival, Compared, Effect, Outcome, Ran,
        tests::{begun, submission, submission_to},
    },
    BYTES_MAX, TOOK_MAX, UNITS_MAX,
};

/// A driver that carries commands out in memory.
struct Driver {
    activation: Activation,
    /// Steps of the plan.
    steps: Vec<Value>,
    /// Time that each unit takes.
    took: Duration,
    /// Length of the result of each call, in bytes.
    bytes: usize,
}

impl Driver {
    /// Returns a driver after the plan, in the activation of the submission.
    fn planned(steps: Vec<Value>) -> Self {
        Self::planned_for(&submission(), steps)
    }

    fn planned_for(submission: &Entry, steps: Vec<Value>) -> Self {
        let mut driver = Self::new(begun(submission, false), steps);
        driver.activation.done(Outcome::Done);
        driver.run();
        driver
    }

    fn new(activation: Activation, steps: Vec<Value>) -> Self {
        Self { activation, steps, took: Duration::ZERO, bytes: 0 }
    }

    /// Carries the next command out, whose first attempt is due.
    fn run(&mut self) {
        let unit = self.unit().expect("a command is to be carried out");
        let fact = self.result(&unit);
        self.ran(fact);
    }

    fn ran(&mut self, fact: Fact) {
        let ran = Ran { fact, took: self.took };
        self.activation.done(Outcome::Ran(Some(Box::new(ran))));
    }

    /// Allows the call that the registry is asked about.
    fn allow(&mut self) {
        assert!(matches!(self.activation.effect(), Effect::Compare(_)));
        self.activation.done(Outcome::Compared(Compared::default()));
    }

    /// Allows and carries out calls until none is due.
    fn run_all(&mut self) {
        while let Effect::Compare(_) = self.activation.effect() {
            self.allow();
            self.run();
        }
    }

    /// Returns the unit of the command that is to be carried out.
    fn unit(&self) -> Option<Unit> {
        let Effect::Run(decision) = self.activation.effect() else { return None };
        decision.unit()
    }

    fn result(&self, unit: &Unit) -> Fact {
        let Unit { work, attempt } = unit;
        if work.as_str().contains(".p") {
            let reply = json!({"type": "plan", "plan": {"title": "t", "steps": self.steps}});
            let planned = json!({"work": work, "attempt": attempt, "reply": reply});
            return Fact::Planned(serde_json::from_value(planned).unwrap());
        }
        let result = ToolResult::ok(json!("x".repeat(self.bytes)));
        let called = json!({"work": work, "attempt": attempt, "duration_ms": 1, "result": result});
        Fact::Called(serde_json::from_value(called).unwrap())
    }

    /// Returns the decision that is to be stored.
    fn decision(&self) -> &Decision {
        let Effect::Store { next, .. } = self.activation.effect() else {
            panic!("{:?} is no write", self.activation.effect())
        };
        &next.decision
    }

    /// Returns the work that one record is to store.
    fn done(&self) -> &Done {
        let Decision::Done(done) = self.decision() else { panic!("{:?}", self.decision()) };
        done
    }

    /// Lets workers carry out commands until this process may. Returns their number.
    fn queue(&mut self) -> usize {
        for (count, seq) in (1..).step_by(2).enumerate() {
            self.activation.done(Outcome::Done);
            if let Effect::Compare(_) = self.activation.effect() {
                self.allow();
            }
            if self.unit().is_some() {
                return count;
            }
            let unit = self.decision().unit().expect("a command is queued");
            self.stored(seq + 1);
            assert!(matches!(self.activation.effect(), Effect::Acknowledge));
            self.activation.done(Outcome::Done);
            self.receive(Seq(seq + 2), &unit);
        }
        unreachable!("a plan has an end")
    }

    /// Begins an activation with the first delivery of a worker's result.
    fn receive(&mut self, seq: Seq, unit: &Unit) {
        let entry = entry(seq, &self.result(unit));
        self.activation.begin(
            [Arrival { entry: &entry, is_again: false }].into_iter(),
            false,
            false,
        );
    }

    fn stored(&mut self, seq: u64) {
        self.activation.done(Outcome::Stored(Seq(seq)));
    }
}

/// Returns the steps of a plan that calls a tool without effects, each after the one before it.
fn calls(count: usize) -> Vec<Value> {
    let binding = json!({"pool": "builtin", "effect": "pure", "approval": "never", "version": "1"});
    let after = |n: usize| if n == 0 { json!([]) } else { json!([format!("s{}", n - 1)]) };
    let step = |n| json!({"id": format!("s{n}"), "description": "d", "depends_on": after(n), "action": "tool", "tool": "echo", "args": {}, "binding": binding});
    (0..count).map(step).collect()
}

#[test]
fn work_that_follows_from_work_is_stored_in_the_same_record() {
    let mut driver = Driver::planned(calls(2));
    driver.took = Duration::from_millis(3);
    driver.run_all();
    let done = driver.done();
    let units: Vec<_> = done.units().map(|unit| unit.work().0.as_str()).collect();
    assert_eq!(units, ["g0.p1", "g0.r0.s0", "g0.r0.s1"]);
    assert_eq!(done.took_ms(), 6);
    driver.stored(2);
    assert_eq!(driver.decision().kind(), DecisionKind::Finish);
    assert_eq!(driver.activation.folded_job().unwrap().ignored(), 0, "each unit followed");
}

#[test]
fn a_turn_begins_a_record_of_its_own() {
    let mut driver =
        Driver::planned(vec![json!({"id": "s", "description": "d", "action": "agent"})]);
    assert_eq!(driver.done().units().count(), 1, "the turn reads the plan from the log");
    driver.stored(2);
    let Effect::Run(decision) = driver.activation.effect() else { panic!("the turn may run here") };
    assert_eq!(decision.kind(), DecisionKind::Turn);
}

#[test]
fn a_call_that_the_registry_refuses_follows_in_a_record_of_its_own() {
    let refuse = |driver: &mut Driver| {
        let refused = Some(WorkError::new("the tool is gone", ErrorClass::Permanent));
        driver.activation.done(Outcome::Compared(Compared { refused, untrusted: false }));
    };
    let mut driver = Driver::planned(calls(2));
    driver.allow();
    driver.run();
    refuse(&mut driver);
    assert_eq!(driver.done().units().count(), 2);
    driver.stored(2);
    refuse(&mut driver);
    let Decision::Call(call) = driver.decision() else { panic!("{:?}", driver.decision()) };
    assert!(call.refused.is_some());
}

#[test]
fn a_call_of_a_tool_that_became_untrusted_is_stored_as_such() {
    let mut driver = Driver::planned(calls(1));
    driver.activation.done(Outcome::Compared(Compared { refused: None, untrusted: true }));
    driver.run();
    let [DoneUnit::Call(call)] = &driver.done().then[..] else { panic!("{:?}", driver.done()) };
    assert!(call.command.untrusted);
}

#[rstest]
#[case::not_carried_out(false)]
#[case::of_another_attempt(true)]
fn a_command_without_its_result_follows_in_a_record_of_its_own(#[case] answers: bool) {
    let mut driver = Driver::planned(calls(1));
    driver.allow();
    if answers {
        let Unit { work, attempt } = driver.unit().unwrap();
        let fact = driver.result(&Unit { work, attempt: attempt.next() });
        driver.ran(fact);
    } else {
        driver.activation.done(Outcome::Ran(None));
    }
    assert_eq!(driver.done().units().count(), 1);
    driver.stored(2);
    driver.allow();
    driver.activation.done(Outcome::Ran(None));
    assert_eq!(driver.decision().kind(), DecisionKind::Call);
}

#[rstest]
#[case::units(Duration::ZERO, 0, UNITS_MAX)]
#[case::time(TOOK_MAX / 2, 0, 3)]
#[case::microseconds(TOOK_MAX / 20, 0, 21)]
#[case::size(Duration::ZERO, BYTES_MAX / 2, 3)]
fn a_full_record_is_stored_and_the_rest_follows_in_the_next(
    #[case] took: Duration,
    #[case] bytes: usize,
    #[case] units: usize,
) {
    let mut driver = Driver::planned(calls(UNITS_MAX + 1));
    (driver.took, driver.bytes) = (took, bytes);
    driver.run_all();
    assert_eq!(driver.done().units().count(), units);
    driver.stored(2);
    driver.run_all();
    assert_eq!(driver.done().first.work().0.as_str(), format!("g0.r0.s{}", units - 1));
}

/// Work that one record will store counts against the budget before it is stored.
#[test]
fn a_budget_ends_the_work_of_a_record() {
    let agent = json!({"confirm": false, "budget": {"steps": 2, "counts": ["tool"]}});
    let submission = submission_to(serde_json::from_value(agent).unwrap());
    let mut driver = Driver::planned_for(&submission, calls(5));
    driver.run_all();
    let units: Vec<_> = driver.done().units().map(|unit| unit.work().0.as_str()).collect();
    assert_eq!(units, ["g0.p1", "g0.r0.s0", "g0.r0.s1"]);
    driver.stored(2);
    let Decision::Finish(end) = driver.decision() else { panic!("{:?}", driver.decision()) };
    assert_eq!(end.outcome.state(), JobState::Failed);
}

#[test]
fn nothing_is_carried_out_here_after_a_conflict() {
    let mut driver = Driver::planned(calls(1));
    driver.run_all();
    driver.activation.done(Outcome::Conflict);
    driver.activation.done(Outcome::Read(vec![submission()]));
    assert_eq!(driver.decision().kind(), DecisionKind::Plan);
}

/// A crash may have lost as many units as a record can have, and one of them may have caused it.
#[rstest]
#[case::redelivered(&[submission()], false)]
#[case::looked_at(&[], true)]
fn after_a_crash_as_many_commands_are_queued_as_one_record_can_have(
    #[case] facts: &[Entry],
    #[case] looks: bool,
) {
    let mut activation = Activation::new(submission().job);
    let again = facts.iter().map(|entry| Arrival { entry, is_again: true });
    activation.begin(again, looks, true);
    let mut driver = Driver::new(activation, calls(UNITS_MAX + 1));
    driver.activation.done(Outcome::Read(vec![submission()]));
    assert_eq!(driver.queue(), UNITS_MAX);
}

#[test]
fn an_activation_that_this_process_gave_up_has_lost_no_work() {
    let first = submission();
    let mut driver = Driver::new(begun(&first, false), calls(1));
    driver.activation.done(Outcome::Done);
    driver.activation.give_up([Arrival { entry: &first, is_again: false }].into_iter());
    driver.activation.begin([Arrival { entry: &first, is_again: true }].into_iter(), false, false);
    driver.activation.done(Outcome::Read(vec![first]));
    driver.activation.done(Outcome::Done);
    let unit = driver.decision().unit().unwrap();
    driver.stored(2);
    driver.activation.done(Outcome::Done);
    driver.receive(Seq(3), &unit);
    driver.activation.done(Outcome::Done);
    driver.allow();
    assert!(driver.unit().is_some());
}

/// Returns a fact of a worker.
fn entry(seq: Seq, fact: &Fact) -> Entry {
    let record = Record::of_fact(fact, "r", &worker()).unwrap();
    let family = Family::In(fact.source());
    Entry { seq, family, record: Ok(record), ..submission() }
}

fn worker() -> WorkerId {
    WorkerId::new("w").unwrap()
}
