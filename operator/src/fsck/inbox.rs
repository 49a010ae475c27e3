//! The check for inbox entries without an open question.

use std::collections::BTreeMap;

use broker::{
    Broker,
    kv::{self, Bucket, Change},
};
use futures::StreamExt;
use machine::dead_letters;
use proto::id::{AskId, JobId, Seq};

use super::{FsckError, Report, Scope, Wrong, finding::Finding};

/// Checks every entry of the inbox, and doubtful ones a second time.
pub(super) async fn look(
    broker: &Broker,
    scope: &Scope,
    report: &mut Report,
) -> Result<(), FsckError> {
    let mut doubts = Vec::new();
    let mut entries = broker.kv.watch(Bucket::Inbox).await?;
    while let Some(change) = entries.next().await {
        match change? {
            Change::Put(entry) => {
                if let Some((job, ask)) = kv::inbox_question(&entry.key)
                    && scope.has(broker, &job)
                    && !report.lost.contains(&broker.log.subjects().shard_of(&job))
                    && !is_asking(broker, &job, &ask).await?
                {
                    doubts.push((job, ask));
                }
            }
            Change::Deleted(_) | Change::Foreign(_) => {}
            Change::CaughtUp => break,
        }
    }
    drop(entries);
    if doubts.is_empty() {
        return Ok(());
    }
    tokio::time::sleep(scope.settle).await;
    let mut wrong: BTreeMap<JobId, Vec<Finding>> = BTreeMap::new();
    for (job, ask) in doubts {
        let is_there = broker.kv.get(Bucket::Inbox, &kv::inbox_key(&job, &ask)).await?.is_some();
        if is_there && !is_asking(broker, &job, &ask).await? {
            wrong.entry(job).or_default().push(Finding::StillInInbox { ask });
        }
    }
    for (job, mut findings) in wrong {
        match report.wrong.iter_mut().find(|one| one.job == job) {
            Some(one) => one.findings.append(&mut findings),
            None => {
                let shard = broker.log.subjects().shard_of(&job);
                report.wrong.push(Wrong { job, shard, findings });
            }
        }
    }
    Ok(())
}

/// Returns `true` if the question is open. Questions of a poisoned job count as open.
async fn is_asking(broker: &Broker, job: &JobId, ask: &AskId) -> Result<bool, FsckError> {
    let entries = broker.log.read(job, Seq(0)).await?;
    Ok(dead_letters::fold(job, &entries)
        .map_or(true, |job| job.poison().is_some() || job.is_asking(ask)))
}
