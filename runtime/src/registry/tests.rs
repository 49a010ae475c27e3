//! Checks of announcements, and the resolution of two announcements of one name.

use std::cmp::Ordering;

use broker::{
    clock::SystemClock,
    memory::{self, MemoryOptions},
};
use bytes::Bytes;
use proto::{id::WorkerId, subject::Subjects, tool::ToolSpec};
use ractor::Actor;
use rstest::rstest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{announce::by_version, *};
use crate::presence::{Beacon, Crew, Status};

fn spec(change: &Value) -> ToolSpec {
    let mut spec = json!({
        "name": "mail", "description": "Sends mail.", "schema": {"type": "object"},
        "effect": "idempotent", "pool": "builtin",
    });
    for (field, value) in change.as_object().unwrap() {
        spec[field] = value.clone();
    }
    serde_json::from_value(spec).unwrap()
}

fn worker(name: &str) -> WorkerId {
    WorkerId::new(name).unwrap()
}

fn broker() -> Broker {
    memory::start(Subjects::new("cb", 2).unwrap(), MemoryOptions::default())
}

/// Returns a crew in which `a` and `b` are alive.
async fn crew(broker: &Broker) -> Crew {
    let crew = Crew::open(broker);
    for name in ["a", "b"] {
        let clock = SystemClock::new();
        let roles = vec!["tools".to_owned()];
        let status = Status::new(worker(name), roles, "1", &clock, CancellationToken::new());
        Actor::spawn(None, Beacon, (broker.clone(), status)).await.unwrap();
    }
    crew.settled().await;
    crew
}

#[rstest]
#[case(json!({"description": " "}), "description is empty")]
#[case(json!({"description": "Sends\u{202e}liam."}), "description has the invisible character \\u{202e}")]
#[case(json!({"description": "a\u{1b}[2J"}), "\\u{1b}")]
#[case(json!({"description": "x".repeat(DESCRIPTION_BYTES_MAX + 1)}), "at most 16384 bytes")]
#[case(json!({"timeout_ms": 0}), "timeout_ms must be 1 to")]
#[case(json!({"timeout_ms": u64::MAX}), "timeout_ms must be 1 to")]
#[case(json!({"concurrency": 0}), "concurrency must be 1 to")]
#[case(json!({"version": ""}), "version must be")]
#[case(json!({"version": "1\n2"}), "version must be")]
#[case(json!({"schema": 5}), "JSON object")]
#[case(json!({"schema": {"type": "strnig"}}), "strnig")]
#[case(json!({"schema": {"$ref": "http://127.0.0.1:9/x"}}), "schema")]
#[case(json!({"translations": {"zh": {"description": ""}}}), "translations zh: description is empty")]
#[case(json!({"translations": {"zh": {"description": "x".repeat(DESCRIPTION_BYTES_MAX + 1)}}}), "zh: must be at most 16384 bytes")]
#[case(json!({"translations": {"zh": {"description": "发\u{202e}信"}}}), "zh: has the invisible character \\u{202e}")]
#[case(json!({"translations": {"zh": {"description": "发信", "arguments": {"to": "收件人"}}}}), "zh: \"to\" is not an argument")]
#[case(json!({"commands": [{"name": "mail", "about": "a", "about_in": {"zh": "两\n行"}}]}), "/mail: about must be a line")]
fn an_announcement_out_of_bounds_names_tool_and_field(#[case] change: Value, #[case] part: &str) {
    let error = check(&spec(&change)).unwrap_err().to_string();
    assert!(error.contains("tool mail") && error.contains(part), "{error}");
}

#[rstest]
#[case("1", "2", Ordering::Less)]
#[case("1.9", "1.10", Ordering::Less)]
#[case("v2", "1.9", Ordering::Greater)]
#[case("1.0.0", "1.0.0", Ordering::Equal)]
#[case("1.0", "1.0-beta", Ordering::Less)]
fn versions_are_ordered_part_by_part(#[case] a: &str, #[case] b: &str, #[case] order: Ordering) {
    assert_eq!(by_version(a, b), order);
    assert_eq!(by_version(b, a), order.reverse());
}

#[tokio::test(start_paused = true)]
async fn two_tools_of_one_name_and_version_are_refused_and_both_announcers_named() {
    let broker = broker();
    let crew = crew(&broker).await;
    let (a, b) = (worker("a"), worker("b"));
    let announced = announce(&broker, spec(&json!({})), &a, &crew).await.unwrap();
    assert_eq!(announced, Announced::Stored);
    let same = announce(&broker, spec(&json!({})), &b, &crew).await.unwrap();
    assert_eq!(same, Announced::Known);
    let other = spec(&json!({"effect": "once"}));
    let error = announce(&broker, other.clone(), &b, &crew).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("announced by a") && text.contains("than b has"), "{text}");
    // The first announcer may change its own tool, and any worker may announce a newer version.
    assert_eq!(announce(&broker, other, &a, &crew).await.unwrap(), Announced::Stored);
    let newer = spec(&json!({"version": "2"}));
    assert_eq!(announce(&broker, newer, &b, &crew).await.unwrap(), Announced::Stored);
    let older = announce(&broker, spec(&json!({})), &a, &crew).await.unwrap();
    assert_eq!(older, Announced::Newer { version: "2".to_owned() });
}

