//! The removal of workspaces that no job uses any more, at the start of a worker and at intervals.
//!
//! `callboard jobs purge` removes logs from anywhere; workspaces are on the disks of tool workers. A
//! worker therefore compares the directories with the submissions in the logs. It must never remove
//! a workspace because a log cannot be read, or because its job is one of another installation: every
//! doubt ends the removal until the next time.

use std::{collections::BTreeSet, time::Duration};

use broker::{
    Broker,
    kv::{Bucket, Kv, KvError, Versioned},
    log::{LogError, Reader},
};
use proto::{
    entry::Entry,
    fact::Submitted,
    id::{JobId, Seq, Shard},
};
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    start::stop_after,
    workspace::{FileError, Owner, Period, PutAway, Workspaces},
};

/// Key of the installation's name, in the bucket that tool workers may write.
const INSTALLATION: &str = "installation";
/// Interval between two searches.
const EVERY: Duration = Duration::from_secs(6 * 3600);
/// Submissions per page.
const PAGE: usize = 200;

/// The reason for which no workspace was removed, or not all of the unused ones.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnusedError {
    /// The logs cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The name of the installation cannot be read or stored.
    #[error(transparent)]
    Kv(#[from] KvError),
    /// The directory belongs to several installations.
    #[error("another installation uses the directory of the workspaces, too")]
    Shared,
    /// The directories cannot be read or changed.
    #[error(transparent)]
    File(#[from] FileError),
    /// A job's submission cannot be read, so its workspace is not known.
    #[error("the first record of job {0} cannot be read, and tells its workspace")]
    Unreadable(JobId),
    /// The work on the file system was cut off.
    #[error("the work on the directories broke")]
    Broke,
}

/// Removes the workspaces that no submission in the logs uses and whose directory has not changed
/// for a time, but has since this installation claimed the directory of all workspaces. Returns the
/// number of removed ones.
///
/// # Errors
/// If a submission, a log or a directory cannot be read or changed.
pub(crate) async fn remove_unused(
    log: &dyn Reader,
    kv: &dyn Kv,
    workspaces: &Workspaces,
    unchanged: Duration,
) -> Result<usize, UnusedError> {
    let (all, name) = (workspaces.clone(), installation(kv).await?);
    let unused = blocking(move || {
        let Some(since) = all.claim(&name)? else { return Ok(None) };
        Ok(Some((all.unchanged(Period { since, unchanged })?, all.left_behind()?)))
    });
    let (mut unused, left) = unused.await?.ok_or(UnusedError::Shared)?;
    unused.extend(left.iter().map(|one| one.owner.clone()));
    let mut seen = Vec::new();
    for shard in log.subjects().all_shards() {
        if unused.is_empty() {
            break;
        }
        let Used { newest, owners } = used(log, shard, Seq(0), &unused).await?;
        unused.retain(|owner| !owners.contains(owner));
        seen.push((shard, newest));
    }
    let (all, known) = (workspaces.clone(), unused.clone());
    let (mut away, stopped) = blocking(move || Ok(put_away(&all, unused))).await?;
    away.extend(left);
    // A job that was submitted meanwhile may use a workspace that nobody used before.
    let owners: BTreeSet<Owner> = away.iter().map(|one| one.owner.clone()).collect();
    let again = used_since(log, &seen, &owners).await;
    let mut stays = again.as_ref().map_or_else(|_| owners.clone(), Clone::clone);
    stays.extend(owners.into_iter().filter(|owner| !known.contains(owner)));
    let removed = blocking(move || Ok(finish(away, &stays))).await?;
    again?;
    stopped.map_or(Ok(()), Err)?;
    Ok(removed?)
}

/// Claims the directory for this installation.
async fn claim(kv: &dyn Kv, workspaces: &Workspaces) -> Result<(), UnusedError> {
    let (all, name) = (workspaces.clone(), installation(kv).await?);
    blocking(move || all.claim(&name)).await.map(|_| ())
}

/// Returns the name of the installation, which the first worker to ask chooses.
async fn installation(kv: &dyn Kv) -> Result<String, KvError> {
    let found = async || kv.get(Bucket::Tasks, INSTALLATION).await;
    let text = |found: Versioned| String::from_utf8_lossy(&found.value).into_owned();
    if let Some(found) = found().await? {
        return Ok(text(found));
    }
    let name = format!("{:032x}", fastrand::u128(..));
    match kv.update(Bucket::Tasks, INSTALLATION, name.clone().into(), 0).await {
        Ok(_) => Ok(name),
        Err(conflict @ KvError::Conflict(_)) => found().await?.map(text).ok_or(conflict),
        Err(error) => Err(error),
    }
}

/// Puts workspaces away, up to the first that cannot be moved.
fn put_away(workspaces: &Workspaces, unused: BTreeSet<Owner>) -> (Vec<PutAway>, Option<FileError>) {
    let mut away = Vec::new();
    for owner in unused {
        match workspaces.put_away(owner) {
            Ok(one) => away.extend(one),
            Err(error) => return (away, Some(error)),
        }
    }
    (away, None)
}

/// Removes what was put away, and puts back what stays. An error of one directory leaves the others
/// as they should be.
fn finish(away: Vec<PutAway>, stays: &BTreeSet<Owner>) -> Result<usize, FileError> {
    let (mut removed, mut failed) = (0, None);
    for one in away {
        let done = if stays.contains(&one.owner) {
            one.put_back()
        } else {
            one.remove().map(|()| removed += 1)
        };
        failed = failed.or(done.err());
    }
    failed.map_or(Ok(removed), Err)
}

/// The submissions of a shard after a position.
struct Used {
    /// Position of the newest one.
    newest: Seq,
    /// The owners, among those in question, whose workspaces they use.
    owners: BTreeSet<Owner>,
}

async fn used(
    log: &dyn Reader,
    shard: Shard,
    after: Seq,
    among: &BTreeSet<Owner>,
) -> Result<Used, UnusedError> {
    let (mut before, mut used) = (None, Used { newest: after, owners: BTreeSet::new() });
    loop {
        let page = log.submissions(shard, before, PAGE).await?;
        let Some(oldest) = page.last() else { return Ok(used) };
        before = Some(oldest.seq);
        for first in &page {
            if first.seq <= after {
                return Ok(used);
            }
            used.newest = used.newest.max(first.seq);
            let Some(submitted) = first.submission() else {
                return Err(UnusedError::Unreadable(first.job.clone()));
            };
            let owners = owners(first, submitted).into_iter();
            used.owners.extend(owners.filter(|owner| among.contains(owner)));
        }
    }
}

/// Returns the owners, among those in question, that submissions after these positions use.
async fn used_since(
    log: &dyn Reader,
    seen: &[(Shard, Seq)],
    among: &BTreeSet<Owner>,
) -> Result<BTreeSet<Owner>, UnusedError> {
    let mut owners = BTreeSet::new();
    for (shard, newest) in seen {
        owners.extend(used(log, *shard, *newest, among).await?.owners);
    }
    // Pages of submissions may come from a replica that lags behind; a job's first record may not.
    for owner in among {
        if let Owner::Job(job) = owner
            && log.first(job).await?.is_some()
        {
            owners.insert(owner.clone());
        }
    }
    Ok(owners)
}

/// Returns every owner of which a job may use the workspace. A fork uses that of the job from which
/// it was forked, even if that job was purged.
fn owners(first: &Entry, submitted: Submitted) -> Vec<Owner> {
    let jobs = [
        Some(first.job.clone()),
        submitted.parent.map(|parent| parent.root),
        submitted.forked.map(|forked| forked.job),
    ];
    let conversation = submitted.conversation.map(|told| Owner::Conversation(told.id));
    jobs.into_iter().flatten().map(Owner::Job).chain(conversation).collect()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, FileError> + Send + 'static,
) -> Result<T, UnusedError> {
    let joined = tokio::task::spawn_blocking(work).await;
    Ok(joined.map_err(|_| UnusedError::Broke)??)
}

/// The actor that removes unused workspaces.
pub(crate) struct Cleaner;

#[derive(Clone)]
pub(crate) struct Cleaning {
    pub(crate) broker: Broker,
    pub(crate) workspaces: Workspaces,
    /// Time without changes after which a workspace without jobs is removed; `None` keeps all of
    /// them, and still claims the directory, so that no other installation removes them.
    pub(crate) unchanged: Option<Duration>,
    pub(crate) shutdown: CancellationToken,
}

pub(crate) struct Clean;

impl Cleaning {
    async fn clean(&self) {
        let Broker { log, kv, .. } = &self.broker;
        let search = async {
            match self.unchanged {
                Some(unchanged) => remove_unused(&**log, &**kv, &self.workspaces, unchanged).await,
                None => claim(&**kv, &self.workspaces).await.map(|()| 0),
            }
        };
        let Some(searched) = self.shutdown.run_until_cancelled(search).await else { return };
        match searched {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "workspaces without jobs were removed"),
            Err(error) => {
                tracing::warn!(%error, "workspaces without jobs were not removed; the next search is in 6 h");
            }
        }
    }
}

impl Actor for Cleaner {
    type Msg = Clean;
    type State = (Cleaning, AbortOnDropHandle<()>);
    type Arguments = Cleaning;

    async fn pre_start(
        &self,
        myself: ActorRef<Clean>,
        args: Cleaning,
    ) -> Result<Self::State, ActorProcessingErr> {
        let _ = myself.cast(Clean);
        myself.send_interval(EVERY, || Clean);
        let stop = stop_after(args.shutdown.clone(), myself);
        Ok((args, stop))
    }

    async fn handle(
        &self,
        _: ActorRef<Clean>,
        Clean: Clean,
        (args, _): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        args.clean().await;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
