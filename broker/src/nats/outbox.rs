//! Outboxes: one durable consumer for each webhook and shard. The server sends subjects and headers
//! only, so a gateway sees which records there are and never what they say.

use std::{collections::BTreeSet, sync::Arc};

use futures::{StreamExt, stream::BoxStream};
use jiff::Timestamp;
use proto::{
    id::{HookName, Shard},
    subject::Subjects,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::{
    NatsOptions,
    ack::NatsAck,
    commands::{self, Pulled, Slotted},
    connect::{ConnectError, open as connect},
    entry,
    link::{AskError, Link},
    log::NatsLog,
    scan, setup,
};
use crate::log::{LogError, OutboxState, Posted};

/// The time until which an outbox is paused that is switched off.
const NEVER: &str = "2999-01-01T00:00:00Z";

/// Opens the outbox of a webhook.
pub(super) async fn open(
    log: NatsLog,
    hook: &HookName,
    slots: Arc<Semaphore>,
) -> Result<BoxStream<'static, Result<Posted, LogError>>, LogError> {
    let mut pulled = commands::pull(log.clone(), Pulled::Outbox(hook.clone()), slots).await?;
    Ok(Box::pin(async_stream::stream! {
        while let Some(next) = pulled.next().await {
            match next {
                Ok(slotted) => match posted(&log, slotted).await {
                    Some(posted) => yield Ok(posted),
                    None => {}
                },
                Err(error) => yield Err(error),
            }
        }
    }))
}

/// Reads the position of a record. Terminates a message that is not a record of this installation.
async fn posted(log: &NatsLog, (delivered, slot): Slotted) -> Option<Posted> {
    let ack = NatsAck { link: Arc::clone(&log.link), reply: delivered.reply };
    let message = delivered.message;
    let place = log.subjects.parse(&message.subject).ok();
    let Some(place) = place.filter(|_| entry::is_record(&message, &log.subjects)) else {
        ack.never().await;
        return None;
    };
    Some(Posted {
        job: place.job,
        seq: message.seq,
        time: message.time,
        family: place.family,
        delivered: delivered.delivered,
        ack: Box::new(ack),
        slot,
    })
}

/// Pauses the consumers of an outbox, or resumes them.
pub(super) async fn switch(
    link: &Link,
    subjects: &Subjects,
    hook: &HookName,
    is_on: bool,
) -> Result<(), LogError> {
    let name = subjects.outbox_consumer(hook);
    let until = if is_on { Timestamp::UNIX_EPOCH.to_string() } else { NEVER.to_owned() };
    let request = json!({ "pause_until": until });
    let each = subjects.all_shards().map(|shard| {
        let verb = format!("CONSUMER.PAUSE.{}.{name}", subjects.stream(shard));
        let request = &request;
        async move { link.ask::<Value>(&verb, request).await }
    });
    futures::future::try_join_all(each).await?;
    Ok(())
}

/// Reads the state of an outbox. A shard without a consumer counts as empty.
pub(super) async fn state(
    link: &Link,
    subjects: &Subjects,
    hook: &HookName,
) -> Result<OutboxState, LogError> {
    let name = &subjects.outbox_consumer(hook);
    let each = subjects.all_shards().map(|shard| async move {
        match scan::consumer(link, subjects.stream(shard), name).await {
            Ok(info) => Ok(Some(info)),
            Err(AskError::Refused(refusal)) if refusal.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    });
    let found = futures::future::try_join_all(each).await?;
    Ok(found.into_iter().flatten().fold(OutboxState::default(), |all, one| OutboxState {
        is_off: all.is_off || one.paused,
        pending: all.pending + one.num_pending,
        unsettled: all.unsettled + one.num_ack_pending,
        repeated: all.repeated + one.num_redelivered,
    }))
}

/// Creates and checks the outboxes of these webhooks, and removes all others with what is left in
/// them. Returns the webhooks whose outboxes were removed. Needs an operator's permissions.
///
/// # Errors
/// If the server is unreachable, the installation lost a stream, or this user may not create or
/// remove consumers.
pub async fn set_up_outboxes(
    options: &NatsOptions,
    subjects: &Subjects,
    hooks: &BTreeSet<HookName>,
) -> Result<BTreeSet<HookName>, ConnectError> {
    let options = NatsOptions { create: true, ..options.clone() };
    let link = connect(&options, "setup").await?;
    let mut removed = BTreeSet::new();
    let all = async {
        for shard in subjects.all_shards() {
            for (name, hook) in others(&link, subjects, shard, hooks).await? {
                let verb = format!("CONSUMER.DELETE.{}.{name}", subjects.stream(shard));
                match link.ask::<Value>(&verb, &json!({})).await {
                    Err(AskError::Refused(refusal)) if refusal.is_missing() => {}
                    gone => drop(gone?),
                }
                removed.insert(hook);
            }
        }
        for hook in hooks {
            setup::outbox(&link, subjects, hook, &options).await?;
        }
        Ok(())
    };
    all.await.map_err(ConnectError::Installation)?;
    link.close().await;
    Ok(removed)
}

/// Names of consumers, as the server lists them.
#[derive(Deserialize)]
struct Names {
    total: usize,
    consumers: Option<Vec<String>>,
}

/// Returns the outboxes of a shard that belong to none of these webhooks.
async fn others(
    link: &Link,
    subjects: &Subjects,
    shard: Shard,
    hooks: &BTreeSet<HookName>,
) -> Result<Vec<(String, HookName)>, LogError> {
    let verb = format!("CONSUMER.NAMES.{}", subjects.stream(shard));
    let mut names: Vec<String> = Vec::new();
    loop {
        let page: Names = link.ask(&verb, &json!({ "offset": names.len() })).await?;
        let some = page.consumers.unwrap_or_default();
        let is_last = some.is_empty() || names.len() + some.len() >= page.total;
        names.extend(some);
        if is_last {
            break;
        }
    }
    let found = names.into_iter().filter_map(|name| {
        let hook = subjects.hook_of(&name).filter(|hook| !hooks.contains(hook))?;
        Some((name, hook))
    });
    Ok(found.collect())
}

/// Switches the outbox of a webhook on or off, over a connection of its own.
///
/// # Errors
/// If the server is unreachable, or this user may not do that.
pub async fn switch_outbox(
    options: &NatsOptions,
    subjects: &Subjects,
    hook: &HookName,
    is_on: bool,
) -> Result<(), ConnectError> {
    let link = connect(options, "operator").await?;
    let switched = switch(&link, subjects, hook, is_on).await;
    link.close().await;
    switched.map_err(ConnectError::Installation)
}

/// Reads the states of the outboxes of these webhooks.
///
/// # Errors
/// If the server is unreachable, or this user may not read them.
pub async fn outbox_states(
    options: &NatsOptions,
    subjects: &Subjects,
    hooks: impl IntoIterator<Item = &HookName>,
) -> Result<Vec<OutboxState>, ConnectError> {
    let link = connect(options, "doctor").await?;
    let mut states = Vec::new();
    for hook in hooks {
        states.push(state(&link, subjects, hook).await.map_err(ConnectError::Installation)?);
    }
    link.close().await;
    Ok(states)
}
