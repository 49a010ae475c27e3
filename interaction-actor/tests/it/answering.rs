//! `answer`: validated completely, accepted once, and only for the right question.

use std::collections::BTreeMap;

use broker::memory::MemoryOptions;
use futures::future::join_all;
use proto::{
    decision::Closed,
    digest,
    error::Code,
    fact::Submitted,
    family::Parent,
    id::{Attempt, JobId, Seq, ToolName, WorkId},
    interaction::{AskedBy, Choice, QuestionKind, approval_digest},
    lang::Language,
    plan::Plan,
    record::Known,
};
use rstest::rstest;
use runtime::{
    config::{Person, PersonName, Role},
    people::People,
};
use serde_json::{Value, json};

use crate::office::{Office, job, question};

fn choice() -> QuestionKind {
    let options = ["red", "green"].map(|value| Choice { value: value.into(), label: None });
    QuestionKind::Choice { options: options.to_vec(), multiple: false }
}

fn form() -> QuestionKind {
    let fields = json!([
        {"key": "to", "label": "To", "type": "text", "required": true, "max_length": 5},
        {"key": "days", "label": "Days", "type": "number", "min": 1.0, "max": 9.0, "integer": true},
        {"key": "by", "label": "By", "type": "select", "options": [{"value": "a"}], "multiple": true},
    ]);
    QuestionKind::Form { fields: serde_json::from_value(fields).unwrap() }
}

pub(crate) fn approval(job: &JobId) -> (QuestionKind, String) {
    let tool = ToolName::new("send_mail").unwrap();
    let args = json!({"to": "a@example.org"});
    let digest = approval_digest(job, "g0.r1.s1", &tool, "1", &args);
    let version = "1".to_owned();
    let (asked_by, seen) = (vec![AskedBy::Tool], None);
    let kind = QuestionKind::ToolApproval {
        tool,
        version,
        args,
        digest: digest.clone(),
        asked_by,
        seen,
        seen_seq: None,
    };
    (kind, digest)
}

fn plan_check() -> QuestionKind {
    let plan = Plan { title: "t".into(), ..Plan::default() };
    QuestionKind::PlanCheck {
        plan,
        revision: 0,
        digest: "d1".into(),
        completed: Vec::new(),
        finished: Vec::new(),
    }
}

/// Returns the answers stored for a job.
pub(crate) async fn answers(office: &Office, job: &JobId) -> Vec<proto::fact::Answered> {
    let entries = office.broker.log.read(job, Seq(0)).await.unwrap();
    let facts = entries.into_iter().filter_map(|entry| match entry.record.unwrap().known() {
        Ok(Known::Fact(fact)) => Some(*fact),
        Ok(Known::Decision(_)) | Err(_) => None,
    });
    let answers = facts.filter_map(|fact| match fact {
        proto::fact::Fact::Answered(answered) => Some(answered),
        proto::fact::Fact::Submitted(_)
        | proto::fact::Fact::Signaled(_)
        | proto::fact::Fact::Planned(_)
        | proto::fact::Fact::Turned(_)
        | proto::fact::Fact::Started(_)
        | proto::fact::Fact::Called(_)
        | proto::fact::Fact::Fired(_)
        | proto::fact::Fact::Child(_) => None,
    });
    answers.collect()
}

#[tokio::test]
async fn an_answer_to_nothing_is_not_found() {
    let office = Office::new().await;
    let asked = office.asked("j", QuestionKind::Question).await;
    let refused = office.refused(&job("other"), json!({"value": "x"})).await;
    assert_eq!(refused, (Code::NotFound, "job".to_owned()));
    let refused = office.refused(&asked, json!({"ask": "q2", "value": "x"})).await;
    assert_eq!(refused, (Code::NotFound, "ask".to_owned()));
    let refused = office.refused(&asked, json!({"ask": "*", "value": "x"})).await;
    assert_eq!(refused, (Code::InvalidId, "ask".to_owned()));
    assert!(answers(&office, &asked).await.is_empty());
}

