//! Logs and the status of their questions.

use jiff::Timestamp;
use proto::{
    fact::Source,
    fact::{Fact, Submitted},
    id::WorkerId,
    record::{Record, Unreadable},
};

use super::*;

fn entry(seq: u64, family: Family, record: Result<Record, Unreadable>) -> Entry {
    let (time, job) = (Timestamp::UNIX_EPOCH, JobId::new("j").unwrap());
    Entry { seq: Seq(seq), time, job, family, record, trace: None }
}

fn submission() -> Entry {
    let submitted = Fact::Submitted(Submitted {
        goal: "g".into(),
        agent: proto::agent::Agent::default(),
        language: proto::lang::Language::En,
        language_detected: false,
        digest: String::new(),
        by: Some("ann".into()),
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
    let record = Record::of_fact(&submitted, "r", &WorkerId::new("door").unwrap()).unwrap();
    entry(1, Family::In(Source::Door), Ok(record))
}

#[test]
fn agents_and_processes_of_the_job_are_crew_and_people_are_not() {
    let job = JobId::new("j").unwrap();
    let mut questions = QuestionLog::of(&job, &[submission()]);
    assert_eq!(questions.job().goal(), "g");
    assert!(questions.is_crew("default") && !questions.is_crew("w1") && !questions.is_crew("door"));
    let started =
        r#"{"v":1,"kind":"started","id":"r","by":"w1","body":{"work":"g0.s1","attempt":1}}"#;
    let record = Record::from_slice(started.as_bytes());
    assert!(questions.take(&entry(2, Family::In(Source::Crew), record)));
    assert!(questions.is_crew("w1") && !questions.is_crew("ann"));
}

#[test]
fn a_log_with_a_rollback_must_be_read_again() {
    let job = JobId::new("j").unwrap();
    let mut questions = QuestionLog::of(&job, &[submission()]);
    let back = r#"{"v":1,"kind":"signaled","id":"r","by":"door","body":{"signal":{"roll_back":{"to":1,"seen":1}}}}"#;
    let back = entry(2, Family::In(Source::Door), Record::from_slice(back.as_bytes()));
    assert!(!questions.take(&back), "the log must be read again");
    assert!(!QuestionLog::of(&job, &[submission(), back]).is_empty());
}
