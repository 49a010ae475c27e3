//! Comparison of an installation with its configuration, in every field of every stream and
//! consumer, for `callboard doctor`. It changes and creates nothing.

use proto::{id::Pool, subject::Subjects};
use serde_json::{Value, json};

use super::{
    NatsOptions,
    connect::{ConnectError, open},
    kv,
    link::{AskError, Link},
    objects, setup,
};
use crate::kv::Bucket;

/// A stream or consumer of an installation, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asset {
    /// A stream.
    Stream(String),
    /// A consumer.
    Consumer {
        /// Name of the consumer.
        name: String,
        /// Name of its stream.
        stream: String,
    },
}

/// A difference, or a failed comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Drift {
    /// A field has an unexpected value.
    Field {
        /// The stream or consumer.
        what: Asset,
        /// Name of the field in the server's configuration.
        field: String,
        /// The server's value, as JSON.
        found: String,
        /// The required value, as JSON.
        wanted: String,
    },
    /// A stream that holds jobs or large values is missing.
    Missing {
        /// The stream.
        what: Asset,
    },
    /// The stream of a bucket is missing. No job is lost.
    LostBucket {
        /// The stream.
        what: Asset,
        /// The bucket.
        bucket: Bucket,
    },
    /// A consumer is missing. Perhaps no worker has needed it yet.
    Unmade {
        /// The consumer.
        what: Asset,
    },
    /// The server refused to describe a stream or consumer.
    Unseen {
        /// The stream or consumer.
        what: Asset,
        /// The server's reason.
        why: String,
    },
}

/// Compares every required stream and consumer, including consumers of `tool_pools`.
///
/// # Errors
/// If the server is unreachable, or the connection is lost meanwhile.
pub async fn drift(
    options: &NatsOptions,
    subjects: &Subjects,
    tool_pools: &[Pool],
) -> Result<Vec<Drift>, ConnectError> {
    let link = open(options, "doctor").await?;
    let mut all = Vec::new();
    for (wanted, bucket) in streams(subjects, options) {
        let name = wanted["name"].as_str().unwrap_or_default();
        let gone = |what| match bucket {
            Some(bucket) => Drift::LostBucket { what, bucket },
            None => Drift::Missing { what },
        };
        let verb = format!("STREAM.INFO.{name}");
        all.extend(one(&link, Asset::Stream(name.to_owned()), &verb, &wanted, gone).await?);
    }
    for (stream, wanted) in consumers(subjects, options, tool_pools) {
        let name = wanted["name"].as_str().unwrap_or_default();
        let gone = |what| Drift::Unmade { what };
        let verb = format!("CONSUMER.INFO.{stream}.{name}");
        let what = Asset::Consumer { name: name.to_owned(), stream };
        all.extend(one(&link, what, &verb, &wanted, gone).await?);
    }
    link.close().await;
    Ok(all)
}

/// Returns the required configuration of every stream, with the bucket that it holds.
fn streams(subjects: &Subjects, options: &NatsOptions) -> Vec<(Value, Option<Bucket>)> {
    let shards = subjects.all_shards().map(|shard| setup::shard_stream(subjects, shard, options));
    let objects = [objects::stream_of_all(subjects, options)];
    let buckets = Bucket::ALL.iter();
    let buckets =
        buckets.map(|bucket| (kv::bucket_stream(subjects, *bucket, options), Some(*bucket)));
    shards.chain(objects).map(|stream| (stream, None)).chain(buckets).collect()
}

fn consumers(
    subjects: &Subjects,
    options: &NatsOptions,
    tool_pools: &[Pool],
) -> Vec<(String, Value)> {
    let queues = setup::queues(tool_pools);
    let of_shard = |shard| {
        let facts = setup::facts_consumer(subjects, shard, options);
        let commands = queues.iter().map(move |(kind, pool)| {
            setup::commands_consumer(subjects, shard, *kind, pool, options)
        });
        let stream = subjects.stream(shard);
        std::iter::once(facts).chain(commands).map(move |wanted| (stream.clone(), wanted))
    };
    subjects.all_shards().flat_map(of_shard).collect()
}

async fn one(
    link: &Link,
    what: Asset,
    verb: &str,
    wanted: &Value,
    gone: impl FnOnce(Asset) -> Drift,
) -> Result<Vec<Drift>, ConnectError> {
    let found = match link.ask::<Value>(verb, &json!({})).await {
        Ok(found) => found,
        Err(AskError::Refused(refusal)) if refusal.is_missing() => return Ok(vec![gone(what)]),
        Err(error @ (AskError::Denied(_) | AskError::Refused(_))) => {
            return Ok(vec![Drift::Unseen { what, why: error.to_string() }]);
        }
        Err(error) => return Err(error.into()),
    };
    let differences = setup::differences(wanted, &found["config"]);
    let drift = |(field, found, wanted): (&str, Value, &Value)| Drift::Field {
        what: what.clone(),
        field: field.to_owned(),
        found: found.to_string(),
        wanted: wanted.to_string(),
    };
    Ok(differences.map(drift).collect())
}
