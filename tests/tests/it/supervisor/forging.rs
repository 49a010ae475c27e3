//! Tests of a worker that writes results without a command.

use broker::{memory::MemoryOptions, testing::jobs};
use machine::{Job, check::check};
use proto::{
    decision::{Decision, pools},
    fact::Fact,
    id::{JobId, Seq},
    job::Outcome,
    record::Known,
    subject::Family,
    tool::{Binding, Effect},
};
use rstest::rstest;
use runtime::{registry::Registry, telemetry::new_trace};
use serde_json::json;

use super::company::Company;

fn claimed() -> Binding {
    jobs::binding(Effect::Idempotent)
}

/// Returns the answer to the first plan command: one tool call.
fn planned(tool: &str, binding: Binding) -> Fact {
    Fact::Planned(jobs::planned(vec![jobs::step("a", tool, json!({}), binding)]))
}

/// Returns the calls in a job's log: the pool of each, and the reason of its refusal.
async fn calls(company: &Company, job: &JobId) -> Vec<(String, Option<String>)> {
    let entries = company.broker.log.read(job, Seq(0)).await.unwrap();
    let calls = entries.iter().filter_map(|entry| {
        let Family::Do(_, pool) = &entry.family else { return None };
        let Ok(Known::Decision(decision)) = entry.record.as_ref().unwrap().known() else {
            return None;
        };
        let Decision::Call(call) = *decision else { return None };
        Some((pool.to_string(), call.refused.map(|error| error.message)))
    });
    calls.collect()
}

/// Returns an installation without workers in which `post` is a `once` tool that needs an approval.
async fn company() -> Company {
    let company = Company::new(MemoryOptions::default());
    let announced = company.announce("post", |tool| {
        tool["effect"] = json!("once");
        tool["approval"] = json!("always");
    });
    announced.await;
    company
}

/// Answers in place of the planner.
async fn forge(company: &Company, job: &JobId, fact: &Fact) {
    company.until(job, |job| job.last_decision() > Seq(0)).await;
    company.broker.log.append(job, fact, new_trace()).await.unwrap();
}

#[rstest]
#[case::no_approval(Binding { effect: Effect::Once, ..claimed() },
    "post: its approval is always in the registry, and nobody approved the call; the call was not sent")]
#[case::an_effect_that_may_be_repeated(
    claimed(),
    "post: its effect is once in the registry, and the call has idempotent; the call was not sent"
)]
#[case::another_pool(Binding { pool: "python".parse().unwrap(), ..claimed() },
    "post: its pool is builtin in the registry, and the call has python; the call was not sent")]
#[case::another_version(Binding { effect: Effect::Once, version: "0".into(), ..claimed() },
    "post: its version is 1 in the registry, and the call has 0; the call was not sent")]
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_the_registry_contradicts_reaches_no_worker(
    #[case] claim: Binding,
    #[case] why: &str,
) {
    let mut company = company().await;
    company.hire_supervisor("s1").await;
    let job = company.submit("j").await;
    forge(&company, &job, &planned("post", claim)).await;
    let ended = company.until(&job, Job::has_ended).await;
    let refused = (pools::NOBODY.to_owned(), Some(why.to_owned()));
    assert_eq!(calls(&company, &job).await, [refused]);
    let Some(Outcome::Failed { message, .. }) = ended.outcome() else { panic!("{ended:?}") };
    assert_eq!(message, &format!("step a failed: {why}"));
    let entries = company.broker.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(check(&job, &entries).findings, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_the_supervisor_has_not_heard_of_yet_is_read_from_the_registry() {
    let mut company = company().await;
    let elsewhere = Company::new(MemoryOptions::default());
    let behind = Registry::open(&elsewhere.broker).await.unwrap();
    company.hire_supervisor_that_knows(behind, "s1").await;
    let job = company.submit("j").await;
    forge(&company, &job, &planned("echo", claimed())).await;
    company.until(&job, |job| job.view().is_some_and(|view| view.records > 3)).await;
    assert_eq!(calls(&company, &job).await, [(pools::builtin().to_string(), None)]);
}
