//! Tests of a `once` call, and of the records of its log from which it would run again: by
//! rollback, restart and fork.

use broker::testing::jobs::{self, Jobs};
use proto::{
    error::Code,
    fact::{Called, Fact, Fired},
    id::{Attempt, JobId, Seq, TimerName},
    tool::{Effect, Fault, ToolResult},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    hall::Hall,
    turning::{drive, tell},
};

fn called(work: &str, attempt: u32, fault: Option<Fault>) -> Fact {
    let result = match fault {
        None => ToolResult::ok(json!("paid")),
        Some(_) => ToolResult::failed("nothing was done"),
    };
    let attempt = Attempt(attempt);
    Fact::Called(Called { attempt, result, fault, ..jobs::called(work) })
}

/// Creates a job whose step `pays` needed a second attempt, because its service was away during the
/// first. Step `after` was sent between the two attempts.
async fn paid_at_last(hall: &Hall) -> JobId {
    let job = JobId::new("j").unwrap();
    hall.ask("submit", r#"{"id":"j","goal":"pay","agent":"unattended"}"#).await.unwrap();
    drive(hall, &job).await;
    let step = |step, effect| jobs::step(step, "pay", json!({}), jobs::binding(effect));
    let steps = vec![
        step("pays", Effect::Once),
        step("before", Effect::Pure),
        step("after<before", Effect::Pure),
    ];
    for fact in [
        Fact::Planned(jobs::planned(steps)),
        jobs::started("g0.r0.pays", 1),
        called("g0.r0.pays", 1, Some(Fault::Unavailable)),
        called("g0.r0.before", 1, None),
        Fact::Fired(Fired { timer: TimerName::new("retry-1").unwrap() }),
        jobs::started("g0.r0.pays", 2),
        called("g0.r0.pays", 2, None),
    ] {
        tell(hall, &job, fact).await;
    }
    job
}

/// Returns the position of the `n`th record of a kind.
async fn nth(hall: &Hall, job: &JobId, kind: &str, n: usize) -> Seq {
    Jobs { broker: hall.broker.clone() }.positions(job, kind).await[n]
}

async fn go_on(hall: &Hall, way: &str, at: Seq) -> Result<Value, proto::error::Failure> {
    match way {
        "roll-back" => {
            let body = json!({"job": "j", "signal": {"roll_back": {"to": at}}});
            hall.ask("signal", body.to_string()).await
        }
        _ => {
            let body = json!({"id": "f", "fork": {"job": "j", "at": at}});
            hall.ask("submit", body.to_string()).await
        }
    }
}

/// The failure of the first attempt says nothing about the effect of the second.
#[rstest]
#[case::its_plan("planned", 0, true)]
#[case::its_command("call", 0, true)]
#[case::its_start("started", 0, true)]
#[case::its_first_failure("called", 0, true)]
#[case::its_wait("wait", 0, true)]
#[case::its_timer("fired", 0, true)]
#[case::its_second_command("call", 3, true)]
#[case::its_second_start("started", 1, true)]
#[case::its_result("called", 2, false)]
#[tokio::test]
async fn a_call_with_two_attempts_is_held_back_from_everywhere_before_its_result(
    #[values("roll-back", "fork")] way: &str,
    #[case] kind: &str,
    #[case] n: usize,
    #[case] held: bool,
) {
    let hall = Hall::new().await;
    let job = Box::pin(paid_at_last(&hall)).await;
    let at = nth(&hall, &job, kind, n).await;
    match go_on(&hall, way, at).await {
        Ok(_) => assert!(!held, "it runs a second time"),
        Err(refused) => {
            assert!(held, "{refused}");
            assert_eq!(refused.code, Code::WouldRepeat);
            assert!(refused.message.contains("pay (g0.r0.pays)"), "{}", refused.message);
        }
    }
}

/// The target of a restart is the position before the first command of the step, whatever other
/// steps were doing.
#[rstest]
#[case::the_call_itself("pays")]
#[case::a_step_that_was_sent_between_its_attempts("after")]
#[tokio::test]
async fn a_step_is_not_restarted_where_another_call_would_run_twice(#[case] step: &str) {
    let hall = Hall::new().await;
    Box::pin(paid_at_last(&hall)).await;
    let restart = |again: bool| {
        json!({"job": "j", "signal": {"restart": {"step": step, "again": again}}}).to_string()
    };
    let refused = hall.ask("signal", restart(false)).await.unwrap_err();
    assert_eq!(refused.code, Code::WouldRepeat);
    assert!(refused.message.contains("pay (g0.r0.pays)"), "{}", refused.message);
    hall.ask("signal", restart(true)).await.unwrap();
}
