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
#[error("the outbox {name}: {}", why.text(Language::En))]
pub struct SetupError {
    /// Name of the outbox.
    name: HookName,
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
        let hook = Sender::new(hook).map(|sender| Hook { settings, sender, console });
        (name.clone(), hook.map(|hook| Route::Hook(Box::new(hook))))
    });
    let tasks = receivers(settings, broker).map(|receivers| {
        (HookName::tasks(), Tasks::new(receivers, settings.console.clone()).map(Route::Tasks))
    });
    let outboxes = hooks.chain(tasks).map(|(name, route)| {
        let outbox = Outbox {
            route: route.map_err(|why| SetupError { name: name.clone(), why })?,
            name,
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
