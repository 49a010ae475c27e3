//! The progress of a shard's consumers, and its armed timers.

use std::collections::BTreeSet;

use futures::stream::BoxStream;
use proto::{
    id::{JobId, Seq, Shard, TimerName},
    subject::Family,
};

use super::{load, log::NatsLog, read};
use crate::log::{Armed, LogError, Progress, Queue};

/// Number of timers in one page of the server.
const PAGE: usize = 500;

/// Reads the progress of each consumer, from its leader.
pub(super) async fn of_shard(log: &NatsLog, shard: Shard) -> Result<Vec<Progress>, LogError> {
    let stream = log.subjects.stream(shard);
    let facts = log.subjects.facts_consumer();
    let all = load::consumers(log, &stream).await?.into_iter().filter_map(|consumer| {
        let queue = if consumer.name == facts {
            Queue::Facts
        } else {
            let (kind, pool) = load::queue_of(&consumer.name)?;
            Queue::Commands(kind, pool)
        };
        Some(Progress {
            queue,
            done: Seq(consumer.info.ack_floor.stream_seq),
            delivered: Seq(consumer.info.delivered.stream_seq),
            unacknowledged: consumer.info.num_ack_pending,
            pending: consumer.info.num_pending,
        })
    });
    Ok(all.collect())
}

/// Reads the armed timers of one job.
pub(super) async fn armed(log: &NatsLog, job: &JobId) -> Result<BTreeSet<TimerName>, LogError> {
    let stream = log.subjects.stream(log.subjects.shard_of(job));
    let filter = log.subjects.timers_of(job);
    let found = read::all(&log.link, &stream, &filter, Seq(0), log.options.replicas).await?;
    let name = |subject: &str| match log.subjects.parse(subject).ok()?.family {
        Family::At(timer) => Some(timer),
        Family::In(_) | Family::Do(..) | Family::UnknownIn(_) | Family::UnknownDo(_) => None,
    };
    Ok(found.iter().filter_map(|message| name(&message.subject)).collect())
}

/// Streams the armed timers of a shard, page by page.
pub(super) fn timers(log: &NatsLog, shard: Shard) -> BoxStream<'static, Result<Armed, LogError>> {
    let log = log.clone();
    Box::pin(async_stream::try_stream! {
        let (stream, filter) = (log.subjects.stream(shard), log.subjects.timers_in(shard));
        let mut after = Seq(0);
        loop {
            let page = read::page(&log.link, &stream, &filter, after, PAGE).await?;
            let Some(last) = page.messages.last() else { return };
            after = last.seq;
            for message in &page.messages {
                let Ok(place) = log.subjects.parse(&message.subject) else { continue };
                if let Family::At(timer) = place.family {
                    yield Armed { job: place.job, timer };
                }
            }
            if !page.more {
                return;
            }
        }
    })
}
