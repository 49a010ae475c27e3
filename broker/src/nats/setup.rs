//! Creation and comparison of streams and consumers: existing ones are never changed.
//!
//! A difference is an error with the name, the field, the value found and the value required. The
//! server's *answer* is compared even after a creation: old servers silently drop settings that
//! they do not know.

use std::time::Duration;

use proto::{
    decision::{DecisionKind, pools},
    id::{HookName, Pool, Shard},
    lang::{Language, Words},
    subject::Subjects,
};
use serde_json::{Value, json};

use super::words::{Text, drift};
use super::{
    NatsOptions,
    link::{AskError, Link},
    publish,
};
use crate::{kv::Bucket, log::LogError};

/// Priority group of the consumers of facts.
pub(super) const GROUP: &str = "s";

/// The treatment of a missing stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    /// Fails: as far as is known, the installation never existed.
    Leave,
    /// Fails: the stream existed.
    Refuse(Loss),
}

/// The loss that a missing stream means, and the user's next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    Jobs,
    LargeValues,
    Bucket(Bucket),
}

/// Returns the treatment of a missing stream before the installation exists.
pub(super) fn may_make(options: &NatsOptions) -> Missing {
    if options.create { Missing::Make } else { Missing::Leave }
}

impl Loss {
    fn error(self, stream: &str) -> LogError {
        let lost = |loss: &dyn Fn(Language) -> String| {
            let words = |language| {
                Text::StreamLost { stream: &stream, loss: &loss(language) }.text(language)
            };
            LogError::Drift(Words::new(words))
        };
        match self {
            Self::Jobs => publish::lost(stream),
            Self::LargeValues => lost(&|language| Text::LargeValues.text(language)),
            Self::Bucket(bucket) => {
                lost(&|language| Text::BucketLost { loss: &bucket.loss(language) }.text(language))
            }
        }
    }
}

/// The required configuration of a shard's stream.
pub(super) fn shard_stream(subjects: &Subjects, shard: Shard, options: &NatsOptions) -> Value {
    let mut stream = plain_stream(&subjects.stream(shard), &subjects.stored_in(shard), options);
    // Not `discard: new`: servers from 2.14.2 on refuse it together with schedules. Nothing is
    // discarded either way, as the stream has no limit of its own.
    stream["allow_msg_schedules"] = json!(true);
    stream
}

/// Configuration of a stream that keeps every message until it is purged.
pub(super) fn plain_stream(name: &str, subjects: &[String], options: &NatsOptions) -> Value {
    json!({
        "name": name,
        "subjects": subjects,
        "storage": "file",
        "retention": "limits",
        "discard": "old",
        "max_age": 0,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_msgs_per_subject": -1,
        "max_msg_size": -1,
        "max_consumers": -1,
        "num_replicas": options.replicas,
        "duplicate_window": nanos(Duration::from_secs(120)),
        "allow_direct": true,
        "allow_rollup_hdrs": true,
        "allow_msg_ttl": true,
        "deny_delete": false,
        "deny_purge": false,
        "sealed": false,
        "no_ack": false,
    })
}

/// Largest number of unacknowledged facts of one shard. A supervisor processes facts job by job;
/// more would only wait there until they are redelivered.
const FACTS_PENDING_MAX: u32 = 2_000;

