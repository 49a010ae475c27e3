//! The slow look at every open job of a shard. It should never find work, and says so loudly when
//! it does: then something above it lost a fact or a decision.

use std::time::Duration;

use proto::id::{JobId, Seq};
use ractor::ActorRef;
use tokio_util::task::AbortOnDropHandle;

use super::shard::{ShardArgs, ShardMsg};
use crate::replay;

/// Jobs looked at before the next pause.
const PAGE: usize = 100;

/// Pause between pages: a sweep must not be felt by jobs that move.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks first at jobs whose facts were handed out to an owner before and not acknowledged, then,
/// every so often, at all open jobs.
pub(super) async fn run(args: ShardArgs, shard: ActorRef<ShardMsg>) {
    match args.broker.log.unsettled(args.shard).await {
        Ok(jobs) => jobs.into_iter().for_each(|job| {
            let _ = shard.cast(ShardMsg::Look(job));
        }),
        Err(error) => {
            tracing::warn!(shard = %args.shard, %error, "facts of the owner before come later")
        }
    }
    loop {
        tokio::time::sleep(args.options.sweep_interval).await;
        if let Err(error) = sweep(&args, &shard).await {
            tracing::warn!(shard = %args.shard, %error, "a sweep was given up");
        }
    }
}

async fn sweep(args: &ShardArgs, shard: &ActorRef<ShardMsg>) -> Result<(), runtime::log::LogError> {
    let mut before = None;
    loop {
        let page = args.broker.log.submissions(args.shard, before, PAGE).await?;
        let Some(oldest) = page.last().map(|entry| entry.seq) else { return Ok(()) };
        for entry in &page {
            // In a task of its own: a job that breaks the code that reads it must not end the sweep,
            // which is what looks at such a job again. Nor must one that cannot be read now.
            let look = tokio::spawn(wants_work(args.clone(), entry.job.clone()));
            match AbortOnDropHandle::new(look).await {
                Ok(Ok(false)) => {}
                Ok(Ok(true)) | Err(_) => {
                    let _ = shard.cast(ShardMsg::Look(entry.job.clone()));
                }
                Ok(Err(error)) => {
                    tracing::warn!(job = %entry.job, %error, "a sweep could not read a job");
                }
            }
        }
        before = Some(oldest);
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether a decision is missing that no record on its way will bring about. A job in the middle of
/// a decision looks the same, so what is missing must still be missing a moment later.
async fn wants_work(args: ShardArgs, job: JobId) -> Result<bool, runtime::log::LogError> {
    let look = async || {
        let entries = args.broker.log.read(&job, Seq(0)).await?;
        let folded = replay::replay(&job, &entries);
        Ok::<_, runtime::log::LogError>((folded.seq(), folded.decide().is_some()))
    };
    let first = look().await?;
    if !first.1 {
        return Ok(false);
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    let missing = look().await? == first;
    if missing {
        tracing::error!(%job, shard = %args.shard, seq = %first.0, "a sweep found a job that nobody was going to look at");
    }
    Ok(missing)
}
