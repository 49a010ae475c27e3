//! The status of questions, for users who answer them.

use proto::{
    decision::Closed,
    fact::{Answered, Asked, AskedKind, Fact, Fired, PlanReply, Signal, Source},
    id::{AskId, Seq, TimerName},
    interaction::{Answer, Verdict},
    plan::Action,
    tool::{Approval, Binding},
    view::PastQuestion,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{self, Play, agent, binding, plan_with};
use crate::QuestionStatus;

fn ask(id: &str) -> AskId {
    AskId::new(id).unwrap()
}

/// Returns a job whose planner has asked `q1`, with a deadline of one second.
fn asked() -> Play {
    let mut p = Play::submit(agent(|a| a.ask.deadline_ms = Some(1000)));
    p.drive();
    let kind = AskedKind::Query;
    let question = Asked { prompt: "Which one?".into(), kind, default: None };
    p.reply(1, PlanReply::Question { question });
    p.expect(&["ask q1 question"]);
    p
}

fn answered(id: &str, value: Option<Value>, by: &str) -> Fact {
    let answer = Answer { value, ..Answer::respond(Value::Null) };
    Fact::Answered(Answered { ask: ask(id), answer, by: by.into() })
}

fn answer(p: &mut Play, by: &str) {
    p.fact(answered("q1", Some(json!("the red one")), by));
}

fn fired(p: &mut Play, timer: &str) {
    p.fact(Fact::Fired(Fired { timer: TimerName::new(timer).unwrap() }));
}

fn shown(p: &Play, id: &str) -> String {
    match p.job.question(&ask(id)) {
        None => "unknown".into(),
        Some(QuestionStatus::Open { .. }) => "open".into(),
        Some(QuestionStatus::Answered { winner, seq }) => {
            let first = p.log.iter().find(|(at, ..)| at.seq == seq);
            assert!(first.is_some(), "the winner is in the log");
            winner.by.clone()
        }
        Some(QuestionStatus::Closed { because }) => format!("{because:?}"),
    }
}

#[rstest]
#[case::never_asked(|_: &mut Play| {}, "q2", "unknown")]
#[case::asked(|_: &mut Play| {}, "q1", "open")]
#[case::answered(|p: &mut Play| answer(p, "ann"), "q1", "ann")]
#[case::the_first_answer_wins(|p: &mut Play| { answer(p, "ann"); answer(p, "bob") }, "q1", "ann")]
#[case::an_invalid_answer_does_not_win(|p: &mut Play| { p.fact(answered("q1", None, "ann")); answer(p, "bob") }, "q1", "bob")]
#[case::an_answer_of_a_worker(|p: &mut Play| p.fact_from(Source::Crew, answered("q1", Some(json!("x")), "ann")), "q1", "open")]
#[case::expired(|p: &mut Play| { fired(p, "ask-q1"); answer(p, "ann") }, "q1", "Expired")]
#[case::expired_and_noted(|p: &mut Play| { fired(p, "ask-q1"); p.drive(); answer(p, "ann") }, "q1", "Expired")]
#[case::answered_just_before_it_expired(|p: &mut Play| { answer(p, "ann"); fired(p, "ask-q1") }, "q1", "ann")]
#[case::another_timer(|p: &mut Play| fired(p, "ask-q11"), "q1", "open")]
#[case::the_job_is_being_canceled(|p: &mut Play| p.signal(Signal::Cancel), "q1", "JobEnded")]
#[case::answered_while_the_job_is_being_canceled(|p: &mut Play| { p.signal(Signal::Cancel); answer(p, "ann") }, "q1", "JobEnded")]
#[case::answered_before_the_cancel(|p: &mut Play| { answer(p, "ann"); p.signal(Signal::Cancel); p.drive(); }, "q1", "ann")]
#[case::the_job_ended(|p: &mut Play| { p.signal(Signal::Cancel); p.drive(); answer(p, "ann") }, "q1", "JobEnded")]
fn a_question_has_the_status_that_the_fold_gives_it(
    #[case] act: fn(&mut Play),
    #[case] id: &str,
    #[case] expected: &str,
) {
    let mut p = asked();
    act(&mut p);
    assert_eq!(shown(&p, id), expected);
}

#[test]
fn a_question_from_before_a_rollback_is_closed_and_its_successor_is_open() {
    let mut p = asked();
    let to = p.log[2].0.seq;
    assert!(p.back(to), "the rollback counts");
    p.job = p.folded();
    assert_eq!(shown(&p, "q1"), format!("{:?}", Closed::RolledBack));
    p.drive();
    assert_eq!((shown(&p, "q1").as_str(), shown(&p, "q2").as_str()), ("RolledBack", "open"));
}

#[test]
fn every_fact_from_a_person_moves_the_position_that_answers_are_compared_with() {
    let mut p = asked();
    assert_eq!(p.job.last_answer(), Seq(0));
    answer(&mut p, "ann");
    let first = p.last();
    assert_eq!(p.job.last_answer(), first);
    p.fact(answered("q9", Some(json!("x")), "ann"));
    assert!(p.last() > first);
    assert_eq!(p.job.last_answer(), p.last());
}

#[test]
fn a_forged_fact_moves_that_position_and_answers_nothing() {
    use proto::{record::Unreadable, subject::Family};
    let mut p = asked();
    p.record(Family::In(Source::People), Err(Unreadable::Forged));
    assert_eq!((p.job.last_answer(), shown(&p, "q1").as_str()), (p.last(), "open"));
    answer(&mut p, "ann");
    assert_eq!(shown(&p, "q1"), "ann");
}

#[test]
fn a_question_after_a_record_that_cannot_be_read_keeps_its_status() {
    use proto::{record::Unreadable, subject::Family};
    let mut p = asked();
    p.record(Family::In(Source::Door), Err(Unreadable::Kind { kind: "x".into(), unit: None }));
    answer(&mut p, "ann");
    assert_eq!(shown(&p, "q1"), "open");
    assert!(p.job.poison().is_some());
}

/// Returns a job whose planner has asked a question of this form.
fn asked_as(kind: Value, default: Option<Value>) -> Play {
    let mut p = Play::submit(agent(|a| a.ask.deadline_ms = Some(1000)));
    p.drive();
    let kind: AskedKind = serde_json::from_value(kind).unwrap();
    let question = Asked { prompt: "Which one?".into(), kind, default };
    p.reply(1, PlanReply::Question { question });
    p.drive();
    p
}

/// Returns a job whose plan waits for confirmation.
fn to_confirm() -> Play {
    let mut p = Play::submit(agent(|a| a.confirm = true));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: play::plan("a") });
    p.expect(&["ask q1 plan_check"]);
    p
}

