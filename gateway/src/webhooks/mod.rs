//! Webhooks: events that go out, and deliveries that become jobs.
//!
//! Going out, the gateways share a durable consumer for each webhook and shard, which the broker
//! keeps, and one for the notifications of A2A tasks. They receive positions of records and ask the
//! front door what these mean, with a token of the configuration, so a gateway reads no log.
//!
//! Coming in, the token of the webhook submits a job, whose id derives from that of the delivery.

mod event;
mod hook;
pub(crate) mod incoming;
mod outbox;
mod schedule;
mod sender;
pub mod settings;
mod signature;
mod tasks;

use std::sync::Arc;

use broker::Broker;
use client::Client;
use jiff::Timestamp;
use proto::{
    id::HookName,
    lang::{Language, Words},
};
use runtime::config::Secret;
use secrecy::ExposeSecret;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

pub(crate) use self::tasks::StoredReceivers;
pub use self::{event::EventType, settings::Webhooks};
use self::{
    event::Payload,
    hook::Hook,
    outbox::{Outbox, Route},
    sender::{Sender, Try},
    settings::Outgoing,
    tasks::Tasks,
};

/// Outgoing webhooks cannot be set up.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {}", why.text(Language::En))]
pub struct SetupError {
    /// Key of the setting.
    key: String,
    /// The reason.
    why: Words,
}

/// Starts the outboxes. Dropping the handles stops them.
///
/// # Errors
/// If a secret cannot be used, or TLS cannot be set up.
pub(crate) fn start(
    settings: &Webhooks,
    broker: &Broker,
    client: &Client,
    shutdown: &CancellationToken,
) -> Result<Vec<AbortOnDropHandle<()>>, SetupError> {
    let client = client.clone().with_token(token(settings.token.as_ref()));
    let hooks = settings.out.iter().map(|(name, hook)| {
        let (settings, console) = (hook.clone(), settings.console.clone());
        let sender = Sender::new(hook).map_err(|why| {
            let key = format!("webhooks.out.{name}");
            SetupError { key, why }
        })?;
        Ok((name.clone(), Route::Hook(Box::new(Hook { settings, sender, console }))))
    });
    let tasks = receivers(settings, broker).map(|receivers| {
        let tasks = Tasks::new(receivers, settings.console.clone());
        let tasks = tasks.map_err(|why| SetupError { key: "webhooks.a2a".to_owned(), why })?;
        Ok((HookName::tasks(), Route::Tasks(tasks)))
    });
    let outboxes = hooks.chain(tasks).map(|outbox| {
        let (name, route) = outbox?;
        let outbox = Outbox {
            name,
            route,
            client: client.clone(),
            queues: broker.log.clone(),
            waits: settings.retry_after_seconds.clone(),
        };
        let run = Arc::new(outbox).run(shutdown.clone());
        Ok(AbortOnDropHandle::new(tokio::spawn(run)))
    });
    outboxes.collect()
}

/// Returns the receivers of the notifications of tasks; `None` if no task has any.
pub(crate) fn receivers(settings: &Webhooks, broker: &Broker) -> Option<StoredReceivers> {
    let notifications = settings.a2a;
    notifications.enabled.then(|| StoredReceivers::new(Arc::clone(&broker.kv), notifications))
}

fn token(secret: Option<&Secret>) -> Option<String> {
    let token = secret.and_then(|secret| secret.value().ok());
    token.map(|token| token.expose_secret().to_owned())
}

/// The answer to a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tested {
    /// The receiver accepted the event, with this status.
    Delivered(u16),
    /// The receiver answered 410, which would switch the webhook off.
    Gone,
    /// The receiver did not accept the event, or was not reached.
    Failed(String),
}

/// Sends a signed test to the receiver of a webhook, once and from this process.
///
/// # Errors
/// If a secret cannot be used, or TLS cannot be set up.
pub async fn test(hook: &Outgoing) -> Result<Tested, Words> {
    let (sender, now) = (Sender::new(hook)?, Timestamp::now());
    let body = serde_json::to_vec(&Payload::test(now)).unwrap_or_default();
    let id = format!("msg_{}", uuid::Uuid::new_v4().simple());
    Ok(match sender.send(&id, body, now).await {
        Try::Delivered(status) => Tested::Delivered(status),
        Try::Gone => Tested::Gone,
        Try::Failed(why) => Tested::Failed(why),
    })
}
