//! Submissions of jobs and their listing.

use std::collections::BTreeSet;

use broker::log::Submission;
use proto::{
    fact::{Signal, Source},
    id::{Seq, Shard},
    subject::Family,
};

use super::{fixtures::Fixture, on_every_broker, race_on_every_broker, words::*};

on_every_broker![
    a_submission_is_the_first_record_of_its_job,
    the_same_job_is_submitted_once,
    a_job_that_went_on_cannot_be_submitted_again,
    submissions_are_listed_newest_first_and_in_pages,
    a_shard_lists_its_own_jobs_once_each,
];
race_on_every_broker![of_many_submitters_one_stores];

async fn a_submission_is_the_first_record_of_its_job(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("first");
    let seq = submit(&broker, &job).await;
    let entries = f.broker().await.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(seqs(&entries), [seq.0]);
    let entry = &entries[0];
    assert_eq!((&entry.job, &entry.family), (&job, &Family::In(Source::Door)));
    assert_eq!(fact(entry), submitted("a goal"));
    assert_eq!(entry.trace, Some(trace(1)));
    let record = entry.record.as_ref().unwrap();
    assert_eq!((record.v, record.kind.as_str()), (1, "submitted"));
    assert!(!record.id.is_empty() && !record.by.is_empty());
}

async fn the_same_job_is_submitted_once(f: &impl Fixture) {
    let job = job("twice");
    let seq = submit(&f.broker().await, &job).await;
    let again = f.broker().await.log.submit(&job, &submitted("other"), trace(2)).await.unwrap();
    let Submission::Exists(entry) = again else { panic!("{again:?}") };
    assert_eq!((entry.seq, fact(&entry)), (seq, submitted("a goal")));
}

async fn a_job_that_went_on_cannot_be_submitted_again(f: &impl Fixture) {
    let broker = f.broker().await;
    let job = job("went-on");
    let seq = submit(&broker, &job).await;
    broker.log.append(&job, &signaled(Signal::Pause), trace(2)).await.unwrap();
    append(&broker, &job, 0..3).await;
    command(&broker, &job, "p", 0..2).await;
    let again = broker.log.submit(&job, &submitted("a goal"), trace(3)).await.unwrap();
    let Submission::Exists(entry) = again else { panic!("{again:?}") };
    assert_eq!((entry.seq, fact(&entry)), (seq, submitted("a goal")));
    assert_eq!(broker.log.read(&job, Seq(0)).await.unwrap().len(), 7);
}

async fn of_many_submitters_one_stores(f: &impl Fixture) {
    for round in 0..20 {
        let job = job(&format!("raced-{round}"));
        let mut submitters = tokio::task::JoinSet::new();
        for n in 0..8 {
            let (broker, job) = (f.broker().await, job.clone());
            submitters.spawn(async move {
                let goal = submitted(&format!("goal {n}"));
                (n, broker.log.submit(&job, &goal, trace(n)).await.unwrap())
            });
        }
        let (mut winners, mut seen) = (Vec::new(), BTreeSet::new());
        for (n, submission) in submitters.join_all().await {
            match submission {
                Submission::Stored(seq) => winners.push((n, seq)),
                Submission::Exists(entry) => _ = seen.insert(entry.seq),
            }
        }
        let [(n, seq)] = winners[..] else { panic!("winners: {winners:?}") };
        assert_eq!(seen, BTreeSet::from([seq]));
        let entries = f.broker().await.log.read(&job, Seq(0)).await.unwrap();
        assert_eq!(seqs(&entries), [seq.0]);
        assert_eq!(fact(&entries[0]), submitted(&format!("goal {n}")));
    }
}

async fn submissions_are_listed_newest_first_and_in_pages(f: &impl Fixture) {
    let broker = f.broker().await;
    let shard = Shard(2);
    let mut newest_first = Vec::new();
    for n in 0..7 {
        let job = job_in(shard, &format!("page{n}"));
        newest_first.insert(0, submit(&broker, &job).await.0);
        append(&broker, &job, 0..2).await;
        broker.log.append(&job, &signaled(Signal::Cancel), trace(1)).await.unwrap();
    }
    let (mut before, mut got) = (None, Vec::new());
    loop {
        let page = broker.log.submissions(shard, before, 3).await.unwrap();
        assert!(page.len() <= 3);
        assert!(page.iter().all(|e| fact(e) == submitted("a goal")));
        let Some(last) = page.last() else { break };
        before = Some(last.seq);
        got.extend(seqs(&page));
    }
    assert_eq!(got, newest_first);
}

async fn a_shard_lists_its_own_jobs_once_each(f: &impl Fixture) {
    let broker = f.broker().await;
    let (here, there) = (job_in(Shard(0), "here"), job_in(Shard(1), "there"));
    submit(&broker, &here).await;
    submit(&broker, &there).await;
    for _ in 0..3 {
        broker.log.append(&here, &signaled(Signal::Pause), trace(1)).await.unwrap();
    }
    let listed = broker.log.submissions(Shard(0), None, 10).await.unwrap();
    assert_eq!(listed.iter().map(|e| e.job.clone()).collect::<Vec<_>>(), [here]);
    assert!(broker.log.submissions(Shard(3), None, 10).await.unwrap().is_empty());
}
