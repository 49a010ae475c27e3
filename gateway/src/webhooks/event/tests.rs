//! Tests of the events that records give.

use proto::{fact::Source, pools};
use serde_json::{Value, json};

use super::*;

fn event(id: &str, kind: Value) -> Event {
    let mut event = kind;
    event["id"] = json!(id);
    event["time"] = json!("2026-03-01T09:00:00Z");
    serde_json::from_value(event).unwrap()
}

fn asked(id: &str, ask: &str) -> Event {
    let question = json!({"id": ask, "prompt": "a secret text", "kind": "question"});
    event(id, json!({"type": "interaction", "phase": "asked", "question": question}))
}

fn closed(id: &str, ask: &str, because: &str) -> Event {
    event(id, json!({"type": "interaction", "phase": "closed", "ask": ask, "because": because}))
}

fn job(id: &str, state: &str) -> Event {
    event(id, json!({"type": "job", "state": state, "reason": "a secret text"}))
}

fn note() -> Family {
    Family::Do(DecisionKind::Note, pools::people())
}

/// Returns what a record stands for, as `event id, type, question or state`.
fn told(seq: u64, family: &Family, events: &[Event]) -> Vec<String> {
    let found = changes(Seq(seq), family, events);
    let words = found.iter().map(|found| {
        let what = match &found.change {
            Change::Asked(ask) => ask.to_string(),
            Change::Closed(ask, end) => format!("{ask} {end:?}"),
            Change::Waiting(state) | Change::Ended(state) => state.to_string(),
        };
        format!("{} {:?} {what}", found.id, found.change.event_type())
    });
    words.collect()
}

#[test]
fn a_question_a_wait_an_answer_and_an_end_are_told_by_their_own_records() {
    let answered = json!({"type": "interaction", "phase": "answered", "ask": "q1", "decision": "respond", "value": "a secret text", "by": "ann"});
    let below = json!({"job": "j-c1", "path": "j/s2"});
    let question = json!({"id": "q1", "prompt": "?", "kind": "question"});
    let events = [
        job("1.1", "submitted"),
        asked("5.1", "q1"),
        job("5.2", "input-required"),
        event(
            "6.1",
            json!({"type": "interaction", "phase": "asked", "question": question, "below": below}),
        ),
        event("7.1", answered),
        job("7.2", "working"),
        job("9.1", "completed"),
    ];
    let ask = Family::Do(DecisionKind::Ask, pools::people());
    let finish = Family::Do(DecisionKind::Finish, pools::nobody());
    let people = Family::In(Source::People);
    assert_eq!(told(5, &ask, &events), ["5.1 QuestionAsked q1", "5.2 JobWaiting input-required"]);
    assert_eq!(told(6, &people, &events), [""; 0], "a question of a descendant is told by its job");
    assert_eq!(told(7, &people, &events), ["7.1 QuestionClosed q1 Answered"]);
    assert_eq!(told(8, &people, &events), [""; 0], "an answer that came too late");
    assert_eq!(told(9, &finish, &events), ["9.1 JobEnded completed"]);
}

#[test]
fn a_question_that_closes_without_an_answer_is_told_once() {
    let events = [
        asked("5.1", "q1"),
        asked("6.1", "q2"),
        closed("8.1", "q1", "expired"),
        closed("11.1", "q2", "job_ended"),
    ];
    let clock = Family::In(Source::Clock);
    assert_eq!(told(8, &clock, &events), ["8.1 QuestionClosed q1 Expired"]);
    assert_eq!(told(9, &note(), &events), [""; 0], "the timer's record told it");
    assert_eq!(told(11, &note(), &events), ["11.1 QuestionClosed q2 JobEnded"]);
}

#[test]
fn a_note_tells_of_questions_that_another_record_closed() {
    let events = [
        asked("5.1", "q1"),
        asked("6.1", "q2"),
        closed("7.1", "q0", "superseded"),
        closed("9.1", "q1", "rolled_back"),
        closed("9.2", "q2", "rolled_back"),
    ];
    let both = ["9.1 QuestionClosed q1 RolledBack", "9.2 QuestionClosed q2 RolledBack"];
    for seq in [10, 11] {
        assert_eq!(told(seq, &note(), &events), both, "{seq}");
    }
    assert_eq!(needed(Seq(10), &note()), EventId::START);
    let finish = Family::Do(DecisionKind::Finish, pools::nobody());
    assert_eq!(needed(Seq(10), &finish), EventId::all_of(Seq(9)));
}

#[test]
fn what_is_sent_has_no_text_of_the_job() {
    let (job_id, agent) = (JobId::new("j1").unwrap(), AgentName::new("default").unwrap());
    let console = Url::parse("https://jobs.example.com/").unwrap();
    let events = [asked("5.1", "q1"), job("5.2", "input-required"), closed("6.1", "q1", "expired")];
    let ask = Family::Do(DecisionKind::Ask, pools::people());
    let mut found = changes(Seq(5), &ask, &events);
    found.extend(changes(Seq(6), &Family::In(Source::Clock), &events));
    let sent = |found: &Found| {
        let payload = Payload::of(found, &job_id, &agent, Some(&console));
        serde_json::to_value(payload).unwrap()
    };
    let data = |more: Value| {
        let mut data =
            json!({"job": "j1", "agent": "default", "url": "https://jobs.example.com/jobs/j1"});
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        data
    };
    let time = "2026-03-01T09:00:00Z";
    assert_eq!(
        found.iter().map(sent).collect::<Vec<_>>(),
        [
            json!({"type": "question.asked", "timestamp": time, "data": data(json!({"ask": "q1"}))}),
            json!({"type": "job.waiting", "timestamp": time, "data": data(json!({"state": "input-required"}))}),
            json!({"type": "question.closed", "timestamp": time, "data": data(json!({"ask": "q1", "outcome": "expired"}))}),
        ]
    );
}

#[test]
fn the_id_of_a_message_is_that_of_its_event_and_receiver() {
    let [hook, other] = ["a", "b"].map(|name| HookName::new(name).unwrap());
    let job = JobId::new("j1").unwrap();
    let event = EventId { seq: Seq(5), index: 1 };
    let id = message_id(&hook, &job, event);
    assert_eq!((id.len(), message_id(&hook, &job, event)), (36, id.clone()));
    assert_ne!(message_id(&other, &job, event), id);
    assert_ne!(message_id(&hook, &job, EventId { seq: Seq(5), index: 2 }), id);
}