#[tokio::test]
async fn the_first_answer_wins_and_the_next_is_told_whose_it_was() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    let first = json!({"value": "now", "by": "ann"});
    let taken = office.answer(&job, first.clone()).await.unwrap();
    assert_eq!(taken["ask"], "q1");
    for again in [json!({"value": "later", "by": "bob"}), first] {
        let failure = office.answer(&job, again).await.unwrap_err();
        let winner = failure.winner.unwrap();
        assert_eq!((failure.code, winner.by.as_str()), (Code::AlreadyAnswered, "ann"));
        assert_eq!(winner.answer.value, Some(json!("now")));
    }
    assert_eq!(answers(&office, &job).await.len(), 1);
    office.until(&job, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_hundred_answers_at_the_same_instant_one_wins() {
    let mut office = Office::new().await;
    office.hire(People::default()).await;
    let job = office.asked("j", QuestionKind::Question).await;
    let all = join_all((0..100).map(|n| {
        office.answer(&job, json!({"value": format!("answer {n}"), "by": format!("p{n}")}))
    }));
    let (mut taken, mut winners) = (0, Vec::new());
    for answer in all.await {
        match answer {
            Ok(_) => taken += 1,
            Err(failure) => {
                assert_eq!(failure.code, Code::AlreadyAnswered, "{failure}");
                winners.push(failure.winner.unwrap().by);
            }
        }
    }
    let stored = answers(&office, &job).await;
    assert_eq!((taken, stored.len()), (1, 1));
    assert!(winners.iter().all(|winner| *winner == stored[0].by));
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_to_different_questions_of_a_job_do_not_get_in_each_others_way() {
    let office = Office::new().await;
    let job = office.submit("j").await;
    let questions = (0..20).map(|n| question(&format!("q{n}"), QuestionKind::Question));
    office.ask_all(&job, questions).await;
    let all = (0..20).map(|n| office.answer(&job, json!({"ask": format!("q{n}"), "value": "x"})));
    assert!(join_all(all).await.iter().all(Result::is_ok));
    assert_eq!(answers(&office, &job).await.len(), 20);
    office.until(&job, 0).await;
}

#[derive(Debug, Clone, Copy)]
enum End {
    Expired,
    Superseded,
    Canceled,
    Finished,
}

#[rstest]
#[case(End::Expired, "its deadline passed")]
#[case(End::Superseded, "is no longer needed")]
#[case(End::Canceled, "the job has ended")]
#[case(End::Finished, "the job has ended")]
#[tokio::test]
async fn a_question_that_is_closed_takes_no_answer_and_leaves_the_inbox(
    #[case] end: End,
    #[case] why: &str,
) {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    match end {
        End::Expired => office.expire(&job).await,
        End::Superseded => office.close(&job, Closed::Superseded).await,
        End::Canceled => office.cancel(&job).await,
        End::Finished => office.finish(&job).await,
    }
    let failure = office.answer(&job, json!({"value": "now"})).await.unwrap_err();
    assert_eq!(failure.code, Code::Closed);
    assert!(failure.message.contains(why), "{failure}");
    assert!(answers(&office, &job).await.is_empty());
    // The refused answer finds the question closed and removes its inbox entry.
    office.until(&job, 0).await;
}

#[tokio::test]
async fn a_question_of_a_job_that_was_purged_leaves_the_inbox_with_the_next_answer() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    office.broker.log.purge(&job).await.unwrap();
    assert_eq!(office.refused(&job, json!({"value": "x"})).await.0, Code::NotFound);
    office.until(&job, 0).await;
}

#[tokio::test]
async fn an_approval_of_something_else_is_stale() {
    let office = Office::new().await;
    let (kind, digest) = approval(&job("j"));
    let job = office.asked("j", kind).await;
    for seen in [json!("older"), json!(null)] {
        let body = json!({"decision": "approve", "digest": seen});
        assert_eq!(office.refused(&job, body).await, (Code::Stale, "digest".to_owned()));
    }
    office.answer(&job, json!({"decision": "approve", "digest": digest})).await.unwrap();
}

#[tokio::test]
async fn an_approval_of_another_job_is_stale() {
    let office = Office::new().await;
    let ((one, captured), (two, _)) = (approval(&job("one")), approval(&job("two")));
    office.asked("one", one).await;
    office.asked("two", two).await;
    let body = json!({"decision": "approve", "digest": captured});
    assert_eq!(office.refused(&job("two"), body).await, (Code::Stale, "digest".to_owned()));
}

#[rstest]
#[case::no_value(QuestionKind::Question, json!({}), "value")]
#[case::words_for_a_value(QuestionKind::Question, json!({"text": "now"}), "value")]
#[case::empty(QuestionKind::Question, json!({"value": ""}), "value")]
#[case::not_a_text(QuestionKind::Question, json!({"value": 7}), "value")]
#[case::approved(QuestionKind::Question, json!({"decision": "approve"}), "decision")]
#[case::outside(choice(), json!({"value": "blue"}), "value")]
#[case::several(choice(), json!({"value": ["red"]}), "value")]
#[case::no_form(form(), json!({"value": "x"}), "value")]
#[case::missing(form(), json!({"value": {}}), "value.to")]
#[case::too_long(form(), json!({"value": {"to": "abcdef"}}), "value.to")]
#[case::too_many(form(), json!({"value": {"to": "a", "days": 10}}), "value.days")]
#[case::not_whole(form(), json!({"value": {"to": "a", "days": 1.5}}), "value.days")]
#[case::no_option(form(), json!({"value": {"to": "a", "by": ["z"]}}), "value.by[0]")]
#[case::unknown_field(form(), json!({"value": {"to": "a", "cc": 1}}), "value.cc")]
#[case::no_words(plan_check(), json!({"decision": "respond"}), "text")]
#[case::a_value_for_words(plan_check(), json!({"decision": "respond", "text": "x", "value": 1}), "value")]
#[case::endless_words(plan_check(), json!({"decision": "reject", "text": "x".repeat(70_000)}), "text")]
#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_with_the_field_named(
    #[case] kind: QuestionKind,
    #[case] body: Value,
    #[case] field: &str,
) {
    let office = Office::new().await;
    let job = office.asked("j", kind).await;
    assert_eq!(office.refused(&job, body).await, (Code::InvalidAnswer, field.to_owned()));
    assert!(answers(&office, &job).await.is_empty());
    office.until(&job, 1).await;
}

