//! Tests that the log of supervisors contains users' content only at debug.

use std::sync::Arc;

use ::supervisor::actors::SupervisorOptions;
use async_trait::async_trait;
use broker::{
    bus::{Bus, BusError, Direct, Message, Request, RequestContext},
    memory::MemoryOptions,
    testing::Lines,
};
use bytes::Bytes;
use futures::stream::BoxStream;
use proto::{
    door::Verb,
    fact::{Fact, Signal, Signaled, Source},
    id::Seq,
    job::JobState,
};
use rstest::rstest;
use runtime::telemetry::new_trace;
use tracing::Level;

use super::company::Company;

/// A text that a user wrote.
const CANARY: &str = "canary-4711";

/// A bus that panics, quoting the job, at the stop hint for workers.
struct Breaking(Arc<dyn Bus>);

#[async_trait]
impl Bus for Breaking {
    async fn publish(&self, subject: String, payload: Bytes) -> Result<(), BusError> {
        assert!(!subject.starts_with("cb.stop."), "cannot stop {CANARY}");
        self.0.publish(subject, payload).await
    }
    async fn settle(&self) -> Result<(), BusError> {
        self.0.settle().await
    }
    async fn subscribe(&self, subject: String) -> Result<BoxStream<'static, Message>, BusError> {
        self.0.subscribe(subject).await
    }
    async fn request(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        timeout: std::time::Duration,
    ) -> Result<Message, BusError> {
        self.0.request(subject, payload, context, timeout).await
    }
    async fn request_many(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        idle: std::time::Duration,
    ) -> Result<BoxStream<'static, Result<Message, BusError>>, BusError> {
        self.0.request_many(subject, payload, context, idle).await
    }
    async fn listen(&self, subject: String) -> Result<BoxStream<'static, Direct>, BusError> {
        self.0.listen(subject).await
    }
    async fn serve(&self, verbs: Vec<Verb>) -> Result<BoxStream<'static, Request>, BusError> {
        self.0.serve(verbs).await
    }
}

#[rstest]
#[case::started_again(3, "a job's actor died")]
#[case::parked(1, "its actor panics repeatedly")]
#[tokio::test]
async fn what_a_panic_says_is_logged_at_debug_alone(
    #[case] panics_max: u32,
    #[case] said: &str,
    #[values(Level::INFO, Level::DEBUG)] level: Level,
) {
    let (lines, _guard) = Lines::of(level);
    let mut company = Company::new(MemoryOptions::default());
    let options = SupervisorOptions { panics_max, ..SupervisorOptions::default() };
    let broken = |bus| Arc::new(Breaking(bus)) as Arc<dyn Bus>;
    company.hire_supervisor_with("s1", options, broken).await;
    let job = company.submit("j").await;
    company.until(&job, |job| job.last_decision() > Seq(0)).await;
    let cancel = Signaled { signal: Signal::Cancel, reason: None, by: None, parent_seq: None };
    company.broker.log.append(&job, &Fact::Signaled(cancel), new_trace()).await.unwrap();
    let logged = lines.until(said).await;
    assert_eq!(logged.contains(CANARY), level == Level::DEBUG, "{logged}");
    assert_eq!(company.ended(&job).await.view().unwrap().state, JobState::Canceled);
}

#[tokio::test]
async fn the_place_of_a_record_that_cannot_be_read_is_logged_and_nothing_of_what_it_says() {
    let (lines, _guard) = Lines::of(Level::INFO);
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    let job = company.submit("j").await;
    company.until(&job, |job| job.last_decision() > Seq(0)).await;
    let subject = company.broker.log.subjects().fact(&job, &Source::People);
    let answer = format!(r#"{{"ask":"q1","decision":"{CANARY}","by":"ann"}}"#);
    let record = format!(r#"{{"v":1,"kind":"answered","id":"x","by":"w","body":{answer}}}"#);
    company.memory.store_raw(&subject, record.into_bytes().into()).unwrap();
    let logged = lines.until("the job is parked").await;
    assert!(logged.contains("does not fit at"), "{logged}");
    assert!(!logged.contains(CANARY), "{logged}");
    // A user with the right to see the job sees all of it.
    let parked = company.until(&job, |job| job.poison().is_some()).await;
    assert!(parked.view().unwrap().reason.unwrap().contains(CANARY));
}

#[tokio::test]
async fn every_decision_is_logged_at_debug_with_where_the_job_stands_then() {
    let (lines, _guard) = Lines::of(Level::DEBUG);
    let company = Company::at_work(MemoryOptions::default(), "s1 s2<s1").await;
    let job = company.submit("j").await;
    company.ended(&job).await;
    let logged = lines.until("decision=\"finish\"").await;
    let decided: Vec<&str> = logged.lines().filter(|line| line.contains("decided job=j")).collect();
    let said = [
        ("plan", "working", "planning"),
        ("call", "working", "executing"),
        ("call", "working", "executing"),
        ("finish", "completed", ""),
    ];
    assert_eq!(decided.len(), said.len(), "{decided:#?}");
    for (line, (decision, state, sub_status)) in decided.iter().zip(said) {
        for part in [format!("decision=\"{decision}\" state={state}"), sub_status.to_owned()] {
            assert!(line.contains(&part), "{part}: {line}");
        }
        assert!(!line.contains("goal"), "{line}");
    }
}

#[tokio::test]
async fn every_change_of_a_job_and_of_its_steps_is_logged_at_debug_without_what_they_are_about() {
    let (lines, _guard) = Lines::of(Level::DEBUG);
    let company = Company::at_work(MemoryOptions::default(), "s1 s2<s1").await;
    let job = company.submit("j").await;
    company.ended(&job).await;
    let logged = lines.until("from=working to=completed").await;
    for change in [
        "the job changed",
        "from=submitted to=working",
        "a step changed",
        "step=s1 to=",
        "step=s1 from=running to=completed",
        "step=s2 from=running to=completed",
    ] {
        assert!(logged.contains(change), "{change}: {logged}");
    }
    let changes = logged.lines().filter(|line| line.contains(" changed job=j"));
    changes.for_each(|line| assert!(!line.contains("goal"), "{line}"));
}
