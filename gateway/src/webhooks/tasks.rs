//! The notifications of A2A tasks: the receivers that clients set, and the messages to them.
//!
//! The token of webhooks reads the task. The client that set the receiver could read it then.

use std::sync::Arc;

use async_trait::async_trait;
use bridges::a2a::{Receiver, Receivers, add_receiver, notification};
use broker::{
    kv::{Bucket, Kv, KvError},
    log::Posted,
};
use bytes::Bytes;
use futures::future::join_all;
use proto::{
    error::{Code, Failure},
    event::{Event, Happened, InteractionEvent},
    id::{HookName, JobId, Seq},
    lang::{Language, Words},
    subject::Family,
};
use quick_cache::sync::Cache;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use runtime::egress;
use url::Url;

use super::{
    event,
    outbox::{ASK_AGAIN, RecordContext, Settled, count},
    sender::{Poster, Try},
    settings::Notifications,
};
use crate::words::Text;

/// Header with the token of a receiver.
const TOKEN: HeaderName = HeaderName::from_static("x-a2a-notification-token");
/// Largest number of attempts after compare-and-set conflicts.
const CONFLICTS_MAX: usize = 16;
/// Notifications that a gateway remembers as delivered, while another receiver of the task fails.
const DELIVERED: usize = 4_096;

/// The receivers in their bucket.
#[derive(derive_more::Debug, Clone)]
pub(crate) struct StoredReceivers {
    #[debug(skip)]
    kv: Arc<dyn Kv>,
    settings: Notifications,
}

impl StoredReceivers {
    pub(crate) fn new(kv: Arc<dyn Kv>, settings: Notifications) -> Self {
        Self { kv, settings }
    }

    async fn read(&self, task: &JobId) -> Result<(Vec<Receiver>, u64), Failure> {
        let found = self.kv.get(Bucket::Receivers, task.as_str()).await;
        let Some(found) = found.map_err(|error| store_failure(&error))? else {
            return Ok((Vec::new(), 0));
        };
        // An error of JSON may quote a secret.
        let receivers = serde_json::from_slice(&found.value)
            .map_err(|_| Failure::composed(Code::Internal, &Text::ReceiversUnreadable.into()))?;
        Ok((receivers, found.revision))
    }

    /// Removes a receiver that wants no more, unless its client has replaced it.
    async fn forget(&self, task: &JobId, unwilling: &Receiver) -> Result<(), Failure> {
        let without = |receivers: &mut Vec<Receiver>| {
            receivers.retain(|receiver| receiver != unwilling);
            Ok(())
        };
        self.change(task, without).await
    }

    /// Changes the receivers of a task.
    async fn change(
        &self,
        task: &JobId,
        change: impl Fn(&mut Vec<Receiver>) -> Result<(), Failure> + Send + Sync,
    ) -> Result<(), Failure> {
        for _ in 0..CONFLICTS_MAX {
            let (before, revision) = self.read(task).await?;
            let mut receivers = before.clone();
            change(&mut receivers)?;
            if receivers == before {
                return Ok(());
            }
            let written = if receivers.is_empty() {
                self.kv.delete_at(Bucket::Receivers, task.as_str(), revision).await
            } else {
                let value = serde_json::to_vec(&receivers)
                    .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
                self.kv.update(Bucket::Receivers, task.as_str(), value.into(), revision).await
            };
            match written {
                Ok(_) => return Ok(()),
                Err(KvError::Conflict(_)) => {}
                Err(error) => return Err(store_failure(&error)),
            }
        }
        Err(Failure::composed(Code::Unavailable, &Text::ReceiversChange.into()))
    }
}

#[async_trait]
impl Receivers for StoredReceivers {
    async fn of(&self, task: &JobId) -> Result<Vec<Receiver>, Failure> {
        Ok(self.read(task).await?.0)
    }