#[rstest]
#[case::decision(QuestionKind::Question, json!({"decision": "approve"}),
    "a question is answered with respond or reject, not approve",
    "question 类问题要用 respond 或 reject 回答，不能用 approve")]
#[case::no_value(QuestionKind::Question, json!({"decision": "respond"}), "`value` is missing", "缺少 `value`")]
#[case::no_words(plan_check(), json!({"decision": "respond"}),
    "`text` must say how the plan should change", "`text` 必须说明计划应如何修改")]
#[case::a_value_for_words(plan_check(), json!({"decision": "respond", "text": "x", "value": 1}),
    "value: a plan_check takes none", "value: plan_check 类问题不接受 value")]
#[case::two_fields(form(), json!({"value": {"to": "abcdef", "days": 10}}),
    "value.to: \"abcdef\" is longer than 5 characters; value.days: 10 is greater than the maximum of 9.0",
    "value.to：最多 5 个字符；value.days：不能大于 9.0")]
#[tokio::test]
async fn the_refusal_of_an_answer_is_told_in_every_language(
    #[case] kind: QuestionKind,
    #[case] body: Value,
    #[case] english: &str,
    #[case] chinese: &str,
) {
    let office = Office::new().await;
    let job = office.asked("j", kind).await;
    let failure = office.answer(&job, body).await.unwrap_err();
    let reason = failure.reason.unwrap();
    let told = |language| {
        failure
            .message
            .replace(&reason.text(Language::En).unwrap(), &reason.text(language).unwrap())
    };
    assert_eq!((told(Language::En).as_str(), told(Language::Zh).as_str()), (english, chinese));
}

#[rstest]
#[case(QuestionKind::Question, json!({"value": "now"}))]
#[case(QuestionKind::Question, json!({"decision": "reject", "text": "no idea"}))]
#[case(choice(), json!({"value": "red"}))]
#[case(form(), json!({"value": {"to": "abcde", "days": 9, "by": ["a"]}}))]
#[case(plan_check(), json!({"decision": "approve"}))]
#[case(plan_check(), json!({"decision": "approve", "digest": "d1"}))]
#[case(plan_check(), json!({"decision": "respond", "text": "先做第二步"}))]
#[case(plan_check(), json!({"decision": "reject"}))]
#[tokio::test]
async fn an_answer_that_fits_is_a_fact(#[case] kind: QuestionKind, #[case] body: Value) {
    let office = Office::new().await;
    let job = office.asked("j", kind).await;
    let taken = office.answer(&job, body.clone()).await.unwrap();
    let stored = answers(&office, &job).await;
    assert_eq!((stored.len(), stored[0].by.as_str()), (1, "anonymous"));
    assert_eq!(stored[0].answer.value.as_ref(), body.get("value"));
    let last = office.broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(taken["seq"], last.last().unwrap().seq.0);
}

