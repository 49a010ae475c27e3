//! Tests of tokens: the admission of callers, and their recorded names.

use std::collections::BTreeMap;

use broker::memory::MemoryOptions;
use proto::{
    digest,
    door::Verb,
    error::Code,
    id::{JobId, Seq},
};
use runtime::{
    config::{Person, PersonName, Role},
    people::People,
};
use serde_json::{Value, json};

use super::hall::{Hall, Setup, ask};

pub(super) fn people() -> People {
    let person = |name: &str, roles: &[Role]| {
        let hash = digest::of_bytes(format!("{name}-token").as_bytes());
        let name = PersonName::try_from(name.to_owned()).unwrap();
        (name, Person { token_sha256: hash, roles: roles.to_vec() })
    };
    let people = BTreeMap::from([
        person("ann", &[Role::Submit, Role::Read]),
        person("bob", &[Role::Operate]),
    ]);
    People::new(&people, None)
}

async fn check(hall: &Hall, verb: &str, body: &str, token: Option<&str>, code: Option<Code>) {
    let answer = ask(&hall.broker, verb, body, token).await;
    let got = answer.as_ref().err().map(|failure| failure.code);
    assert_eq!(got, code, "{verb} as {token:?}: {answer:?}");
}

#[tokio::test]
async fn every_verb_needs_a_token_with_its_role() {
    let setup = Setup { people: people(), ..Setup::default() };
    let hall = Hall::with(MemoryOptions::default(), setup).await;
    let (ann, bob) = (Some("ann-token"), Some("bob-token"));
    let bodies = [
        ("submit", r#"{"id":"j","goal":"g"}"#),
        ("get", r#"{"job":"j"}"#),
        ("list", ""),
        ("watch", r#"{"job":"j"}"#),
        ("tools", ""),
        ("crew", ""),
        ("dead", ""),
        ("agents", ""),
        ("signal", r#"{"job":"j","signal":"pause"}"#),
        ("set_agent", r#"{"name":"mine","text":"{}"}"#),
        ("drop_agent", r#"{"name":"mine"}"#),
    ];
    let operates = ["signal", "set_agent", "drop_agent"];
    for (verb, body) in bodies {
        check(&hall, verb, body, None, Some(Code::Forbidden)).await;
        check(&hall, verb, body, Some("eve-token"), Some(Code::Forbidden)).await;
        // A caller without rights does not learn whether the request is well-formed or the job
        // exists.
        check(&hall, verb, "{", None, Some(Code::Forbidden)).await;
        let (may, may_not) = if operates.contains(&verb) { (bob, ann) } else { (ann, bob) };
        check(&hall, verb, body, may_not, Some(Code::Forbidden)).await;
        check(&hall, verb, body, may, None).await;
    }
}

#[tokio::test]
async fn a_caller_is_told_the_roles_and_verbs_of_the_token() {
    let setup = Setup { people: people(), ..Setup::default() };
    let hall = Hall::with(MemoryOptions::default(), setup).await;
    check(&hall, "about", "", None, Some(Code::Forbidden)).await;
    let bob = ask(&hall.broker, "about", "", Some("bob-token")).await.unwrap();
    let may = [
        "signal",
        "preview",
        "batch",
        "redeem",
        "about",
        "set_agent",
        "drop_agent",
        "set_workflow",
        "drop_workflow",
    ];
    let expected = json!({"by": "bob", "roles": ["operate"], "may": may, "shards": bob["shards"]});
    assert_eq!(bob, expected);
    let open = Hall::with(MemoryOptions::default(), Setup::default()).await;
    let anyone = ask(&open.broker, "about", "", None).await.unwrap();
    assert_eq!(anyone["may"].as_array().unwrap().len(), Verb::ALL.len());
    assert_eq!(anyone.get("by"), None);
}

#[tokio::test]
async fn who_asked_is_recorded_from_the_token_and_not_from_the_body() {
    let setup = Setup { people: people(), ..Setup::default() };
    let hall = Hall::with(MemoryOptions::default(), setup).await;
    let submit = r#"{"id":"j","goal":"g"}"#;
    check(&hall, "submit", submit, Some("ann-token"), None).await;
    let pause = r#"{"job":"j","signal":"pause","by":"eve"}"#;
    check(&hall, "signal", pause, Some("bob-token"), None).await;
    let entries = hall.broker.log.read(&JobId::new("j").unwrap(), Seq(0)).await.unwrap();
    let by = entries.iter().map(|entry| {
        let record = serde_json::to_value(entry.record.as_ref().unwrap()).unwrap();
        record["body"]["by"].as_str().map(str::to_owned)
    });
    assert_eq!(by.collect::<Vec<_>>(), [Some("ann".to_owned()), Some("bob".to_owned())]);
}

#[tokio::test]
async fn a_token_is_neither_answered_nor_shown() {
    let setup = Setup { people: people(), ..Setup::default() };
    let hall = Hall::with(MemoryOptions::default(), setup).await;
    let refusal = ask(&hall.broker, "list", "", Some("eve-token")).await.unwrap_err();
    assert!(!Value::to_string(&serde_json::to_value(&refusal).unwrap()).contains("eve-token"));
}
