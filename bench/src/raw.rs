//! The limit of JetStream alone on the same servers, which bounds every system that stores its
//! records there. Without our code: no headers, no compare-and-set, no decisions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use async_nats::jetstream::{
    self, Context,
    consumer::{
        DeliverPolicy,
        pull::{self, OrderedConfig},
    },
    stream::{Config, StorageType},
};
use bytes::Bytes;
use futures::StreamExt;
use serde::Serialize;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    Failed,
    broker::Keeping,
    company::{Company, SHARDS},
    figures::{Spread, ms, per_second, percentile},
    options::Options,
};

/// The number of publishes in flight.
const IN_FLIGHT: usize = 1024;
/// The length of a round of pipelined publishing.
const ROUND: Duration = Duration::from_secs(2);
/// The number of messages that are sent one at a time.
const ALONE: usize = 500;
/// The approximate overhead of a stored message beside its subject and payload, in bytes.
const OVERHEAD: u64 = 30;

/// The figures of JetStream alone.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Raw {
    /// Stored and acknowledged messages per second, with many in flight.
    pub(crate) publishes_per_s: Spread,
    /// The same when a consumer also receives and acknowledges each message, as for nearly every
    /// record of a job.
    pub(crate) handed_out_per_s: Spread,
    /// Time from sending one message to its acknowledgement, in milliseconds.
    pub(crate) publish_ms: Spread,
    /// Time from one stored message to the next, when the receiver of a message publishes the next
    /// one at once, in milliseconds. It is the minimum of a transition.
    pub(crate) relay_ms: Spread,
    /// The size of a stored message in bytes, equal to the average of our records.
    pub(crate) bytes: u64,
    /// The number of streams.
    pub(crate) streams: u16,
}

/// Measures on the servers of a finished measurement, whose other processes have ended.
pub(crate) async fn measure(
    company: &Company,
    keeping: Keeping,
    options: &Options,
) -> Result<Raw, Failed> {
    let client = async_nats::connect(company.servers.urls()).await?;
    let jetstream = jetstream::new(client);
    let bytes = record_bytes(company, &jetstream).await?;
    for n in 0..SHARDS {
        let config = Config {
            name: format!("raw-{n}"),
            subjects: vec![format!("raw.{n}.>")],
            storage: StorageType::File,
            num_replicas: usize::from(keeping.replicas()),
            ..Config::default()
        };
        jetstream.create_stream(config).await?;
    }
    let subject = format!("raw.0.{}.in.crew", client::new_id());
    let payload = bytes.saturating_sub(OVERHEAD + subject.len() as u64);
    let payload = Bytes::from(vec![b'x'; usize::try_from(payload)?]);
    // The first messages of a stream open its files.
    alone(&jetstream, &payload).await?;
    let mut publish = Vec::new();
    let mut relays = Vec::new();
    for _ in 0..options.rounds {
        publish.push(alone(&jetstream, &payload).await?);
        relays.push(relay(&jetstream, &payload).await?);
    }
    let pipelined = pipelined(&jetstream, &payload, options.rounds).await?;
    let handed_out = handed_out(&jetstream, &payload, options.rounds).await?;
    for n in 0..SHARDS {
        jetstream.delete_stream(format!("raw-{n}")).await?;
    }
    Ok(Raw {
        publishes_per_s: pipelined,
        handed_out_per_s: handed_out,
        publish_ms: Spread::of(publish),
        relay_ms: Spread::of(relays),
        bytes,
        streams: SHARDS,
    })
}

/// Returns the average size of a record in the streams.
async fn record_bytes(company: &Company, jetstream: &Context) -> Result<u64, Failed> {
    let subjects = company.broker.log.subjects();
    let (mut messages, mut bytes) = (0, 0);
    for shard in subjects.all_shards() {
        let mut stream = jetstream.get_stream(subjects.stream(shard)).await?;
        let state = &stream.info().await?.state;
        messages += state.messages;
        bytes += state.bytes;
    }
    Ok(bytes.checked_div(messages).unwrap_or(512))
}

/// Returns the median time of a publish, one at a time.
async fn alone(jetstream: &Context, payload: &Bytes) -> Result<f64, Failed> {
    let mut took = Vec::with_capacity(ALONE);
    for n in 0..ALONE {
        let subject = subject(n, &client::new_id());
        let began = Instant::now();
        jetstream.publish(subject, payload.clone()).await?.await?;
        took.push(ms(began.elapsed()));
    }
    Ok(percentile(&mut took, 0.5))
}

