//! Tests of the log check: each finding, produced by tampering with a sound log.

use jiff::{SignedDuration, Timestamp};
use proto::{
    agent::Agent,
    decision::{Decision, DecisionKind},
    fact::{Called, Fact, PlanReply, Planned, Source, Submitted},
    id::{Attempt, JobId, Pool, Seq, StepId, ToolName, WorkId, WorkerId},
    lang::Language,
    message::Usage,
    plan::{Action, Plan, Step},
    record::{Record, Unreadable},
    subject::Family,
    tool::{Approval, Binding, Effect, ToolResult},
};
use rstest::rstest;
use serde_json::json;

use super::*;

struct Log(Vec<Entry>);

fn id() -> JobId {
    JobId::new("job").unwrap()
}

fn by() -> WorkerId {
    WorkerId::new("w").unwrap()
}

impl Log {
    fn push(&mut self, family: Family, record: Record) {
        let seq = Seq(self.0.len() as u64 * 3 + 1);
        let after = SignedDuration::from_millis(i64::try_from(seq.0).unwrap());
        let time = Timestamp::UNIX_EPOCH.checked_add(after).unwrap();
        self.0.push(Entry { seq, time, job: id(), family, record: Ok(record), trace: None });
    }

    fn fact(&mut self, fact: &Fact) {
        let record = Record::of_fact(fact, "r", &by()).unwrap();
        self.push(Family::In(fact.source()), record);
    }

    fn decide(&mut self, decision: &Decision) {
        let record = Record::of_decision(decision, "r", &by()).unwrap();
        self.push(Family::Do(decision.kind(), decision.pool()), record);
    }

    /// Returns the machine's next decision.
    fn next(&self) -> Option<Decision> {
        Some(crate::replay(&id(), &self.0).decide()?.decision)
    }

    fn call(&self) -> Decision {
        self.first("call")
    }

    fn first(&self, kind: &str) -> Decision {
        let known = self.0[self.at(kind)].record.as_ref().unwrap().known();
        match known {
            Ok(Known::Decision(decision)) => *decision,
            other => panic!("{other:?}"),
        }
    }

    fn at(&self, kind: &str) -> usize {
        let is = |e: &Entry| e.record.as_ref().is_ok_and(|record| record.kind == kind);
        self.0.iter().position(is).unwrap()
    }
}

fn called(work: &str, attempt: u32) -> Fact {
    Fact::Called(Called {
        work: WorkId::new(work).unwrap(),
        attempt: Attempt(attempt),
        result: ToolResult::ok(json!(1)),
        fault: None,
        outage: false,
        duration_ms: 1,
        cost: Default::default(),
        files: Vec::new(),
    })
}

fn answer(decision: &Decision) -> Option<Fact> {
    let step = |id: &str, on: &[&str]| Step {
        id: StepId::new(id).unwrap(),
        title: String::new(),
        description: id.to_owned(),
        depends_on: on.iter().map(|id| StepId::new(*id).unwrap()).collect(),
        action: Action::Tool {
            tool: ToolName::new("echo").unwrap(),
            args: json!({}),
            binding: Binding {
                pool: Pool::new("builtin").unwrap(),
                effect: Effect::Pure,
                approval: Approval::Never,
                destructive: false,
                untrusted: false,
                version: "1".into(),
            },
        },
    };
    match decision {
        Decision::Plan(work) => Some(Fact::Planned(Planned {
            work: work.work.clone(),
            attempt: work.attempt,
            reply: PlanReply::Plan {
                plan: Plan {
                    title: "t".into(),
                    steps: vec![step("a", &[]), step("b", &["a"])],
                    ..Plan::default()
                },
            },
            usage: Usage::default(),
            detected: None,
            outline: Vec::new(),
            reasoning: String::new(),
            answered: None,
        })),
        Decision::Call(work) => Some(called(work.work.as_str(), work.attempt.0)),
        Decision::Turn(_)
        | Decision::Ask(_)
        | Decision::Wait(_)
        | Decision::Done(_)
        | Decision::Spawn(_)
        | Decision::Note(_)
        | Decision::Finish(_) => None,
    }
}

