//! The sweep over every open job of a shard. The first one, soon after the shard is taken up, continues
//! jobs that the owner before could not: it may have been of an older release. The later ones should
//! never find work, and log an error when they do: then a fact or a decision was lost.

use std::{sync::Arc, time::Duration};

use broker::log::LogError;
use futures::{StreamExt, stream};
use machine::{Job, replay};
use proto::id::{JobId, Seq};
use ractor::ActorRef;
use tokio_util::task::AbortOnDropHandle;

use super::{
    observe::{Census, swept},
    shard::{ShardArgs, ShardMsg},
};

/// Jobs between two pauses.
const PAGE: usize = 100;

/// Pause between pages: a sweep must not slow down jobs that move.
const PAUSE: Duration = Duration::from_millis(50);

/// Jobs that are read in parallel: most take one read, and one in the middle of a decision two seconds.
const LOOKS: usize = 16;

/// The wait before the jobs of a new shard are counted: first they are continued.
const COUNT_AFTER: Duration = Duration::from_secs(1);

/// Activates first the jobs whose facts were delivered to an owner before and not acknowledged; counts
/// and checks all open jobs, soon after and then at every interval.
pub(super) async fn run(args: ShardArgs, census: Arc<Census>, shard: ActorRef<ShardMsg>) {
    match args.broker.log.unsettled(args.shard).await {
        Ok(jobs) => jobs.into_iter().for_each(|job| {
            let _ = shard.cast(ShardMsg::Look(job));
        }),
        Err(error) => {
            tracing::warn!(shard = %args.shard, %error, "facts of the previous owner could not be listed; the sweep finds their jobs")
        }
    }
    tokio::time::sleep(COUNT_AFTER).await;
    let mut round = Round::TakenUp;
    loop {
        census.begin();
        match sweep(&args, &census, &shard, round).await {
            Ok(()) => {
                census.finish();
                round = Round::Later;
            }
            Err(error) => tracing::warn!(shard = %args.shard, %error, "a sweep failed"),
        }
        tokio::time::sleep(args.options.sweep_interval).await;
    }
}

/// The round of a sweep.
#[derive(Debug, Clone, Copy)]
enum Round {
    /// The first since the shard was taken up.
    TakenUp,
    /// Any later one.
    Later,
}

async fn sweep(
    args: &ShardArgs,
    census: &Census,
    shard: &ActorRef<ShardMsg>,
    round: Round,
) -> Result<(), LogError> {
    let log = &args.broker.log;
    let mut before = None;
    loop {
        let page = log.submissions(args.shard, before, PAGE).await?;
        let (Some(newest), Some(oldest)) = (page.first(), page.last()) else { return Ok(()) };
        let (newest, oldest) = (newest.seq, oldest.seq);
        // Before anything of it is read: what moves from now on may be read too late.
        census.turn(newest, oldest);
        let jobs: Vec<JobId> = page.into_iter().map(|entry| entry.job).collect();
        let ended = log.finished_among(&jobs).await?;
        let open = jobs.into_iter().filter(|job| !ended.contains(job));
        let looks = open.map(|job| look_at(args, census, shard, job, round));
        stream::iter(looks).for_each_concurrent(LOOKS, |look| look).await;
        before = Some(oldest);
        tokio::time::sleep(PAUSE).await;
    }
}

async fn look_at(
    args: &ShardArgs,
    census: &Census,
    shard: &ActorRef<ShardMsg>,
    job: JobId,
    round: Round,
) {
    // In a task of its own: a job that breaks the code that reads it must not end the sweep, because
    // the sweep activates such a job again. Nor must a job that cannot be read now.
    let look = tokio::spawn(wants_work(args.clone(), job.clone(), round));
    match AbortOnDropHandle::new(look).await {
        Ok(Ok(seen)) => {
            census.passed(&seen.folded);
            if seen.wants_work {
                let _ = shard.cast(ShardMsg::Look(job));
            }
        }
        Err(_) => {
            let _ = shard.cast(ShardMsg::Look(job));
        }
        Ok(Err(error)) => {
            tracing::warn!(%job, %error, "a sweep could not read a job");
        }
    }
}

/// A job as a sweep read it.
struct Seen {
    folded: Job,
    wants_work: bool,
}

/// Reads whether a decision is missing that no record on its way leads to. A job in the middle of a
/// decision looks the same, so the decision must still be missing a moment later.
async fn wants_work(args: ShardArgs, job: JobId, round: Round) -> Result<Seen, LogError> {
    let look = async || {
        let entries = args.broker.log.read(&job, Seq(0)).await?;
        Ok::<_, LogError>(replay(&job, &entries))
    };
    let missing = |folded: &Job| (folded.seq(), folded.decide().is_some());
    let mut folded = look().await?;
    let first = missing(&folded);
    if !first.1 {
        return Ok(Seen { folded, wants_work: false });
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    folded = look().await?;
    let wants_work = missing(&folded) == first;
    let (shard, seq) = (&args.shard, first.0);
    match round {
        Round::TakenUp if wants_work => {
            tracing::warn!(%job, %shard, %seq, "continuing a job that the previous owner left");
        }
        Round::Later if wants_work => {
            swept();
            tracing::error!(%job, %shard, %seq, "a sweep found a job without a pending activation");
        }
        Round::TakenUp | Round::Later => {}
    }
    Ok(Seen { folded, wants_work })
}