#[tokio::test]
async fn a_body_without_end_is_too_large() {
    let office = Office::new().await;
    let asked = office.asked("j", QuestionKind::Question).await;
    let refused = office.refused(&asked, json!({"value": "x".repeat(300_000)})).await;
    assert_eq!(refused.0, Code::TooLarge);
}

pub(crate) fn people() -> People {
    let person = |name: &str, roles: &[Role]| {
        let token_sha256 = digest::of_bytes(name.as_bytes());
        let name = PersonName::try_from(name.to_owned()).unwrap();
        (name, Person { token_sha256, roles: roles.to_vec() })
    };
    let people = BTreeMap::from([
        person("ann", &[Role::Answer]),
        person("bob", &[Role::Read, Role::Submit]),
        person("cat", &[Role::Answer]),
    ]);
    People::new(&people, None)
}

#[tokio::test]
async fn only_somebody_with_the_role_answers_and_under_their_own_name() {
    let office = Office::with(MemoryOptions::default(), people()).await;
    let job = office.submit("j").await;
    office.ask(&job, question("q1", QuestionKind::Question)).await;
    let body = json!({"job": "j", "ask": "q1", "value": "x", "by": "eve"}).to_string();
    for token in [None, Some("bob"), Some("eve")] {
        let failure = office.send("answer", &body, token).await.unwrap_err();
        assert_eq!(failure.code, Code::Forbidden, "{token:?}");
    }
    assert!(office.send("inbox", "", None).await.is_err());
    assert!(office.send("inbox", "", Some("bob")).await.is_ok());
    office.send("answer", &body, Some("ann")).await.unwrap();
    assert_eq!(answers(&office, &job).await[0].by, "ann");
}

#[tokio::test]
async fn four_eyes_leave_approvals_to_another_person_than_the_submitter() {
    // Ann submitted the job.
    let office = Office::with(MemoryOptions::default(), people()).await;
    let job = office.submit("j").await;
    let (kind, digest) = approval(&job);
    let asked = [question("q1", kind), question("q2", QuestionKind::Question)];
    office.ask_all(&job, asked.into_iter()).await;
    let approve = json!({"job": "j", "ask": "q1", "decision": "approve", "digest": digest});
    let with = |mut body: Value| {
        body["four_eyes"] = json!(true);
        body.to_string()
    };
    let refused = office.send("answer", &with(approve.clone()), Some("ann")).await.unwrap_err();
    assert_eq!(refused.code, Code::Forbidden, "{refused:?}");
    let told = json!({"job": "j", "ask": "q2", "value": "soon"});
    office.send("answer", &with(told), Some("ann")).await.unwrap();
    office.send("answer", &with(approve), Some("cat")).await.unwrap();
    let by: Vec<String> = answers(&office, &job).await.into_iter().map(|it| it.by).collect();
    assert_eq!(by, ["ann", "cat"]);
}

#[tokio::test]
async fn an_agent_with_four_eyes_has_another_person_approve() {
    // Ann submitted all jobs. The agent of `parent` has the policy, and that of `child` has not.
    let office = Office::with(MemoryOptions::default(), people()).await;
    let demand = |submitted: &mut Submitted| submitted.agent.approval.four_eyes = true;
    let parent = office.submit_with("parent", demand).await;
    let child = Parent {
        job: parent.clone(),
        work: WorkId::new("g0.r1.s1").unwrap(),
        attempt: Attempt(1),
        root: parent.clone(),
        path: "parent/s1".into(),
        depth: 1,
    };
    let child = office.submit_with("child", |submitted| submitted.parent = Some(child)).await;
    for job in [&parent, &child] {
        let (kind, digest) = approval(job);
        let asked = [question("q1", kind.clone()), question("q2", kind)];
        office.ask_all(job, asked.into_iter()).await;
        let approve = |ask: &str| {
            json!({"job": job, "ask": ask, "decision": "approve", "digest": digest}).to_string()
        };
        let refused = office.send("answer", &approve("q1"), Some("ann")).await.unwrap_err();
        assert_eq!(refused.code, Code::Forbidden, "{refused:?}");
        assert!(refused.message.contains("job parent"), "{refused:?}");
        let link = json!({"job": job, "ask": "q1"}).to_string();
        let link = office.send("link", &link, Some("ann")).await.unwrap();
        let answer = json!({"decision": "approve", "digest": digest});
        let redeem = json!({"handle": link["handle"], "answer": answer}).to_string();
        let refused = office.send("redeem", &redeem, None).await.unwrap_err();
        assert_eq!(refused.code, Code::Forbidden, "{refused:?}");
        office.send("answer", &approve("q1"), Some("cat")).await.unwrap();
        let reject = json!({"job": job, "ask": "q2", "decision": "reject"}).to_string();
        office.send("answer", &reject, Some("ann")).await.unwrap();
        let by: Vec<String> = answers(&office, job).await.into_iter().map(|it| it.by).collect();
        assert_eq!(by, ["cat", "ann"], "{job}");
    }
}

