//! Tests that neither users' content nor secrets appear in telemetry and logs, and that only users'
//! content does where an operator has enabled it.

use super::{Receiver, Stage, caller, named, stage::PAGE, stretches};

const GOAL: &str = "goal-canary-2c94";
const ANSWER: &str = "answer-canary-88d0";
/// The model's key, known from the settings.
const KEY: &str = "key-canary-e07f";
/// A key in a user's text, recognisable by its form.
const LOOKS_SECRET: &str = "sk-canaryCanary0123456789";
/// An environment variable unrelated to Callboard.
const VARIABLE: &str = "variable-canary-41aa";

/// Returns all exported telemetry and all logs after a job with the canaries in its goal, an
/// answer, and the arguments and results of tools.
async fn seen(content: &str) -> (String, String) {
    let receiver = Receiver::grpc().await;
    let more = [
        ("CALLBOARD__TELEMETRY__CONTENT", content),
        ("CALLBOARD__MODEL__API_KEY__ENV", "MODEL_KEY"),
        ("MODEL_KEY", KEY),
        ("CALLBOARD__LOG__LEVEL", "info"),
        ("SOME_PASSWORD", VARIABLE),
    ];
    let stage = Stage::start(&receiver, &more).await;
    let job = stage.submit(&format!("{GOAL} {LOOKS_SECRET} {KEY}"), Some(caller())).await;
    // The answer becomes an argument of the worker in Python.
    stage.answer(ANSWER).await;
    stage.approve().await;
    stage.completed(&job).await;
    stretches(&receiver, 4).await;
    named(&receiver, "process call", 4).await;
    named(&receiver, "execute_tool http_get", 2).await;
    receiver.until("logs", |receiver| (receiver.logs() > 0).then_some(())).await;
    (receiver.text(), stage.logged())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_users_wrote_is_nowhere_when_the_switch_is_off() {
    let (sent, logged) = seen("false").await;
    assert!(sent.contains("execute_tool http_get") && logged.contains("announced"));
    for canary in [GOAL, ANSWER, PAGE, KEY, LOOKS_SECRET, VARIABLE] {
        assert!(!sent.contains(canary), "{canary} was sent");
        assert!(!logged.contains(canary), "{canary} was logged");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_users_wrote_is_in_spans_when_the_switch_is_on_and_secrets_are_not() {
    let (sent, logged) = seen("true").await;
    for canary in [GOAL, ANSWER, PAGE] {
        assert!(sent.contains(canary), "{canary} was not sent");
        assert!(!logged.contains(canary), "{canary} was logged");
    }
    for canary in [KEY, LOOKS_SECRET, VARIABLE] {
        assert!(!sent.contains(canary), "{canary} was sent");
        assert!(!logged.contains(canary), "{canary} was logged");
    }
    assert!(sent.contains("[redacted]"));
}
