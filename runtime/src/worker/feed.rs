//! The tasks that feed a pool with commands and stop hints. They end with the pool, and reopen a
//! stream that breaks.

use std::{sync::Arc, time::Duration};

use broker::{Broker, log::LogError};
use futures::StreamExt;
use ractor::ActorRef;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::{Gauge, PoolOptions, pool::PoolMsg};

/// Wait before a stream that broke is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// Sends the pool every command until `closing` is canceled. A permanent failure is sent too, and
/// ends the task.
pub(super) async fn commands(
    broker: Broker,
    options: PoolOptions,
    gauge: Gauge,
    slots: Arc<Semaphore>,
    pool: ActorRef<PoolMsg>,
    closing: CancellationToken,
) {
    let take = async {
        loop {
            let took = take_all(&broker, &options, &gauge, &slots, &pool).await;
            gauge.set_taking(false);
            match took {
                Ok(()) => tracing::debug!(pool = %options.pool, "the command queue closed"),
                Err(error) if error.is_transient() => {
                    tracing::warn!(pool = %options.pool, %error, "commands cannot be fetched; retrying");
                }
                Err(error) => {
                    let _ = pool.cast(PoolMsg::Broken(error));
                    return;
                }
            }
            tokio::time::sleep(REOPEN).await;
        }
    };
    // Dropping the stream returns the deliveries that the pool has not received.
    let _ = closing.run_until_cancelled(take).await;
    gauge.set_taking(false);
}

async fn take_all(
    broker: &Broker,
    options: &PoolOptions,
    gauge: &Gauge,
    slots: &Arc<Semaphore>,
    pool: &ActorRef<PoolMsg>,
) -> Result<(), LogError> {
    let mut stream = broker.log.commands(options.kind, &options.pool, Arc::clone(slots)).await?;
    gauge.set_taking(true);
    while let Some(delivery) = stream.next().await {
        match delivery {
            Ok(delivery) => {
                if pool.cast(PoolMsg::Taken(Box::new(delivery))).is_err() {
                    return Ok(());
                }
            }
            Err(error) if error.is_transient() => {
                tracing::warn!(pool = %options.pool, %error, "a command could not be fetched");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Sends the pool every stop hint. A lost hint costs only time, since every heartbeat reads the
/// log.
pub(super) async fn stops(broker: Broker, pool: ActorRef<PoolMsg>) {
    let subjects = broker.log.subjects().clone();
    loop {
        match broker.bus.subscribe(subjects.all_stops()).await {
            Ok(mut hints) => {
                while let Some(hint) = hints.next().await {
                    let Some(job) = subjects.stopped(&hint.subject) else { continue };
                    if pool.cast(PoolMsg::Stopped(job)).is_err() {
                        return;
                    }
                }
            }
            Err(error) => tracing::warn!(%error, "stop messages cannot be received; retrying"),
        }
        tokio::time::sleep(REOPEN).await;
    }
}
