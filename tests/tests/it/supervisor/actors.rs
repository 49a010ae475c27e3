//! Tests of jobs, faults and takeovers with the supervisor's actors on the in-memory broker.

use std::{sync::Arc, time::Duration};

use broker::{
    memory::{Call, Fault, Faults, MemoryOptions},
    testing::{
        jobs::{self, Jobs},
        wait::until,
    },
};
use proto::{
    agent::Agent,
    fact::{Fact, Signal, Signaled, Source, Submitted},
    id::{Seq, Shard},
    job::{JobState, SubStatus},
};
use runtime::telemetry::new_trace;

use super::company::Company;

const DIAMOND: &str = "s1 s2<s1 s3<s1 s4<s2,s3";

#[tokio::test(flavor = "multi_thread")]
async fn a_diamond_is_carried_out_in_twelve_records() {
    let company = Company::at_work(MemoryOptions::default(), DIAMOND).await;
    let job = company.submit("j").await;
    let ended = company.ended(&job).await;
    let view = ended.view().unwrap();
    assert_eq!((view.state, view.records, view.ignored), (JobState::Completed, 12, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_jobs_at_once_all_end_right() {
    let company = Company::at_work(MemoryOptions::default(), DIAMOND).await;
    let mut jobs = Vec::new();
    for n in 0..200 {
        jobs.push(company.submit(&format!("j{n}")).await);
    }
    for job in &jobs {
        let view = company.ended(job).await.view().unwrap();
        assert_eq!((view.state, view.records), (JobState::Completed, 12), "{job}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_that_come_twice_and_out_of_order_change_nothing() {
    let faults = Arc::new(Faults::default());
    let company = Company::at_work(
        MemoryOptions { faults: Arc::clone(&faults), ..MemoryOptions::default() },
        DIAMOND,
    )
    .await;
    faults.duplicate_deliveries(40);
    faults.reorder_deliveries(40);
    faults.lose_acks(20);
    let mut jobs = Vec::new();
    for n in 0..40 {
        jobs.push(company.submit(&format!("j{n}")).await);
    }
    for job in &jobs {
        assert_eq!(company.ended(job).await.view().unwrap().state, JobState::Completed, "{job}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_whose_outcome_is_unknown_or_denied_lead_to_one_decision_each() {
    for fault in [Fault::LostReply, Fault::LyingConflict, Fault::LostRequest, Fault::Unavailable] {
        let faults = Arc::new(Faults::default());
        let options = MemoryOptions { faults: Arc::clone(&faults), ..MemoryOptions::default() };
        let company = Company::at_work(options, DIAMOND).await;
        faults.inject(Call::Decide, &fault, 6);
        let job = company.submit("j").await;
        let view = company.ended(&job).await.view().unwrap();
        assert_eq!((view.state, view.records), (JobState::Completed, 12), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_supervisor_goes_on_where_the_first_left_off() {
    let mut company = Company::new(MemoryOptions::default());
    let first = company.hire_supervisor("s1").await;
    let job = company.submit("j").await;
    company.until(&job, |job| job.last_decision() > Seq(0)).await;
    company.dismiss(first);
    company.hire_supervisor("s2").await;
    company.hire_worker("w1", DIAMOND).await;
    let view = company.ended(&job).await.view().unwrap();
    assert_eq!((view.state, view.records), (JobState::Completed, 12));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_supervisors_share_the_shards_and_decide_each_thing_once() {
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    company.hire_supervisor("s2").await;
    company.hire_worker("w1", DIAMOND).await;
    company.hire_worker("w2", DIAMOND).await;
    let mut jobs = Vec::new();
    for n in 0..60 {
        jobs.push(company.submit(&format!("j{n}")).await);
    }
    for job in &jobs {
        let view = company.ended(job).await.view().unwrap();
        assert_eq!((view.state, view.records), (JobState::Completed, 12), "{job}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_job_parks_alone_with_its_place_named() {
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    let poisoned = company.submit("poisoned").await;
    company.until(&poisoned, |job| job.last_decision() > Seq(0)).await;
    let subjects = company.broker.log.subjects().clone();
    let subject = subjects.fact(&poisoned, &Source::Door);
    company
        .memory
        .store_raw(
            &subject,
            br#"{"v":1,"kind":"danced","id":"x","by":"w9","body":{}}"#.to_vec().into(),
        )
        .unwrap();
    company.hire_worker("w1", DIAMOND).await;
    let other = (0..)
        .map(|n| proto::id::JobId::new(format!("other{n}")).unwrap())
        .find(|job| subjects.shard_of(job) == subjects.shard_of(&poisoned))
        .unwrap();
    let other = company.submit(other.as_str()).await;
    assert_eq!(company.ended(&other).await.view().unwrap().state, JobState::Completed);
    let parked = company.until(&poisoned, |job| job.poison().is_some()).await;
    let view = parked.view().unwrap();
    assert_eq!(view.sub_status, Some(SubStatus::Poisoned));
    let seq = parked.poison().unwrap().seq;
    assert_eq!(view.reason, Some(format!("record {seq}: unknown kind \"danced\"")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_supervisor_that_takes_a_shard_over_arms_timers_that_are_gone() {
    let mut company = Company::new(MemoryOptions::default());
    let first = company.hire_supervisor("s1").await;
    let agent = Agent { deadline_ms: Some(3_600_000), ..Agent::default() };
    let submitted = Submitted { agent, ..jobs::submitted("g") };
    let job = Jobs { broker: company.broker.clone() }.submit("j", submitted).await;
    company.until(&job, |job| job.last_decision() > Seq(0)).await;
    let log = &company.broker.log;
    let armed = log.armed(&job).await.unwrap();
    let [deadline] = armed.iter().collect::<Vec<_>>()[..] else { panic!("{armed:?}") };
    company.dismiss(first);
    log.disarm(&job, deadline).await.unwrap();
    assert!(log.armed(&job).await.unwrap().is_empty());
    let log = Arc::clone(&company.broker.log);
    company.hire_supervisor("s2").await;
    until("the timer is armed again", async || log.armed(&job).await.unwrap() == armed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_a_job_that_nobody_works_on() {
    let mut company = Company::new(MemoryOptions::default());
    company.hire_supervisor("s1").await;
    let job = company.submit("j").await;
    let cancel = Signaled { signal: Signal::Cancel, reason: None, by: None, parent_seq: None };
    company.broker.log.append(&job, &Fact::Signaled(cancel), new_trace()).await.unwrap();
    let view = company.ended(&job).await.view().unwrap();
    assert_eq!(view.state, JobState::Canceled);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_rests_leaves_memory_and_every_shard_is_owned() {
    let company = Company::at_work(MemoryOptions::default(), "a").await;
    for shard in 0..4u16 {
        let job = (0..)
            .map(|n| format!("s{shard}n{n}"))
            .find(|id| {
                company.broker.log.subjects().shard_of(&proto::id::JobId::new(id).unwrap())
                    == Shard(shard)
            })
            .unwrap();
        let job = company.submit(&job).await;
        assert_eq!(company.ended(&job).await.view().unwrap().state, JobState::Completed);
        let folded = company.folded(&job).await;
        assert!(!folded.has_work_out(), "nothing keeps it in memory");
    }
}

/// The paused clock advances only while every task waits, so only waiting is measured.
#[tokio::test(start_paused = true)]
async fn five_steps_of_five_seconds_take_less_than_thirty() {
    for (steps, ideal) in [("s1 s2<s1 s3<s2 s4<s3 s5<s4", 25), ("s1 s2 s3 s4 s5", 5)] {
        let mut company = Company::new(MemoryOptions::default());
        company.hire_supervisor("s1").await;
        company.hire_slow_worker("w1", steps, Duration::from_secs(5)).await;
        let begun = tokio::time::Instant::now();
        let job = company.submit("j").await;
        let folded = company.ended(&job).await;
        assert_eq!(folded.view().unwrap().state, JobState::Completed);
        let took = begun.elapsed();
        assert!(took >= Duration::from_secs(ideal), "{took:?}");
        assert!(took < Duration::from_secs(ideal + 5), "{steps}: {took:?}, {ideal} s are ideal");
    }
}