/// Returns a job with a tool call that waits for approval.
fn to_approve() -> Play {
    let action = |_: &str| Action::Tool {
        tool: proto::id::ToolName::new("send_mail").unwrap(),
        args: json!({"to": "ann"}),
        binding: Binding { approval: Approval::Always, ..binding() },
    };
    let mut p = Play::planned(agent(|_| {}), plan_with("a", action));
    p.expect(&["ask q1 tool_approval"]);
    p
}

fn said(decision: Verdict, value: Option<Value>, text: Option<&str>) -> Answer {
    Answer { decision, value, text: text.map(str::to_owned), digest: None, remember: None }
}

/// Returns what the view tells of the end of a question, without its times.
fn end(past: &PastQuestion) -> Value {
    let mut told = serde_json::to_value(past).unwrap();
    let fields = told.as_object_mut().unwrap();
    for field in ["id", "kind", "prompt", "step", "asked", "ended"] {
        fields.remove(field);
    }
    told
}

fn query() -> Value {
    json!({"mode": "query"})
}

fn colours() -> Value {
    let options = json!([{"value": "r", "label": "Red"}, {"value": "blue"}]);
    json!({"mode": "select", "options": options, "multiple": true})
}

fn form() -> Value {
    let class = json!({"key": "c", "label": "Class", "type": "select",
        "options": [{"value": "1", "label": "First"}]});
    let name = json!({"key": "n", "label": "Name", "type": "text"});
    let count = json!({"key": "i", "label": "How many", "type": "number"});
    json!({"mode": "form", "fields": [name, count, class]})
}

#[rstest]
#[case::text(asked_as(query(), None), Answer::respond(json!("the red one")), "question",
    json!({"end": "answered", "decision": "respond", "chosen": "the red one", "by": "ann"}))]
