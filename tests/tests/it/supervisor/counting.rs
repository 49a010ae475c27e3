//! Tests of the counters of jobs under faults. Metrics are global, so each test needs a process of
//! its own, as `cargo nextest` gives it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use broker::{
    log::{CasOutcome, LogError},
    memory::{Call, Fault, Faults, MemoryOptions},
    testing::wait::{eventually, soon},
};
use proto::{
    decision::{Decision, Finish},
    fact::{Fact, Signal, Signaled, Source},
    id::{JobId, Seq, WorkerId},
    job::{JobState, Outcome},
    message::Usage,
};
use runtime::{
    config::Section as _,
    telemetry::{self, Identity, Sink, Telemetry, new_trace, settings},
};

use super::company::Company;

struct Metrics(Telemetry);

impl Metrics {
    fn start() -> Self {
        let worker = WorkerId::new("test").unwrap();
        let identity = Identity { worker, roles: Vec::new(), version: "0".into() };
        Self(
            telemetry::start(
                &settings::Telemetry::defaults(),
                &settings::Log::defaults(),
                Sink::StandardError,
                &identity,
            )
            .unwrap(),
        )
    }

    fn text(&self) -> String {
        self.0.prometheus().unwrap()
    }

    /// Returns the sum over all series with these attributes.
    fn sum(&self, name: &str, attributes: &[&str]) -> f64 {
        let text = self.text();
        let lines = text.lines().filter(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
                && attributes.iter().all(|attribute| line.contains(attribute))
        });
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }

    /// Waits until a condition on the metrics holds. The panic shows the metrics.
    async fn until(&self, what: impl Fn(&Self) -> bool) {
        eventually("a figure", async || if what(self) { Ok(()) } else { Err(self.text()) }).await;
    }

    /// Returns the number of activations.
    fn looks(&self) -> f64 {
        self.sum("callboard_decision_duration_seconds_count", &[])
    }
}

const UNREADABLE: [&str; 1] = [r#"callboard_dead_letter_reason="unreadable""#];

async fn signal(company: &Company, job: &JobId, signal: Signal) {
    let fact = Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None });
    company.broker.log.append(job, &fact, new_trace()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_looks_are_given_up_is_counted_once_all_the_same() {
    let metrics = Metrics::start();
    let faults = Arc::new(Faults::default());
    let options = MemoryOptions { faults: Arc::clone(&faults), ..MemoryOptions::default() };
    let company = Company::at_work(options, "a b<a").await;
    let broken = Fault::Fails(LogError::Unavailable("no leader".into()));
    faults.inject(Call::Decide, &broken, 2);
    let job = company.submit("j").await;
    assert_eq!(company.ended(&job).await.view().unwrap().state, JobState::Completed);
    metrics.until(|m| m.sum("callboard_jobs_ended_total", &[]) > 0.0).await;
    assert_eq!(faults.left(), 0, "no look was given up");
    for name in ["callboard_jobs_submitted_total", "callboard_jobs_ended_total"] {
        assert!((metrics.sum(name, &[]) - 1.0).abs() < 0.1, "{name}: {}", metrics.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_taken_back_and_ends_again_is_counted_once_for_each_end() {
    let metrics = Metrics::start();
    let company = Company::at_work(MemoryOptions::default(), "a b<a").await;
    let job = company.submit("j").await;
    let ended = company.ended(&job).await;
    metrics.until(|m| m.sum("callboard_jobs_ended_total", &[]) > 0.5).await;
    let back = Signal::RollBack { to: ended.first(), seen: ended.seq(), again: true };
    signal(&company, &job, back).await;
    company.until(&job, |job| job.has_ended() && job.generation() != ended.generation()).await;
    metrics.until(|m| m.sum("callboard_jobs_ended_total", &[]) > 1.5).await;
    let completed = [r#"callboard_job_state="completed""#];
    for (name, times) in [
        ("callboard_jobs_submitted_total", 1.0),
        ("callboard_jobs_ended_total", 2.0),
        ("callboard_job_duration_seconds_count", 2.0),
    ] {
        assert!((metrics.sum(name, &[]) - times).abs() < 0.1, "{name}: {}", metrics.text());
    }
    assert!(metrics.sum("callboard_jobs_ended_total", &completed) > 1.5, "{}", metrics.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_somebody_else_ended_is_not_counted_as_ended_here() {
    let metrics = Metrics::start();
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    let job = company.submit("j").await;
    let planning = company.until(&job, |job| job.last_decision() > Seq(0)).await;
    metrics.until(|m| m.looks() > 0.5).await;
    let (outcome, usage) = (Outcome::Canceled { reason: None }, Usage::default());
    let finish =
        Decision::Finish(Finish { outcome, usage, generation: proto::id::Generation::FIRST });
    let after = planning.last_decision();
    let stored = company.broker.log.decide(&job, &finish, after, None, new_trace()).await.unwrap();
    assert!(matches!(stored, CasOutcome::Stored(_)));
    // The supervisor would end the job too, and finds that it has ended.
    signal(&company, &job, Signal::Cancel).await;
    metrics.until(|m| m.looks() > 1.5).await;
    metrics.until(|m| m.sum("callboard_jobs_open", &[]) < 0.5).await;
    assert!(metrics.sum("callboard_jobs_ended_total", &[]) < 0.5, "{}", metrics.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_one_dead_letter_when_it_is_parked_however_that_is_found_out() {
    let metrics = Metrics::start();
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    let job = company.submit("j").await;
    let planning = company.until(&job, |job| job.last_decision() > Seq(0)).await;
    metrics.until(|m| m.looks() > 0.5).await;
    // A decision that cannot follow, found by the activation after it.
    let Some(Decision::Plan(plan)) = company.first_decision(&job).await else { panic!("no plan") };
    let after = planning.last_decision();
    let again = Decision::Plan(plan);
    company.broker.log.decide(&job, &again, after, None, new_trace()).await.unwrap();
    signal(&company, &job, Signal::Cancel).await;
    metrics.until(|m| m.looks() > 1.5).await;
    signal(&company, &job, Signal::Pause).await;
    metrics.until(|m| m.looks() > 2.5).await;
    let dead = metrics.sum("callboard_dead_letters_total", &UNREADABLE);
    assert!((dead - 1.0).abs() < 0.1, "{}", metrics.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn kinds_that_somebody_made_up_are_counted_as_one() {
    let metrics = Metrics::start();
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    let job = company.submit("j").await;
    let subject = company.broker.log.subjects().fact(&job, &Source::Crew);
    for n in 0..3 {
        let record = format!(r#"{{"v":1,"kind":"danced{n}","id":"x{n}","by":"w9","body":{{}}}}"#);
        company.memory.store_raw(&subject, record.into_bytes().into()).unwrap();
    }
    let other = [r#"callboard_record_kind="other""#];
    metrics.until(|m| m.sum("callboard_transitions_total", &other) > 2.5).await;
    assert!(!metrics.text().contains("danced"), "{}", metrics.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_reads_the_metrics_while_shards_are_taken_up_holds_nobody_up() {
    let metrics = Arc::new(Metrics::start());
    let mut company = Company::new(MemoryOptions::default());
    let over = Arc::new(AtomicBool::new(false));
    let (reads, stop) = (Arc::clone(&metrics), Arc::clone(&over));
    let reader = std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            reads.text();
        }
    });
    soon("a supervisor", company.hire_supervisor("s1")).await;
    let shown = ["callboard_questions_open", r#"callboard_shard="3""#];
    metrics.until(|m| shown.iter().all(|words| m.text().contains(words))).await;
    over.store(true, Ordering::Relaxed);
    reader.join().unwrap();
}
