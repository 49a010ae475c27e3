//! Calls in the log, carried out by the worker loop, with crashes and redeliveries in between.

use broker::memory::{Call, Fault as BrokerFault, Memory, MemoryOptions};
use proto::{
    cost::Cost,
    id::Attempt,
    message::Usage,
    tool::{Effect, Fault, ToolResult},
};
use rstest::rstest;
use serde_json::json;

use crate::support::{Crew, Probe, Stage, memory, subjects, worker};

#[rstest]
#[tokio::test]
async fn a_call_is_answered(
    #[values(Effect::Pure, Effect::Idempotent, Effect::Once)] effect: Effect,
) {
    let probe = Probe::new(effect);
    let broker = memory().connect(worker("w"));
    let crew = Crew::start(&broker, "w", probe.set()).await;
    let mut stage = Stage::new(broker, "job").await;
    let called = stage.ask(&probe.call("g0.s1", "go")).await;
    assert_eq!((called.result, called.fault), (ToolResult::ok(json!("done")), None));
    assert_eq!(probe.runs(), ["job/g0.s1"]);
    crew.drain().await;
}

/// The fact contains the tool's recorded cost, whether or not the call completed.
#[rstest]
#[case("pay", None)]
#[case("pay and panic", Some(Fault::Internal))]
#[tokio::test]
async fn what_a_call_cost_is_reported_with_its_result(
    #[case] what: &str,
    #[case] fault: Option<Fault>,
) {
    let probe = Probe::new(Effect::Pure);
    let broker = memory().connect(worker("w"));
    let _crew = Crew::start(&broker, "w", probe.set()).await;
    let mut stage = Stage::new(broker, "job").await;
    let called = stage.ask(&probe.call("g0.s1", what)).await;
    let usage = Usage::reported(5, 7);
    assert_eq!((called.fault, called.cost), (fault, Cost { usage, money: Some(0.25) }));
    let free = stage.ask(&probe.call("g0.s2", "go")).await;
    assert!(free.cost.is_nothing());
}

#[tokio::test]
async fn a_refused_call_is_answered_and_the_tool_never_asked() {
    let probe = Probe::new(Effect::Once);
    let broker = memory().connect(worker("w"));
    let _crew = Crew::start(&broker, "w", probe.set()).await;
    let mut stage = Stage::new(broker, "job").await;
    let mut call = probe.call("g0.s1", "go");
    call.args = json!({"do": 5});
    let called = stage.ask(&call).await;
    assert_eq!(called.fault, Some(Fault::InvalidArguments));
    assert!(called.result.error.unwrap().starts_with("do:"));
    assert!(probe.runs().is_empty());
}

#[tokio::test]
async fn a_tool_that_panics_harms_no_other_call() {
    let probe = Probe::new(Effect::Pure);
    let broker = memory().connect(worker("w"));
    let _crew = Crew::start(&broker, "w", probe.set()).await;
    let mut stage = Stage::new(broker, "job").await;
    assert_eq!(stage.ask(&probe.call("g0.s1", "panic")).await.fault, Some(Fault::Internal));
    assert!(stage.ask(&probe.call("g0.s2", "go")).await.result.success);
}

#[tokio::test]
async fn a_large_result_comes_back_whole() {
    let probe = Probe::new(Effect::Pure);
    let broker = memory().connect(worker("w"));
    let _crew = Crew::start(&broker, "w", probe.set()).await;
    let mut stage = Stage::new(broker, "job").await;
    let called = stage.ask(&probe.call("g0.s1", "large")).await;
    assert_eq!(called.result.data.unwrap().as_str().unwrap().len(), 200 * 1024);
}

