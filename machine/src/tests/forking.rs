//! Forks: a fork begins with the state of its source, and continues as the source would after a
//! rollback to that point.

use proto::{
    decision::Decision,
    fact::{PlanReply, Signal, Submitted},
    fork::{Forked, ForkedRecord},
    id::{JobId, Seq, WorkerId},
    plan::Action,
    record::{Known, Record},
};
use serde_json::json;

use super::play::*;

/// Returns a fork of a job at a record.
pub(super) fn fork(p: &Play, at: Seq) -> Play {
    let by = WorkerId::new("w").unwrap();
    let along = p.log.iter().filter(|(stored, _, _)| stored.seq <= at);
    let records = along.map(|(stored, family, record)| {
        let record = match record.as_ref().unwrap() {
            Known::Fact(fact) => Record::of_fact(fact, "r", &by),
            Known::Decision(decision) => Record::of_decision(decision, "r", &by),
        };
        ForkedRecord {
            seq: stored.seq,
            time: stored.time,
            family: family.to_string(),
            record: serde_json::from_slice(&record.unwrap().to_vec()).unwrap(),
        }
    });
    let forked = Forked { job: JobId::new("other").unwrap(), seq: at, records: records.collect() };
    let view = p.view();
    Play::submit_as(Submitted {
        goal: view.goal,
        agent: agent(|_| {}),
        language: view.language,
        language_detected: false,
        digest: "d".into(),
        by: None,
        conversation: None,
        parent: None,
        agents: Default::default(),
        forked: Some(Box::new(forked)),
        plan: None,
        workflow: None,
        files: Vec::new(),
        labels: proto::label::Labels::default(),
        rules: proto::rules::Rules::NOW,
    })
}

fn busy() -> Play {
    let mut p = Play::submit(agent(|a| {
        a.confirm = true;
        a.deadline_ms = Some(60_000);
    }));
    p.drive();
    let plan = plan_with("a b c<a", |id| match id {
        "a" => Action::Agent,
        _ => plan("x").steps.remove(0).action,
    });
    p.reply(1, PlanReply::Plan { plan });
    p.drive();
    let question = serde_json::to_value(&p.view().questions[0]).unwrap();
    let digest = question["digest"].as_str().map(str::to_owned);
    p.answer_with("q1", proto::interaction::Answer::approve(digest));
    p.drive();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool_call("1", "echo", json!({})), question_call("2")]));
    p.drive();
    p.fault("g0.r0.b", proto::tool::Fault::Timeout);
    p.drive();
    p.ok("g0.r0.a.n1.t1.c0", json!("x"));
    p.signal(Signal::Pause);
    p.signal(Signal::Resume);
    p.drive();
    p
}

fn question_call(id: &str) -> proto::fact::TurnCall {
    question(id, "Which?")
}

#[test]
fn a_fork_from_any_record_goes_on_as_the_job_would_after_going_back_to_it() {
    let p = busy();
    for (at, _, _) in &p.log {
        let mut back = busy();
        let counted = back.back(at.seq);
        assert!(counted, "{}", at.seq);
        let mut forked = fork(&p, at.seq);
        assert!(forked.job.poison().is_none(), "{}: {:?}", at.seq, forked.job.poison());
        let after = |p: &mut Play| {
            p.job.view().filter(|view| view.sub_status == Some(proto::job::SubStatus::Paused));
            p.signal(Signal::Resume);
            let closes = |label: &String| !label.starts_with("close ");
            p.drive().into_iter().filter(closes).map(bare).collect::<Vec<_>>()
        };
        assert_eq!(after(&mut forked), after(&mut back), "{}", at.seq);
    }
}

/// Returns a label without the number of its question, because a rollback leaves numbers used.
fn bare(label: String) -> String {
    let words: Vec<_> = label.split(' ').collect();
    match words.as_slice() {
        ["ask", _, kind] => format!("ask {kind}"),
        _ => label,
    }
}

#[test]
fn the_turns_that_were_taken_along_are_named_as_another_jobs() {
    let mut p = Play::planned(agent(|_| {}), plan_with("a", |_| Action::Agent));
    p.drive();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool_call("1", "echo", json!({}))]));
    let heard = p.last();
    p.drive();
    let at = p.last();
    let mut forked = fork(&p, at);
    assert_eq!(forked.view().forked.unwrap().seq, at);
    forked.expect(&["call g1.r0.a.n1.t1.c0 #1"]);
    forked.ok("g1.r0.a.n1.t1.c0", json!("x"));
    forked.expect(&["turn g1.r0.a.n1.t2 #1"]);
    let Some(Decision::Turn(turn)) = forked.decisions.last() else { panic!("no turn") };
    assert_eq!(turn.after, Some(heard.taken_along()));
    let at = forked.last();
    let mut again = fork(&forked, at);
    again.expect(&["turn g2.r0.a.n1.t2 #1"]);
    let Some(Decision::Turn(turn)) = again.decisions.last() else { panic!("no turn") };
    assert_eq!(turn.after, Some(heard.taken_along().taken_along()));
}

#[test]
fn what_is_taken_along_and_cannot_be_read_parks_the_fork() {
    let p = busy();
    let mut forked = Forked {
        job: JobId::new("other").unwrap(),
        seq: Seq(1),
        records: vec![ForkedRecord {
            seq: Seq(1),
            time: p.log[0].0.time,
            family: "in.door".into(),
            record: json!({"v": 9, "kind": "submitted", "id": "r", "by": "w", "body": {}}),
        }],
    };
    for family in ["in.door", "nonsense"] {
        forked.records[0].family = family.into();
        let fork = Play::submit_as(Submitted {
            goal: "g".into(),
            agent: agent(|_| {}),
            language: proto::lang::Language::En,
            language_detected: false,
            digest: "d".into(),
            by: None,
            conversation: None,
            parent: None,
            agents: Default::default(),
            forked: Some(Box::new(forked.clone())),
            plan: None,
            workflow: None,
            files: Vec::new(),
            labels: proto::label::Labels::default(),
            rules: proto::rules::Rules::NOW,
        });
        let poison = fork.job.poison().unwrap();
        assert!(poison.reason.contains("job other cannot be folded"), "{}", poison.reason);
    }
}