fn consumer(name: &str, filter: &str, ack_wait: Duration, options: &NatsOptions) -> Value {
    json!({
        "durable_name": name,
        "name": name,
        "filter_subject": filter,
        "deliver_policy": "all",
        "replay_policy": "instant",
        "ack_policy": "explicit",
        "ack_wait": nanos(ack_wait),
        "max_deliver": -1,
        "max_ack_pending": options.ack_pending_max,
        // One per pull of every process; the server's default of 512 is soon reached.
        "max_waiting": 8192,
        "headers_only": false,
    })
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Creates or checks the stream of a shard.
pub(super) async fn shard(
    link: &Link,
    subjects: &Subjects,
    shard: Shard,
    options: &NatsOptions,
    missing: Missing,
) -> Result<(), LogError> {
    stream(link, &shard_stream(subjects, shard, options), missing).await.map(|_| ())
}

/// Checks the streams of all shards.
pub(super) async fn check(
    link: &Link,
    subjects: &Subjects,
    options: &NatsOptions,
) -> Result<(), LogError> {
    let each = subjects
        .all_shards()
        .map(|one| shard(link, subjects, one, options, Missing::Refuse(Loss::Jobs)));
    futures::future::try_join_all(each).await.map(|_| ())
}

/// Creates or checks the consumer of a shard's facts.
pub(super) async fn facts(
    link: &Link,
    subjects: &Subjects,
    shard: Shard,
    options: &NatsOptions,
) -> Result<(), LogError> {
    let wanted = facts_consumer(subjects, shard, options);
    ensure_consumer(link, &subjects.stream(shard), &wanted, options.create).await
}

/// The required configuration of a shard's facts consumer.
pub(super) fn facts_consumer(subjects: &Subjects, shard: Shard, options: &NatsOptions) -> Value {
    let (name, filter) = (subjects.facts_consumer(), subjects.facts_in(shard));
    let mut wanted = consumer(&name, &filter, options.facts_ack_wait(), options);
    wanted["max_ack_pending"] = json!(options.ack_pending_max.min(FACTS_PENDING_MAX));
    wanted["priority_policy"] = json!("pinned_client");
    wanted["priority_groups"] = json!([GROUP]);
    wanted["priority_timeout"] = json!(nanos(options.pin_timeout()));
    wanted
}

/// Creates or checks the consumers of one kind of command for one pool. Returns the shards whose
/// stream exists.
///
/// # Errors
/// If a consumer cannot be used, or every shard is lost.
pub(super) async fn commands(
    link: &Link,
    subjects: &Subjects,
    kind: DecisionKind,
    pool: &Pool,
    options: &NatsOptions,
) -> Result<Vec<Shard>, LogError> {
    let wanted = |shard| commands_consumer(subjects, shard, kind, pool, options);
    in_every_shard(link, subjects, options, wanted).await
}

/// Creates or checks the consumers of a webhook's outbox. Returns the shards whose stream exists.
///
/// # Errors
/// If a consumer cannot be used, or every shard is lost.
pub(super) async fn outbox(
    link: &Link,
    subjects: &Subjects,
    hook: &HookName,
    options: &NatsOptions,
) -> Result<Vec<Shard>, LogError> {
    let wanted = |shard| outbox_consumer(subjects, shard, hook, options);
    in_every_shard(link, subjects, options, wanted).await
}

async fn in_every_shard(
    link: &Link,
    subjects: &Subjects,
    options: &NatsOptions,
    wanted: impl Fn(Shard) -> Value,
) -> Result<Vec<Shard>, LogError> {
    let each = subjects.all_shards().map(|shard| {
        let (wanted, stream) = (wanted(shard), subjects.stream(shard));
        async move {
            match ensure_consumer(link, &stream, &wanted, options.create).await {
                Ok(()) => Ok(Some(shard)),
                Err(LogError::Lost(_)) => Ok(None),
                Err(error) => Err(error),
            }
        }
    });
    let present: Vec<Shard> =
        futures::future::try_join_all(each).await?.into_iter().flatten().collect();
    match subjects.all_shards().next() {
        Some(shard) if present.is_empty() => Err(publish::lost(&subjects.stream(shard))),
        Some(_) | None => Ok(present),
    }
}

/// The required configuration of a command consumer in one shard.
pub(super) fn commands_consumer(
    subjects: &Subjects,
    shard: Shard,
    kind: DecisionKind,
    pool: &Pool,
    options: &NatsOptions,
) -> Value {
    let name = subjects.commands_consumer(kind, pool);
    let filter = subjects.commands_in(shard, kind, pool);
    consumer(&name, &filter, options.ack_wait(), options)
}

/// The required configuration of an outbox in one shard. It has no content of records, and begins
/// with its creation.
pub(super) fn outbox_consumer(
    subjects: &Subjects,
    shard: Shard,
    hook: &HookName,
    options: &NatsOptions,
) -> Value {
    let mut wanted = consumer(&subjects.outbox_consumer(hook), "", options.ack_wait(), options);
    if let Some(wanted) = wanted.as_object_mut() {
        wanted.remove("filter_subject");
    }
    wanted["filter_subjects"] = json!(subjects.posted_in(shard, hook));
    wanted["deliver_policy"] = json!("new");
    wanted["headers_only"] = json!(true);
    wanted
}

/// Returns every kind of command with its pool: the built-in pools, then `tool_pools`.
pub(super) fn queues(tool_pools: &[Pool]) -> Vec<(DecisionKind, Pool)> {
    let mut queues = vec![
        (DecisionKind::Plan, pools::models()),
        (DecisionKind::Turn, pools::models()),
        (DecisionKind::Call, pools::builtin()),
        (DecisionKind::Ask, pools::people()),
        (DecisionKind::Note, pools::people()),
    ];
    for pool in tool_pools {
        let queue = (DecisionKind::Call, pool.clone());
        if !queues.contains(&queue) {
            queues.push(queue);
        }
    }
    queues
}

/// Creates or checks a stream. Returns `true` if it was created.
pub(super) async fn stream(
    link: &Link,
    wanted: &Value,
    missing: Missing,
) -> Result<bool, LogError> {
    let name = wanted["name"].as_str().unwrap_or_default();
    let info = format!("STREAM.INFO.{name}");
    let mut is_made = false;
    let found = match link.ask::<Value>(&info, &json!({})).await {
        Err(AskError::Refused(refusal)) if refusal.is_missing() => match missing {
            Missing::Make => match link.ask(&format!("STREAM.CREATE.{name}"), wanted).await {
                // Another process created the stream concurrently, or the name is taken by a
                // different one.
                Err(AskError::Refused(refusal)) if refusal.err_code == 10058 => {
                    link.ask(&info, &json!({})).await
                }
                made => {
                    is_made = made.is_ok();
                    made
                }
            },
            Missing::Leave => {
                return Err(drift(Text::NoInstallation { stream: &name }));
            }
            Missing::Refuse(loss) => return Err(loss.error(name)),
        },
        found => found,
    };
    compare(Text::Stream { stream: &name }, wanted, &found?["config"])?;
    Ok(is_made)
}

async fn ensure_consumer(
    link: &Link,
    stream: &str,
    wanted: &Value,
    create: bool,
) -> Result<(), LogError> {
    let name = wanted["name"].as_str().unwrap_or_default();
    let info = format!("CONSUMER.INFO.{stream}.{name}");
    let found = match link.ask::<Value>(&info, &json!({})).await {
        Err(AskError::Refused(refusal)) if refusal.err_code == 10014 && !create => {
            let pool = name.strip_prefix("call-").map(|pool| format!(" --tool-pool {pool}"));
            let pool = &pool.unwrap_or_default();
            return Err(drift(Text::NoConsumer { consumer: &name, stream: &stream, pool }));
        }
        Err(AskError::Refused(refusal)) if refusal.err_code == 10014 => {
            let request = json!({"stream_name": stream, "config": wanted, "action": "create"});
            match link.ask(&format!("CONSUMER.CREATE.{stream}.{name}"), &request).await {
                Err(AskError::Refused(refusal))
                    if matches!(refusal.err_code, 10013 | 10105 | 10148) =>
                {
                    link.ask(&info, &json!({})).await
                }
                made => made,
            }
        }
        found => found,
    };
    compare(Text::Consumer { consumer: &name, stream: &stream }, wanted, &found?["config"])
}

/// Returns the value found, or the default that the server omits.
fn or_default(found: Option<&Value>, wanted: &Value) -> Value {
    match (found, wanted) {
        (Some(found), _) => found.clone(),
        (None, Value::Bool(_)) => json!(false),
        // The server omits unset limits, which equal -1.
        (None, Value::Number(n)) if n.as_i64() == Some(-1) => json!(-1),
        (None, Value::Number(_)) => json!(0),
        (None, Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_)) => Value::Null,
    }
}

