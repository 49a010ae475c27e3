//! The receivers of tasks in a bucket, and the headers of their notifications.

use broker::memory::{self, MemoryOptions};
use proto::{fact::Source, subject::Subjects};
use rstest::rstest;
use serde_json::json;

use super::*;

const STRICT: Notifications =
    Notifications { enabled: true, allow_private: false, allow_http: false };

fn stored(settings: Notifications) -> StoredReceivers {
    let broker = memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default());
    StoredReceivers::new(broker.kv, settings)
}

fn receiver(id: &str, url: &str) -> Receiver {
    let url = url.parse().unwrap();
    Receiver { id: id.to_owned(), url, token: None, authentication: None }
}

fn task() -> JobId {
    JobId::new("j1").unwrap()
}

#[tokio::test]
async fn receivers_are_kept_until_they_are_removed() {
    let stored = stored(STRICT);
    let (first, second) =
        (receiver("r1", "https://a.example"), receiver("r2", "https://b.example"));
    for receiver in [&first, &second, &first] {
        stored.put(&task(), receiver.clone()).await.unwrap();
    }
    assert_eq!(stored.of(&task()).await.unwrap(), [first.clone(), second.clone()]);
    for (id, left) in [("r1", vec![&second]), ("r1", vec![&second]), ("r2", vec![])] {
        stored.remove(&task(), id).await.unwrap();
        assert_eq!(stored.of(&task()).await.unwrap().iter().collect::<Vec<_>>(), left);
    }
    stored.put(&task(), first.clone()).await.unwrap();
    assert_eq!(stored.of(&task()).await.unwrap(), [first]);
}

#[tokio::test]
async fn receivers_that_are_set_at_the_same_time_are_all_kept() {
    let stored = stored(STRICT);
    let set = (0..8).map(|n| {
        let stored = stored.clone();
        let receiver = receiver(&format!("r{n}"), "https://a.example");
        tokio::spawn(async move { stored.put(&task(), receiver).await })
    });
    for one in join_all(set).await {
        one.unwrap().unwrap();
    }
    assert_eq!(stored.of(&task()).await.unwrap().len(), 8);
    let ninth = stored.put(&task(), receiver("r8", "https://a.example")).await.unwrap_err();
    assert_eq!(ninth.code, Code::InvalidRequest);
}

#[tokio::test]
async fn a_receiver_that_was_replaced_meanwhile_is_not_forgotten() {
    let stored = stored(STRICT);
    let (old, new) = (receiver("r1", "https://a.example"), receiver("r1", "https://b.example"));
    stored.put(&task(), new.clone()).await.unwrap();
    stored.forget(&task(), &old).await.unwrap();
    assert_eq!(stored.of(&task()).await.unwrap(), std::slice::from_ref(&new));
    stored.forget(&task(), &new).await.unwrap();
    assert_eq!(stored.of(&task()).await.unwrap(), []);
}

#[tokio::test]
async fn receivers_that_cannot_be_read_are_not_overwritten() {
    let stored = stored(STRICT);
    let value = br#"[{"id": "secret", "url": 7}]"#.as_slice();
    stored.kv.put(Bucket::Receivers, "j1", value.into()).await.unwrap();
    let failure = stored.put(&task(), receiver("r1", "https://a.example")).await.unwrap_err();
    assert_eq!(failure.code, Code::Internal);
    assert!(!failure.to_string().contains("secret"), "{failure}");
    assert_eq!(stored.kv.get(Bucket::Receivers, "j1").await.unwrap().unwrap().value, value);
}

#[rstest]
#[case::public("https://a.example/x", STRICT, true)]
#[case::not_encrypted("http://a.example/x", STRICT, false)]
#[case::of_this_machine("https://127.0.0.1/x", STRICT, false)]
#[case::of_this_machine_by_name("https://localhost/x", STRICT, false)]
#[case::of_the_cloud("https://169.254.169.254/latest", STRICT, false)]
#[case::of_another_protocol("https://a.example:25/x", STRICT, false)]
#[case::not_encrypted_by_leave("http://a.example/x", Notifications { allow_http: true, ..STRICT }, true)]
#[case::private_by_leave("https://10.0.0.1/x", Notifications { allow_private: true, ..STRICT }, true)]
fn only_addresses_that_may_be_reached_are_accepted(
    #[case] url: &str,
    #[case] settings: Notifications,
    #[case] is_accepted: bool,
) {
    let checked = stored(settings).check(&url.parse().unwrap());
    assert_eq!(checked.is_ok(), is_accepted, "{checked:?}");
}

#[rstest]
#[case::a_question_of_a_sub_agent("asked", 6, true)]
#[case::its_end("settled", 6, true)]
#[case::one_that_was_asked_before("asked", 5, false)]
#[case::an_instruction("told", 6, false)]
fn a_question_of_a_sub_agent_is_told(#[case] phase: &str, #[case] seq: u64, #[case] is: bool) {
    let below = json!({"job": "j1-c1", "path": "j1/s2"});
    let question = json!({"id": "q1", "prompt": "Which year?", "kind": "question"});
    let event = match phase {
        "asked" => json!({"question": question, "below": below}),
        "settled" => json!({"ask": "q1", "below": below}),
        _ => json!({"text": "Hurry."}),
    };
    let mut fields = json!({
        "id": format!("{seq}.1"),
        "time": "2026-03-01T09:00:00Z",
        "type": "interaction",
        "phase": phase,
    });
    fields.as_object_mut().unwrap().extend(event.as_object().unwrap().clone());
    let event: Event = serde_json::from_value(fields).unwrap();
    assert_eq!(changes_task(Seq(6), &Family::In(Source::Door), &[event]), is);
}

#[test]
fn a_notification_carries_the_secrets_of_its_receiver() {
    let mut receiver = receiver("r1", "https://a.example");
    assert!(headers(&receiver).is_empty());
    receiver.token = Some("t1".to_owned());
    let credentials = Some("c1".to_owned());
    receiver.authentication =
        Some(bridges::a2a::Authentication { scheme: "Bearer".to_owned(), credentials });
    let sent = headers(&receiver);
    assert_eq!(sent["x-a2a-notification-token"], "t1");
    assert_eq!(sent["authorization"], "Bearer c1");
    assert!(!format!("{sent:?}").contains("c1"), "{sent:?}");
}
