//! The life of links to answer one question, on a clock that the test moves.

use std::{sync::Arc, time::Duration};

use broker::testing::ManualClock;
use jiff::{SignedDuration, Timestamp};
use proto::{
    error::{Code, Failure},
    id::JobId,
    interaction::{Question, QuestionKind},
};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    answering::answers,
    office::{Office, question},
};

/// The longest life of a link.
const LIFE: SignedDuration = SignedDuration::from_hours(72);
/// The largest number of links of a question.
const LINKS_MAX: usize = 16;

fn start() -> Timestamp {
    "2026-03-01T09:00:00Z".parse().unwrap()
}

/// An office on a clock, and a job with one question that has a deadline or none.
async fn asked(deadline: Option<Timestamp>) -> (Arc<ManualClock>, Office, JobId) {
    let clock = Arc::new(ManualClock::new(start()));
    let office = Office::by(clock.clone()).await;
    let job = office.submit("j").await;
    let question = Question { deadline, ..question("q1", QuestionKind::Question) };
    office.ask(&job, question).await;
    (clock, office, job)
}

async fn link(office: &Office) -> Result<Value, Failure> {
    let body = json!({"job": "j", "ask": "q1", "by": "ann"}).to_string();
    office.send("link", &body, None).await
}

async fn redeem(office: &Office, link: &Value, answer: Option<&str>) -> Result<Value, Failure> {
    let mut body = json!({"handle": link["handle"]});
    if let Some(value) = answer {
        body["answer"] = json!({"decision": "respond", "value": value});
    }
    office.send("redeem", body.to_string(), None).await
}

fn expiry(link: &Value) -> Timestamp {
    link["expires"].as_str().unwrap().parse().unwrap()
}

#[rstest]
#[case::of_a_question_without_a_deadline(None, LIFE)]
#[case::of_a_later_deadline(Some(LIFE + SignedDuration::from_secs(1)), LIFE)]
#[case::of_an_earlier_deadline(Some(SignedDuration::from_hours(1)), SignedDuration::from_hours(1))]
#[tokio::test]
async fn a_link_lives_until_the_deadline_and_never_longer_than_three_days(
    #[case] deadline: Option<SignedDuration>,
    #[case] life: SignedDuration,
) {
    let (_, office, _) = asked(deadline.map(|after| start() + after)).await;
    assert_eq!(expiry(&link(&office).await.unwrap()), start() + life);
}

#[tokio::test]
async fn a_link_answers_until_just_before_it_expires_and_is_unknown_from_then_on() {
    let (clock, office, job) = asked(None).await;
    let made = link(&office).await.unwrap();
    clock.set(expiry(&made) - SignedDuration::from_nanos(1));
    let shown = redeem(&office, &made, None).await.unwrap();
    assert_eq!((&shown["by"], &shown["question"]["id"]), (&json!("ann"), &json!("q1")));

    clock.set(expiry(&made));
    for answer in [None, Some("now")] {
        let refused = redeem(&office, &made, answer).await.unwrap_err();
        assert_eq!((refused.code, refused.field.as_deref()), (Code::NotFound, Some("handle")));
    }
    assert!(answers(&office, &job).await.is_empty());
    // An expired link is gone, and so a clock that is set back does not revive it.
    clock.set(start());
    assert_eq!(redeem(&office, &made, None).await.unwrap_err().code, Code::NotFound);

    let made = link(&office).await.unwrap();
    clock.set(expiry(&made) - SignedDuration::from_nanos(1));
    redeem(&office, &made, Some("now")).await.unwrap();
    assert_eq!(answers(&office, &job).await.len(), 1);
}

#[tokio::test]
async fn expired_links_leave_room_for_new_ones() {
    let (clock, office, _) = asked(None).await;
    for _ in 0..LINKS_MAX {
        link(&office).await.unwrap();
    }
    assert_eq!(link(&office).await.unwrap_err().code, Code::Overloaded);
    clock.advance(Duration::try_from(LIFE).unwrap());
    link(&office).await.unwrap();
    let revoked = json!({"job": "j", "ask": "q1"}).to_string();
    let revoked = office.send("unlink", &revoked, None).await.unwrap();
    assert_eq!(revoked, json!({"revoked": 1}), "expired links are not counted");
}