#[case::options(asked_as(colours(), None), Answer::respond(json!(["blue", "r"])), "choice",
    json!({"end": "answered", "decision": "respond", "chosen": "blue, Red", "by": "ann"}))]
#[case::fields(asked_as(form(), None), Answer::respond(json!({"i": 3, "c": "1", "foreign": "x"})), "form",
    json!({"end": "answered", "decision": "respond", "chosen": "How many: 3; Class: First", "by": "ann"}))]
#[case::declined(asked_as(query(), None), said(Verdict::Reject, None, Some("none of them")), "question",
    json!({"end": "answered", "decision": "reject", "text": "none of them", "by": "ann"}))]
#[case::confirmed(to_confirm(), Answer::approve(None), "plan_check",
    json!({"end": "answered", "decision": "approve", "by": "ann"}))]
#[case::revised(to_confirm(), said(Verdict::Respond, None, Some("shorter")), "plan_check",
    json!({"end": "answered", "decision": "respond", "text": "shorter", "by": "ann"}))]
#[case::edited(to_confirm(), said(Verdict::Edit, Some(json!(play::plan("b"))), None), "plan_check",
    json!({"end": "answered", "decision": "edit", "chosen": "the plan", "by": "ann"}))]
#[case::refused(to_approve(), said(Verdict::Reject, None, None), "tool_approval",
    json!({"end": "answered", "decision": "reject", "by": "ann"}))]
fn an_answered_question_stays_in_the_view_with_what_was_chosen(
    #[case] mut p: Play,
    #[case] answer: Answer,
    #[case] kind: &str,
    #[case] expected: Value,
) {
    assert!(p.view().past_questions.is_empty());
    p.answer_with("q1", answer);
    let time = p.job.updated();
    p.signal(Signal::Pause);
    let view = p.view();
    let [past] = view.past_questions.as_slice() else { panic!("{:?}", view.past_questions) };
    assert_eq!((past.id.as_str(), past.kind.as_str(), past.ended), ("q1", kind, time));
    assert!(past.asked < past.ended);
    assert_eq!(end(past), expected);
    assert!(view.questions.iter().all(|open| open.id != past.id));
}

#[rstest]
#[case::expired(None, |p: &mut Play| fired(p, "ask-q1"), json!({"end": "closed", "because": "expired"}))]
#[case::expired_with_a_default(Some(json!("r")), |p: &mut Play| fired(p, "ask-q1"),
    json!({"end": "closed", "because": "expired", "chosen": "r"}))]
#[case::ended(Some(json!("r")), |p: &mut Play| { p.signal(Signal::Cancel); p.drive(); },
    json!({"end": "closed", "because": "job_ended"}))]
#[case::rolled_back(Some(json!("r")), |p: &mut Play| { p.back(p.log[2].0.seq); p.job = p.folded(); },
    json!({"end": "closed", "because": "rolled_back"}))]
fn a_question_that_closed_stays_in_the_view_with_the_reason(
    #[case] default: Option<Value>,
    #[case] act: fn(&mut Play),
    #[case] expected: Value,
) {
    let mut p = asked_as(query(), default);
    act(&mut p);
    let view = p.view();
    assert_eq!(view.past_questions.iter().map(end).collect::<Vec<_>>(), [expected]);
    assert!(view.questions.is_empty());
}

#[test]
fn a_view_lists_the_newest_answers_shortened_and_counts_the_others() {
    let mut p = Play::submit(agent(|a| a.ask.limit = proto::policy::AskLimit::Unlimited));
    for n in 1..=23 {
        p.drive();
        let prompt = format!("{n}: {}", "p".repeat(5000));
        let question = Asked { prompt, kind: AskedKind::Query, default: None };
        p.reply(n, PlanReply::Question { question });
        p.drive();
        p.answer_with(&format!("q{n}"), Answer::respond(json!("x".repeat(5000))));
    }
    let view = p.view();
    let ids: Vec<_> = view.past_questions.iter().map(|past| past.id.to_string()).collect();
    assert_eq!(ids, (4..=23).map(|n| format!("q{n}")).collect::<Vec<_>>());
    assert_eq!(view.older_questions, 3);
    let all = serde_json::to_string(&view.past_questions).unwrap();
    assert!(all.contains("characters cut") && all.len() < 32 * 1024, "{}", all.len());
}