    fn check(&self, url: &Url) -> Result<(), Words> {
        if url.scheme() == "http" && !self.settings.allow_http {
            return Err(Text::ReceiverHttps.into());
        }
        if let Some(port) = egress::foreign_port(url) {
            return Err(Text::ReceiverPort { port: &port }.into());
        }
        match egress::check_address(url) {
            Err(private) if !self.settings.allow_private => Err(private.to_string().into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    async fn put(&self, task: &JobId, receiver: Receiver) -> Result<(), Failure> {
        self.change(task, |receivers| add_receiver(receivers, receiver.clone())).await
    }

    async fn remove(&self, task: &JobId, id: &str) -> Result<(), Failure> {
        let without = |receivers: &mut Vec<Receiver>| {
            receivers.retain(|receiver| receiver.id != id);
            Ok(())
        };
        self.change(task, without).await
    }
}

fn store_failure(error: &KvError) -> Failure {
    let code = match error {
        KvError::Unavailable(_) | KvError::Conflict(_) => Code::Unavailable,
        KvError::InvalidKey(_) | KvError::Refused(_) => Code::Internal,
    };
    Failure::new(code, error.to_string())
}

/// The receivers of tasks, and the client that sends to them.
#[derive(derive_more::Debug)]
pub(super) struct Tasks {
    receivers: StoredReceivers,
    poster: Poster,
    /// Address of the gateway, for the addresses of files.
    gateway: Option<Url>,
    /// The notifications that were delivered already, by record and receiver.
    #[debug(skip)]
    delivered: Cache<(JobId, Seq, Receiver), ()>,
}

impl Tasks {
    pub(super) fn new(receivers: StoredReceivers, gateway: Option<Url>) -> Result<Self, Words> {
        let poster = Poster::new(receivers.settings.allow_private)?;
        Ok(Self { receivers, poster, gateway, delivered: Cache::new(DELIVERED) })
    }

    /// Returns the receivers of a task, as soon as they can be read: a try is for receivers, and not
    /// for the store.
    pub(super) async fn receivers(&self, task: &JobId) -> Vec<Receiver> {
        let mut pauses = ASK_AGAIN;
        loop {
            match self.receivers.of(task).await {
                Ok(receivers) => return receivers,
                Err(failure) if failure.code.is_temporary() => {
                    tracing::warn!(%task, %failure, "the receivers of a task cannot be read; retrying");
                    tokio::time::sleep(pauses.pause()).await;
                }
                Err(failure) => {
                    tracing::error!(%task, %failure, "the receivers of a task are not notified");
                    return Vec::new();
                }
            }
        }
    }

    /// Sends the task to all of its receivers, if the record changes what they show.
    pub(super) async fn tell(
        &self,
        name: &HookName,
        posted: &Posted,
        RecordContext { events, view }: &RecordContext,
    ) -> Settled {
        if !changes_task(posted.seq, &posted.family, events) {
            return Settled::Done;
        }
        let body = match serde_json::to_vec(&notification(view, self.gateway.as_ref())) {
            Ok(body) => Bytes::from(body),
            Err(error) => return Settled::Again(error.to_string()),
        };
        // The front door may have been away for long: receivers may have changed meanwhile.
        let receivers = self.receivers(&posted.job).await;
        let tries = receivers.iter().map(|receiver| self.send(name, posted, receiver, &body));
        let failed: Vec<String> =
            join_all(tries).await.into_iter().filter_map(Result::err).collect();
        if failed.is_empty() { Settled::Done } else { Settled::Again(failed.join("; ")) }
    }

    /// Sends to a receiver that does not have the notification yet. One that wants no more is
    /// removed.
    async fn send(
        &self,
        name: &HookName,
        posted: &Posted,
        receiver: &Receiver,
        body: &Bytes,
    ) -> Result<(), String> {
        let why = |why: &str| format!("{}: {why}", receiver.id);
        let key = (posted.job.clone(), posted.seq, receiver.clone());
        if self.delivered.get(&key).is_some() {
            return Ok(());
        }
        if let Err(refused) = self.receivers.check(&receiver.url) {
            return Err(why(refused.text(Language::En)));
        }
        match self.poster.post(&receiver.url, headers(receiver), body.clone()).await {
            Try::Delivered(_) => {
                self.delivered.insert(key, ());
                count(name, "delivered");
                Ok(())
            }
            Try::Gone => {
                count(name, "off");
                let removed = self.receivers.forget(&posted.job, receiver).await;
                removed.map_err(|failure| why(&failure.to_string()))
            }
            Try::Failed(failed) => Err(why(&failed)),
        }
    }
}

/// `true` if a record asks or closes a question of the task or of a sub-agent, has the task wait, or
/// ends it.
fn changes_task(seq: Seq, family: &Family, events: &[Event]) -> bool {
    let of_sub_agent = |event: &Event| {
        let interaction = match &event.happened {
            Happened::Interaction(interaction) => Some(interaction),
            Happened::Error(_)
            | Happened::Message(_)
            | Happened::Tool(_)
            | Happened::Usage(_)
            | Happened::Plan(_)
            | Happened::Step(_)
            | Happened::Job(_)
            | Happened::Notice(_)
            | Happened::Turn(_)
            | Happened::Node(_)
            | Happened::Artifact(_) => None,
        };
        interaction.is_some_and(|interaction| {
            matches!(
                interaction,
                InteractionEvent::Asked { below: Some(_), .. } | InteractionEvent::Settled { .. }
            )
        })
    };
    let of_record = |event: &&Event| event.id.seq == seq;
    !event::changes(seq, family, events).is_empty()
        || events.iter().filter(of_record).any(of_sub_agent)
}

/// Returns the headers of a notification. What cannot be a header was refused before.
fn headers(receiver: &Receiver) -> HeaderMap {
    let secret = |text: String| {
        let mut value = HeaderValue::try_from(text).ok()?;
        value.set_sensitive(true);
        Some(value)
    };
    let token = receiver.token.clone().and_then(secret).map(|value| (TOKEN, value));
    let authorization = receiver.authentication.as_ref().and_then(|it| {
        let value = secret(format!("{} {}", it.scheme, it.credentials.as_ref()?))?;
        Some((header::AUTHORIZATION, value))
    });
    token.into_iter().chain(authorization).collect()
}

#[cfg(test)]
mod tests;