#[tokio::test(start_paused = true)]
async fn the_tool_of_somebody_who_is_gone_may_be_replaced() {
    let broker = broker();
    let crew = crew(&broker).await;
    announce(&broker, spec(&json!({"version": "9"})), &worker("gone"), &crew).await.unwrap();
    let ours = spec(&json!({"effect": "once"}));
    let announced = announce(&broker, ours.clone(), &worker("a"), &crew).await.unwrap();
    assert_eq!(announced, Announced::Stored);
    let registry = Registry::open(&broker).await.unwrap();
    let tool = registry.get(&ours.name).unwrap();
    assert_eq!((&tool.spec, tool.by.as_str()), (&ours, "a"));
}

/// A worker of an older release announces the same tool without texts in other languages.
#[tokio::test(start_paused = true)]
async fn texts_in_other_languages_are_added_to_a_tool_and_not_lost_again() {
    let broker = broker();
    let crew = crew(&broker).await;
    let (older, newer) = (worker("a"), worker("b"));
    let spoken = spec(&json!({"translations": {"zh": {"description": "发送邮件。"}}}));
    for (by, tool, expected) in [
        (&older, spec(&json!({})), Announced::Stored),
        (&newer, spoken.clone(), Announced::Stored),
        (&older, spec(&json!({})), Announced::Known),
    ] {
        assert_eq!(announce(&broker, tool, by, &crew).await.unwrap(), expected);
    }
    let registry = Registry::open(&broker).await.unwrap();
    assert_eq!(registry.get(&spoken.name).unwrap().spec, spoken);
}

#[test]
fn the_languages_of_a_tool_are_bounded() {
    let of = |count: usize| {
        let all = (0..count).map(|n| (format!("x{n}"), json!({"description": "d"})));
        check(&spec(&json!({"translations": all.collect::<serde_json::Map<_, _>>()})))
    };
    assert!(of(TRANSLATIONS_MAX).is_ok() && of(TRANSLATIONS_MAX + 1).is_err());
}

#[tokio::test(start_paused = true)]
async fn of_many_who_announce_different_tools_at_once_one_wins() {
    let broker = broker();
    let crew = crew(&broker).await;
    let race = (0..10).map(|n| {
        let spec = spec(&json!({"timeout_ms": n + 1}));
        let (broker, crew) = (&broker, &crew);
        let by = worker(if n % 2 == 0 { "a" } else { "b" });
        async move { announce(broker, spec, &by, crew).await }
    });
    let ended = futures::future::join_all(race).await;
    let clashes = ended.iter().filter(|e| matches!(e, Err(AnnounceError::Clash { .. }))).count();
    assert!((1..10).contains(&clashes), "{ended:?}");
}

#[tokio::test(start_paused = true)]
async fn a_registry_follows_what_is_announced_and_refuses_what_is_broken() {
    let broker = broker();
    let crew = crew(&broker).await;
    announce(&broker, spec(&json!({})), &worker("a"), &crew).await.unwrap();
    let registry = Registry::open(&broker).await.unwrap();
    let (before, mut changed) = (registry.digest(), registry.watch());
    assert_eq!(registry.all().len(), 1);
    announce(&broker, spec(&json!({"name": "post"})), &worker("b"), &crew).await.unwrap();
    changed.changed().await.unwrap();
    assert_eq!(
        registry.all().iter().map(|t| t.spec.name.as_str()).collect::<Vec<_>>(),
        ["mail", "post"]
    );
    assert_ne!(registry.digest(), before);
    // Written without `announce`, as a program in another language may do.
    for (key, value) in [
        ("bad", json!({"name": "bad", "description": "x"})),
        (
            "alias",
            json!({"name": "mail", "description": "x", "schema": {}, "effect": "pure", "pool": "p", "by": "x"}),
        ),
    ] {
        let bytes = Bytes::from(value.to_string());
        broker.kv.put(Bucket::Tools, key, bytes).await.unwrap();
        changed.changed().await.unwrap();
    }
    let refused = registry.refused();
    assert_eq!(refused.len(), 2, "{refused:?}");
    // A text that the server can be made to write is no tool, and replaces a tool only until its
    // next announcement.
    for foreign in ["", "null", "[]", r#"{"stream":"cb-shard-0","seq":7}"#] {
        broker.kv.put(Bucket::Tools, "post", foreign.into()).await.unwrap();
        changed.changed().await.unwrap();
        assert_eq!((registry.all().len(), registry.refused().len()), (1, 3), "{foreign}");
        let by = worker("b");
        announce(&broker, spec(&json!({"name": "post"})), &by, &crew).await.unwrap();
        changed.changed().await.unwrap();
        assert_eq!((registry.all().len(), registry.refused().len()), (2, 2), "{foreign}");
    }
    assert!(refused[0].1.contains("its key is alias"), "{refused:?}");
    withdraw(&broker, &"post".parse().unwrap(), &worker("a")).await.unwrap();
    withdraw(&broker, &"post".parse().unwrap(), &worker("b")).await.unwrap();
    changed.changed().await.unwrap();
    assert_eq!(registry.digest(), before);
}
