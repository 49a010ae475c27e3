//! Tests of rollbacks and forks in families.

use broker::testing::jobs;
use proto::{
    error::Code,
    fact::{Called, Fact},
    family::{Offered, as_tools, child_id},
    id::{AgentName, Attempt, JobId, Seq, WorkId},
    lang::Language,
    tool::{Binding, Effect, ToolResult},
};
use serde_json::{Value, json};

use super::{
    hall::Hall,
    turning::{drive, tell},
};

fn planned(tool: &str, args: Value, binding: Binding) -> Fact {
    Fact::Planned(jobs::planned(vec![jobs::step("one", tool, args, binding)]))
}

/// Creates a job whose only step is a child, which has begun a `once` call. Returns the job, the
/// position of its plan, and the child.
pub(super) async fn sending_below(hall: &Hall) -> (JobId, Seq, JobId) {
    let job = JobId::new("j").unwrap();
    let agent = json!({"confirm": false, "agents": ["unattended"]});
    let body = json!({"id": "j", "goal": "send", "agent": agent}).to_string();
    hall.ask("submit", body).await.unwrap();
    drive(hall, &job).await;
    let name = AgentName::new("unattended").unwrap();
    let binding = as_tools(&[Offered { name, about: String::new() }], Language::En)[0].binding();
    let fact = planned("unattended", json!({"goal": "send"}), binding);
    tell(hall, &job, fact).await;
    let entries = hall.broker.log.read(&job, Seq(0)).await.unwrap();
    let is = |entry: &&proto::entry::Entry| entry.record.as_ref().unwrap().kind == "planned";
    let at = entries.iter().find(is).unwrap().seq;
    let child = child_id(&job, entries[0].seq, &WorkId::new("g0.r0.one").unwrap(), Attempt::FIRST);
    drive(hall, &child).await;
    tell(hall, &child, planned("send", json!({}), jobs::binding(Effect::Once))).await;
    tell(hall, &child, jobs::started("g0.r0.one", 1)).await;
    (job, at, child)
}

fn back(job: &JobId, to: Seq, again: bool) -> String {
    json!({"job": job, "signal": {"roll_back": {"to": to, "again": again}}}).to_string()
}

#[tokio::test]
async fn what_a_job_below_has_begun_and_must_not_run_twice_is_named_like_ones_own() {
    let hall = Hall::new().await;
    let (job, at, child) = sending_below(&hall).await;
    let refused = hall.ask("signal", back(&job, at, false)).await.unwrap_err();
    assert_eq!(refused.code, Code::WouldRepeat);
    assert!(refused.message.contains(&format!("send (g0.r0.one of {child})")), "{refused:?}");
    let fork = |again: bool| {
        json!({"id": "f", "fork": {"job": job, "at": at, "again": again}}).to_string()
    };
    let refused = hall.ask("submit", fork(false)).await.unwrap_err();
    assert_eq!((refused.code, refused.field.as_deref()), (Code::WouldRepeat, Some("fork.at")));
    hall.ask("submit", fork(true)).await.unwrap();
    hall.ask("signal", back(&job, at, true)).await.unwrap();
    assert_eq!(drive(&hall, &job).await.generation().0, 1);
}

#[tokio::test]
async fn a_job_that_worked_for_another_one_goes_back_no_more_once_that_one_has_heard_of_its_end() {
    let hall = Hall::new().await;
    let (job, _, child) = sending_below(&hall).await;
    let first = hall.broker.log.read(&child, Seq(0)).await.unwrap()[0].seq;
    let called = Called { result: ToolResult::ok(json!("sent")), ..jobs::called("g0.r0.one") };
    tell(&hall, &child, Fact::Called(called)).await;
    assert!(drive(&hall, &job).await.has_ended());
    let records = hall.broker.log.read(&child, Seq(0)).await.unwrap().len();
    let refused = hall.ask("signal", back(&child, first, true)).await.unwrap_err();
    assert_eq!(refused.code, Code::InvalidRequest);
    assert!(refused.message.contains("the result of this child job"), "{}", refused.message);
    assert_eq!(hall.broker.log.read(&child, Seq(0)).await.unwrap().len(), records);
    // A fork is allowed.
    let fork = json!({"id": "f", "fork": {"job": child, "at": first, "again": true}}).to_string();
    hall.ask("submit", fork).await.unwrap();
}