fn compare(what: Text<'_>, wanted: &Value, found: &Value) -> Result<(), LogError> {
    match differences(wanted, found).next() {
        None => Ok(()),
        Some((field, found, wanted)) => Err(LogError::Drift(Words::new(|language| {
            let what = &what.text(language);
            let (field, found, wanted) = (&field, &found, &wanted);
            Text::Differs { what, field, found, wanted }.text(language)
        }))),
    }
}

/// Returns every field that differs: its name, the value found, the value required.
pub(super) fn differences<'a>(
    wanted: &'a Value,
    found: &'a Value,
) -> impl Iterator<Item = (&'a str, Value, &'a Value)> {
    wanted.as_object().into_iter().flatten().filter_map(|(field, wanted)| {
        let found = or_default(found.get(field), wanted);
        (found != *wanted).then_some((field.as_str(), found, wanted))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_both_values() {
        let wanted = json!({"a": 1, "b": true, "c": -1, "d": "x", "e": ["s"]});
        let full = json!({"a": 1, "b": true, "c": -1, "d": "x", "e": ["s"], "more": 7});
        assert!(compare(Text::Stream { stream: &"it" }, &wanted, &full).is_ok());
        assert!(
            compare(
                Text::Stream { stream: &"it" },
                &json!({"b": false, "c": -1, "z": 0}),
                &json!({})
            )
            .is_ok()
        );
        for (found, said) in [
            (json!({"a": 2, "b": true, "d": "x", "e": ["s"]}), "a is 2, expected 1"),
            (json!({"a": 1, "d": "x", "e": ["s"]}), "b is false, expected true"),
            (json!({"a": 1, "b": true, "e": ["s"]}), "d is null, expected \"x\""),
            (json!({"a": 1, "b": true, "d": "x", "e": []}), "e is [], expected [\"s\"]"),
        ] {
            let error =
                compare(Text::Stream { stream: &"it" }, &wanted, &found).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