/// A worker has the call and is presumed dead, so another worker receives it too.
#[rstest]
#[case::pure(Effect::Pure, 2, None)]
#[case::idempotent(Effect::Idempotent, 2, None)]
#[case::once(Effect::Once, 1, Some(Fault::Unknown))]
#[tokio::test]
async fn a_call_that_is_handed_out_twice_runs_twice_only_if_it_may(
    #[case] effect: Effect,
    #[case] runs: usize,
    #[case] second: Option<Fault>,
) {
    let memory = memory();
    let probe = Probe::new(effect);
    let broker = memory.connect(worker("w1"));
    let _slow = Crew::start(&broker, "w1", probe.set()).await;
    let mut stage = Stage::new(broker, "job").await;
    stage.decide(&probe.call("g0.s1", "wait")).await;
    probe.running().await;
    let _other = Crew::start(&memory.connect(worker("w2")), "w2", probe.set()).await;
    memory.redeliver_now();
    if runs == 2 {
        probe.running().await;
        probe.may_end.notify_one();
    }
    // The second worker answers while the first one still runs.
    assert_eq!(stage.called(1).await[0].fault, second);
    probe.may_end.notify_one();
    let called = stage.called(2).await;
    assert!(called.iter().any(|called| called.result.success));
    // Each run has the same idempotency key.
    assert_eq!(probe.runs(), vec!["job/g0.s1"; runs]);
}

#[tokio::test]
async fn a_once_tool_whose_worker_died_in_the_middle_is_unknown() {
    let memory = memory();
    let probe = Probe::new(Effect::Once);
    let broker = memory.connect(worker("w1"));
    let doomed = Crew::start(&broker, "w1", probe.set()).await;
    let mut stage = Stage::new(broker, "job").await;
    stage.decide(&probe.call("g0.s1", "wait")).await;
    probe.running().await;
    doomed.kill();
    // Even under the same name: a restarted process remembers nothing.
    let _next = Crew::start(&memory.connect(worker("w1")), "w1", probe.set()).await;
    memory.redeliver_now();
    let called = stage.called(1).await;
    assert_eq!(called[0].fault, Some(Fault::Unknown));
    assert!(called[0].result.error.as_ref().unwrap().contains("is unknown"));
    assert_eq!(probe.runs().len(), 1);
}

#[tokio::test]
async fn only_the_attempt_that_was_begun_is_unknown() {
    let probe = Probe::new(Effect::Once);
    let broker = memory().connect(worker("w"));
    let mut stage = Stage::new(broker.clone(), "job").await;
    let first = probe.call("g0.s1", "go");
    stage.decide(&first).await;
    stage.start(&first).await;
    let _crew = Crew::start(&broker, "w", probe.set()).await;
    assert_eq!(stage.called(1).await[0].fault, Some(Fault::Unknown));
    // A person decided to retry: that is another attempt.
    let mut again = first.clone();
    again.attempt = Attempt::FIRST.next();
    assert!(stage.ask(&again).await.result.success);
    assert!(stage.ask(&probe.call("g0.s2", "go")).await.result.success);
    assert_eq!(probe.runs(), ["job/g0.s1", "job/g0.s2"]);
}

#[rstest]
#[case::the_reply_was_lost(BrokerFault::LostReply)]
#[case::the_request_was_lost(BrokerFault::LostRequest)]
#[case::the_broker_was_away(BrokerFault::Unavailable)]
#[tokio::test(start_paused = true)]
async fn a_claim_with_an_uncertain_outcome_runs_at_most_once(#[case] fault: BrokerFault) {
    let options = MemoryOptions::default();
    let faults = std::sync::Arc::clone(&options.faults);
    let memory = Memory::new(subjects(), options);
    let probe = Probe::new(Effect::Once);
    let broker = memory.connect(worker("w"));
    let _crew = Crew::start(&broker, "w", probe.set()).await;
    let mut stage = Stage::new(broker, "job").await;
    faults.inject(Call::Append, &fault, 1);
    let called = stage.ask(&probe.call("g0.s1", "go")).await;
    let unknown = called.fault == Some(Fault::Unknown);
    assert!(called.result.success != unknown, "{called:?}");
    assert_eq!(probe.runs().len(), usize::from(!unknown));
}

#[tokio::test]
async fn a_drained_pool_finishes_what_it_has() {
    let probe = Probe::new(Effect::Once);
    let broker = memory().connect(worker("w"));
    let crew = Crew::start(&broker, "w", probe.set()).await;
    let mut stage = Stage::new(broker, "job").await;
    stage.decide(&probe.call("g0.s1", "wait")).await;
    probe.running().await;
    let draining = tokio::spawn(crew.drain());
    probe.may_end.notify_one();
    draining.await.unwrap();
    assert!(stage.results().await[0].result.success);
}
