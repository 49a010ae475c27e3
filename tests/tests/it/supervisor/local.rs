//! Tests of work without the queue in a process with all roles, on the in-memory broker.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use broker::{
    log::{CasOutcome, Composed, Log, LogError, Submission, Writer},
    memory::MemoryOptions,
};
use jiff::Timestamp;
use proto::{
    decision::{Decision, Done},
    fact::{Fact, Source},
    id::{JobId, Seq, TimerName},
    job::JobState,
    trace::TraceContext,
};

use super::company::Company;

const CHAIN: &str = "s1 s2<s1 s3<s2 s4<s3 s5<s4 s6<s5 s7<s6 s8<s7 s9<s8 s10<s9";

/// Longest time of local work in one activation, in milliseconds.
const LOCAL_MS_MAX: u64 = 50;

/// A log that stores no record of local work, like a broker whose permissions forbid them.
struct Forbids {
    log: Arc<dyn Log>,
    refused: Arc<AtomicUsize>,
}

#[async_trait]
impl Writer for Forbids {
    async fn submit(
        &self,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Submission, LogError> {
        self.log.submit(job, fact, trace).await
    }

    async fn append_from(
        &self,
        source: &Source,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Seq, LogError> {
        self.log.append_from(source, job, fact, trace).await
    }

    async fn append_after(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        self.log.append_after(job, fact, after, trace).await
    }

    async fn answer(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        self.log.answer(job, fact, after, trace).await
    }

    async fn decide(
        &self,
        job: &JobId,
        decision: &Decision,
        after: Seq,
        disarm: Option<&TimerName>,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        if matches!(decision, Decision::Done(_)) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Err(LogError::Forbidden("permissions violation".into()));
        }
        self.log.decide(job, decision, after, disarm, trace).await
    }

    async fn arm(
        &self,
        job: &JobId,
        timer: &TimerName,
        at: Timestamp,
        trace: TraceContext,
    ) -> Result<(), LogError> {
        self.log.arm(job, timer, at, trace).await
    }

    async fn disarm(&self, job: &JobId, timer: &TimerName) -> Result<(), LogError> {
        self.log.disarm(job, timer).await
    }
}

/// Returns what each decision of a job stored without the queue, and `None` for any other record.
async fn done(company: &Company, job: &JobId) -> Vec<Option<Done>> {
    let entries = company.broker.log.read(job, Seq(0)).await.unwrap();
    entries.iter().map(|entry| entry.decision().and_then(Decision::into_done)).collect()
}

/// Returns the number of records of local work, and of their units.
fn count(done: &[Option<Done>]) -> (usize, usize) {
    let records: Vec<&Done> = done.iter().flatten().collect();
    (records.len(), records.iter().map(|done| done.units().count()).sum())
}

/// Runs jobs until one has work without the queue: until then the process does not know all others.
async fn first_with_local_work(company: &Company) -> JobId {
    for n in 0..1_000 {
        let job = company.submit(&format!("j{n}")).await;
        assert_eq!(company.ended(&job).await.view().unwrap().state, JobState::Completed);
        if done(company, &job).await.iter().any(Option::is_some) {
            return job;
        }
    }
    panic!("no job had work without the queue");
}

#[tokio::test(flavor = "multi_thread")]
async fn quick_work_of_a_process_with_all_roles_has_one_record_for_commands_and_results() {
    let mut company = Company::new(MemoryOptions::default());
    company.hire_both("p1", CHAIN, Duration::ZERO, |log| log).await;
    let job = first_with_local_work(&company).await;
    let done = done(&company, &job).await;
    let (records, units) = count(&done);
    // On a busy machine some of the work is not quick, and its command goes through the queue.
    assert_eq!(done.len(), 2 + records + 2 * (11 - units), "ten steps and the plan");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_that_follows_from_quick_work_is_stored_in_the_same_record() {
    let mut company = Company::new(MemoryOptions::default());
    company.hire_both("p1", CHAIN, Duration::ZERO, |log| log).await;
    first_with_local_work(&company).await;
    for n in 0..1_000 {
        let job = company.submit(&format!("k{n}")).await;
        assert_eq!(company.ended(&job).await.view().unwrap().state, JobState::Completed);
        let done = done(&company, &job).await;
        let (records, units) = count(&done);
        assert_eq!(done.len(), 2 + records + 2 * (11 - units), "ten steps and the plan");
        if units > records {
            return;
        }
    }
    panic!("no record has several units");
}

#[tokio::test(start_paused = true)]
async fn local_work_of_an_activation_ends_after_its_time_and_the_rest_is_queued() {
    let mut company = Company::new(MemoryOptions::default());
    company.hire_both("p1", CHAIN, Duration::from_millis(10), |log| log).await;
    let job = first_with_local_work(&company).await;
    let done = done(&company, &job).await;
    let runs = done.split(Option::is_none);
    let took = runs.map(|run| run.iter().flatten().map(Done::took_ms).sum::<u64>());
    let most = took.max().unwrap();
    assert!((10..=LOCAL_MS_MAX).contains(&most), "{most} ms without another record");
    let queued = done.iter().filter(|done| done.is_none()).count();
    assert!(queued > 4, "ten calls of 10 ms take longer than an activation may");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_forbids_records_of_local_work_ends_it_and_jobs_go_on() {
    let mut company = Company::new(MemoryOptions::default());
    let refused = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refused);
    let forbids = |log: Arc<dyn Log>| {
        let writer = Forbids { log: Arc::clone(&log), refused: Arc::clone(&counted) };
        Arc::new(Composed { writer: Arc::new(writer), ..Composed::from(log) }) as Arc<dyn Log>
    };
    company.hire_both("p1", CHAIN, Duration::ZERO, forbids).await;
    let mut jobs_after = 0;
    for n in 0..1_000 {
        let job = company.submit(&format!("j{n}")).await;
        assert_eq!(company.ended(&job).await.view().unwrap().state, JobState::Completed);
        assert!(done(&company, &job).await.iter().all(Option::is_none));
        jobs_after += usize::from(refused.load(Ordering::SeqCst) > 0);
        if jobs_after > 5 {
            break;
        }
    }
    assert_eq!(refused.load(Ordering::SeqCst), 1, "nothing was tried again");
}
