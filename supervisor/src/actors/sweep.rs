//! The sweep over every open job of a shard. The first sweep, soon after the shard is taken over,
//! continues jobs that the previous owner could not continue, for example because it ran an older
//! release. Later sweeps should find no work. If they do, a fact or a decision was lost, and an
//! error is logged. Every sweep arms the timers again that are gone from the broker.

use std::{sync::Arc, time::Duration};

use broker::log::LogError;
use futures::{StreamExt, stream};
use machine::{Job, replay};
use proto::id::{JobId, Seq};
use ractor::ActorRef;
use runtime::telemetry::new_trace;
use tokio_util::task::AbortOnDropHandle;

use super::{
    observe::{Census, swept},
    shard::{ShardArgs, ShardMsg},
};

/// Jobs per page.
const PAGE: usize = 100;

/// Pause between pages, so that a sweep does not slow down active jobs.
const PAUSE: Duration = Duration::from_millis(50);

/// Jobs that are read concurrently. Most take one read; a job in the middle of a decision takes two
/// seconds.
const LOOKS: usize = 16;

/// Time between two reads of a doubtful job.
const LOOK_TWICE: Duration = Duration::from_secs(2);

/// Delay before the jobs of a new shard are counted, so that they can continue first.
const COUNT_AFTER: Duration = Duration::from_secs(1);

/// Activates the jobs with facts that were delivered to a previous owner and not acknowledged. Then
/// counts and checks all open jobs, and repeats that at every interval.
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
    /// The first round after the shard was taken over.
    TakenUp,
    /// A later round.
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
        // Called before the page is read, because a job that moves during the read may be read too
        // late.
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
    // The read runs in its own task, so that neither a panic of the fold nor a read error ends the
    // sweep. A job whose fold panicked is activated again.
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

/// The result of a sweep's read of a job.
struct SweptJob {
    folded: Job,
    wants_work: bool,
}

/// Arms the timers that the job waits for and that are gone, because every user with the right to
/// write to a stream can remove them. A timer that fires at this moment is gone too, so it must
/// still be missing when the job is read again.
async fn arm_lost(args: &ShardArgs, job: &JobId, folded: &Job) -> Result<(), LogError> {
    let log = &args.broker.log;
    let lost = async |folded: &Job| {
        let mut timers = folded.waits().timers;
        if !timers.is_empty() {
            let armed = log.armed(job).await?;
            timers.retain(|timer| !armed.contains(&timer.timer));
        }
        Ok::<_, LogError>(timers)
    };
    let first = lost(folded).await?;
    if first.is_empty() {
        return Ok(());
    }
    tokio::time::sleep(LOOK_TWICE).await;
    let entries = log.read(job, Seq(0)).await?;
    let trace = entries.iter().find_map(|entry| entry.trace).unwrap_or_else(new_trace);
    let still = lost(&replay(job, &entries)).await?;
    for arm in still.into_iter().filter(|arm| first.contains(arm)) {
        tracing::warn!(%job, timer = %arm.timer, at = %arm.at, "a timer of the job was gone; it is armed again");
        log.arm(job, &arm.timer, arm.at, trace).await?;
    }
    Ok(())
}

/// Reads a job and checks for a missing decision that no pending record will trigger. A job in the
/// middle of a decision looks the same, so the decision must still be missing two seconds later.
/// The timers of a job that lacks no decision are armed again if they are gone.
async fn wants_work(args: ShardArgs, job: JobId, round: Round) -> Result<SweptJob, LogError> {
    let look = async || {
        let entries = args.broker.log.read(&job, Seq(0)).await?;
        Ok::<_, LogError>(replay(&job, &entries))
    };
    let missing = |folded: &Job| (folded.seq(), folded.decide().is_some());
    let mut folded = look().await?;
    let first = missing(&folded);
    if !first.1 {
        if let Err(error) = arm_lost(&args, &job, &folded).await {
            tracing::warn!(%job, %error, "the timers of a job could not be checked");
        }
        return Ok(SweptJob { folded, wants_work: false });
    }
    tokio::time::sleep(LOOK_TWICE).await;
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
    Ok(SweptJob { folded, wants_work })
}