/// Returns the log of a job of two calls that completed.
fn sound() -> Log {
    let mut log = Log(Vec::new());
    log.fact(&Fact::Submitted(Submitted {
        goal: "g".into(),
        agent: Agent { confirm: false, ..Agent::default() },
        language: Language::En,
        language_detected: false,
        digest: "d".into(),
        by: None,
        conversation: None,
        parent: None,
        agents: Default::default(),
        forked: None,
        workflow: None,
        plan: None,
        files: Vec::new(),
        labels: proto::label::Labels::default(),
        rules: proto::rules::Rules::NOW,
    }));
    while let Some(decision) = log.next() {
        log.decide(&decision);
        answer(&decision).iter().for_each(|fact| log.fact(fact));
    }
    log
}

#[test]
fn a_sound_log_is_clean_and_counted() {
    let mut log = sound();
    log.fact(&called("g0.r0.a", 1));
    let checked = check(&id(), &log.0);
    assert!(checked.is_clean(), "{checked:?}");
    assert_eq!((checked.commands, checked.results, checked.ignored), (3, 3, 1));
}

fn again(log: &mut Log) {
    let call = log.call();
    log.0.truncate(log.at("finish"));
    log.decide(&call);
}

#[rstest]
#[case::no_submission(|log: &mut Log| log.0.clear(), "it was never submitted")]
#[case::another_job(
    |log: &mut Log| log.0.last_mut().unwrap().job = JobId::new("other").unwrap(),
    "record 22 is out of place; a finish should follow record 16"
)]
#[case::backwards(|log: &mut Log| log.0.last_mut().unwrap().seq = Seq(1), "record 1 is out of place; a finish should follow record 16")]
#[case::unreadable(
    |log: &mut Log| {
        log.0[3].family = Family::In(Source::Door);
        log.0[3].record = Err(Unreadable::Kind { kind: "danced".into(), unit: None });
    },
    "ended after record 10: unknown kind \"danced\""
)]
#[case::the_same_call_again(
    again,
    "parked at record 22: the decision Call cannot follow the records before it"
)]
#[case::decided_after_the_end(
    |log: &mut Log| { let call = log.call(); log.decide(&call) },
    "record 25 decides after the end; record 25 decides g0.r0.a #1 again"
)]
#[case::ended_twice(
    |log: &mut Log| { let end = log.first("finish"); log.decide(&end) },
    "record 25 decides after the end; record 25 decides the end again"
)]
#[case::nobody_asked(|log: &mut Log| log.fact(&called("g0.r0.a", 2)), "record 25 answers g0.r0.a #2, which no decision requested")]
#[case::a_lost_decision(|log: &mut Log| log.0.truncate(3), "a call should follow record 4")]
#[case::completed_without_a_result(
    |log: &mut Log| { let at = log.at("finish"); log.0.remove(at - 1); },
    "g0.r0.b #1, decided in record 16, has no result"
)]
fn what_is_wrong_is_found_and_named(#[case] tamper: fn(&mut Log), #[case] expected: &str) {
    let mut log = sound();
    tamper(&mut log);
    let checked = check(&id(), &log.0);
    let found: Vec<String> = checked.findings.iter().map(ToString::to_string).collect();
    assert_eq!(found.join("; "), expected);
    assert!(!checked.is_clean());
}

#[test]
fn a_job_that_waits_for_a_worker_waits_for_something() {
    let mut log = sound();
    log.0.truncate(log.at("call") + 1);
    let checked = check(&id(), &log.0);
    assert_eq!((checked.outcome, checked.findings), (None, Vec::new()));
    assert_eq!(log.call().kind(), DecisionKind::Call);
}

#[test]
fn a_job_that_rests_and_waits_for_nobody_is_told_from_one_that_waits() {
    assert!(waits_outside(JobState::InputRequired, Some(SubStatus::Parked)));
    assert!(waits_outside(JobState::Working, Some(SubStatus::BackingOff)));
    assert!(!waits_outside(JobState::Working, Some(SubStatus::Executing)));
}

/// The check finds faults that a correct fold prevents, even when a broken fold lets them pass.
#[test]
fn a_fold_that_counts_twice_or_a_key_that_changes_is_found() {
    let log = sound();
    let mut units = Units::default();
    let mut call = log.call();
    units.decision(Seq(1), &call);
    for _ in 0..2 {
        units.fact(&log.0[3], "w", &called("g0.r0.a", 1), true);
    }
    if let Decision::Call(work) = &mut call {
        work.attempt = Attempt(2);
        work.idempotency_key.push('x');
    }
    units.decision(Seq(2), &call);
    let found: Vec<String> = units.findings.iter().map(ToString::to_string).collect();
    let expected = [
        "record 10 counted as a second result of g0.r0.a #1",
        "record 2 changes the key of g0.r0.a",
    ];
    assert_eq!(found, expected);
}