/// Returns the median time between two messages, each published by the receiver of the one before.
async fn relay(jetstream: &Context, payload: &Bytes) -> Result<f64, Failed> {
    let job = client::new_id();
    let stream = jetstream.get_stream("raw-0").await?;
    let config = OrderedConfig {
        filter_subject: format!("raw.0.{job}.>"),
        deliver_policy: DeliverPolicy::New,
        ..OrderedConfig::default()
    };
    let mut messages = stream.create_consumer(config).await?.messages().await?;
    let subject = format!("raw.0.{job}.in.crew");
    jetstream.publish(subject.clone(), payload.clone()).await?.await?;
    let (mut gaps, mut before) = (Vec::with_capacity(ALONE), None);
    while let Some(message) = messages.next().await {
        let stored = SystemTime::from(message?.info()?.published);
        if let Some(before) = before.replace(stored) {
            gaps.push(ms(stored.duration_since(before).unwrap_or_default()));
        }
        if gaps.len() == ALONE {
            break;
        }
        // The acknowledgement is not awaited: the next message proves that this one is stored.
        drop(jetstream.publish(subject.clone(), payload.clone()).await?);
    }
    Ok(percentile(&mut gaps, 0.5))
}

/// Returns the messages per second with many in flight, over all streams.
async fn pipelined(jetstream: &Context, payload: &Bytes, rounds: usize) -> Result<Spread, Failed> {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let mut publishers: JoinSet<Result<(), Failed>> = JoinSet::new();
    for n in 0..IN_FLIGHT {
        let (jetstream, payload) = (jetstream.clone(), payload.clone());
        let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
        publishers.spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                // Each subject tree gets as many records as a job has.
                let job = client::new_id();
                for _ in 0..crate::workload::RECORDS {
                    jetstream.publish(subject(n, &job), payload.clone()).await?.await?;
                    count.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        });
    }
    let rates = rates(&count, rounds).await;
    stop.store(true, Ordering::Relaxed);
    while let Some(ended) = publishers.join_next().await {
        ended??;
    }
    Ok(rates)
}

/// Returns the rates at which a counter grows.
async fn rates(count: &AtomicU64, rounds: usize) -> Spread {
    tokio::time::sleep(ROUND / 2).await;
    let mut rates = Vec::new();
    for _ in 0..rounds {
        let (before, began) = (count.load(Ordering::Relaxed), Instant::now());
        tokio::time::sleep(ROUND).await;
        rates.push(per_second(count.load(Ordering::Relaxed) - before, began.elapsed()));
    }
    Spread::of(rates)
}

/// Returns the messages per second that are published, delivered to a consumer and acknowledged,
/// over all streams. The number in flight is that of [`pipelined`].
async fn handed_out(jetstream: &Context, payload: &Bytes, rounds: usize) -> Result<Spread, Failed> {
    let (count, free) = (Arc::new(AtomicU64::new(0)), Arc::new(Semaphore::new(IN_FLIGHT)));
    // Both kinds of tasks end when the set is dropped.
    let mut tasks: JoinSet<Result<(), Failed>> = JoinSet::new();
    for n in 0..SHARDS {
        let config = pull::Config {
            deliver_policy: DeliverPolicy::New,
            max_ack_pending: 20_000,
            ..pull::Config::default()
        };
        let stream = jetstream.get_stream(format!("raw-{n}")).await?;
        let mut messages = stream.create_consumer(config).await?.messages().await?;
        let (count, free) = (Arc::clone(&count), Arc::clone(&free));
        tasks.spawn(async move {
            while let Some(message) = messages.next().await {
                message?.ack().await?;
                count.fetch_add(1, Ordering::Relaxed);
                free.add_permits(1);
            }
            Ok(())
        });
    }
    for n in 0..IN_FLIGHT {
        let (jetstream, payload) = (jetstream.clone(), payload.clone());
        let free = Arc::clone(&free);
        tasks.spawn(async move {
            loop {
                let job = client::new_id();
                for _ in 0..crate::workload::RECORDS {
                    free.acquire().await?.forget();
                    jetstream.publish(subject(n, &job), payload.clone()).await?.await?;
                }
            }
        });
    }
    tokio::select! {
        rates = rates(&count, rounds) => Ok(rates),
        Some(ended) = tasks.join_next() => {
            ended??;
            Err("nothing more is handed out".into())
        }
    }
}

fn subject(n: usize, job: &proto::id::JobId) -> String {
    format!("raw.{}.{job}.in.crew", n % usize::from(SHARDS))
}