#[tokio::test]
async fn without_people_nobody_is_known_to_be_another_person() {
    let office = Office::new().await;
    let job = office.submit("j").await;
    let (kind, digest) = approval(&job);
    office.ask(&job, question("q1", kind)).await;
    let approve = json!({"decision": "approve", "digest": digest, "by": "eve"});
    let mut four_eyes = approve.clone();
    four_eyes["four_eyes"] = json!(true);
    assert_eq!(office.refused(&job, four_eyes).await.0, Code::Forbidden);
    office.answer(&job, approve).await.unwrap();
}

#[tokio::test]
async fn agents_and_processes_never_answer_for_a_person() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    // The process that stored the question, and the job's agent.
    for by in ["test", "default"] {
        let refused = office.refused(&job, json!({"value": "x", "by": by})).await;
        assert_eq!(refused, (Code::Forbidden, "by".to_owned()), "{by}");
    }
    office.answer(&job, json!({"value": "x", "by": "ann"})).await.unwrap();
}

#[tokio::test]
async fn an_answer_is_stored_as_it_was_given() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    let hostile = "<script>{{step1.id}}\u{1b}]52;c;cm0=\u{7}\u{202e}${HOME}";
    office.answer(&job, json!({"value": hostile})).await.unwrap();
    assert_eq!(answers(&office, &job).await[0].answer.value, Some(json!(hostile)));
    assert!(!proto::escape::text(hostile).contains(['\u{1b}', '\u{7}', '\u{202e}']));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_outlives_every_process() {
    let mut office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    office.fire_everybody().await;
    // The question is asked while no process has the role.
    office.ask(&job, question("q2", QuestionKind::Question)).await;
    office.hire(People::default()).await;
    office.until(&job, 2).await;
    office.answer(&job, json!({"value": "x"})).await.unwrap();
    office.answer(&job, json!({"ask": "q2", "value": "y"})).await.unwrap();
    assert_eq!(answers(&office, &job).await.len(), 2);
}

#[tokio::test]
async fn the_servers_time_decides_and_no_other_clock() {
    let office = Office::new().await;
    let job = office.submit("j").await;
    let mut late = question("q1", QuestionKind::Question);
    // The deadline has passed on every clock here, but the broker's timer has not fired.
    late.deadline = Some("2001-01-01T00:00:00Z".parse().unwrap());
    office.ask(&job, late).await;
    office.answer(&job, json!({"value": "x"})).await.unwrap();

    let other = office.submit("k").await;
    let mut early = question("q1", QuestionKind::Question);
    early.deadline = Some("2999-01-01T00:00:00Z".parse().unwrap());
    office.ask(&other, early).await;
    office.expire(&other).await;
    assert_eq!(office.refused(&other, json!({"value": "x"})).await.0, Code::Closed);
}

#[tokio::test]
async fn a_job_that_is_parked_at_a_record_takes_no_answer() {
    let office = Office::new().await;
    let job = office.asked("j", QuestionKind::Question).await;
    let subject = office.broker.log.subjects().fact(&job, &proto::fact::Source::Door);
    office.memory().store_raw(&subject, bytes::Bytes::from_static(b"{")).unwrap();
    assert_eq!(office.refused(&job, json!({"value": "x"})).await.0, Code::Poisoned);
}
