//! Looks at a nats-server and at what an installation has on it, for a doctor. Looks only: it makes
//! nothing, changes nothing and judges nothing.

use std::time::Duration;

use async_nats::{Event, ServerError};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use crate::nats::NatsOptions;

/// A connection that is only looked through.
#[derive(Debug, Clone)]
pub struct Inspector {
    client: async_nats::Client,
    /// Permissions that the server denied on this connection, in its words.
    denied: watch::Receiver<Vec<String>>,
}

/// A server's own description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// JetStream is on, by its own description.
    pub jetstream: bool,
    /// The cluster it is a member of.
    pub cluster: Option<String>,
    /// Largest message, in bytes.
    pub max_payload: usize,
    /// The round-trip time.
    pub round_trip: Duration,
}

/// A stream that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// Its name.
    pub name: String,
    /// Records in it.
    pub messages: u64,
    /// Their size, in bytes.
    pub bytes: u64,
    /// Copies of each record.
    pub replicas: u64,
    /// `file` or `memory`.
    pub storage: String,
    /// Consumers it has.
    pub consumers: u64,
    /// The lead of the server's clock over this machine's, give or take half a round trip. Absent
    /// if the server does not report its time.
    pub clock_ahead: Option<SignedDuration>,
}

/// The disk space of an account, over all its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Bytes in use.
    pub used: u64,
    /// Bytes allowed; absent when the account has no limit of its own.
    pub limit: Option<u64>,
}

/// A failed inspection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// No server answers, or it refuses the connection.
    #[error("{0}")]
    Connect(String),
    /// There is no answer: JetStream is off, or too busy.
    #[error("JetStream does not answer: {0}")]
    Silent(String),
    /// This user may not ask; what it may not do.
    #[error("this user may not {0}")]
    Forbidden(String),
    /// The server refuses.
    #[error("JetStream refuses: {0}")]
    Refused(String),
}

impl Inspector {
    /// Connects, with the settings that everybody else connects with.
    ///
    /// # Errors
    /// When the server cannot be reached or does not let us in.
    pub async fn connect(nats: &NatsOptions) -> Result<Self, InspectError> {
        let fail = |why: String| InspectError::Connect(why);
        let (denials, denied) = watch::channel(Vec::new());
        let options = crate::nats::authenticated(nats)
            .map_err(|e| fail(e.to_string()))?
            .name("callboard doctor")
            .connection_timeout(Duration::from_millis(nats.connect_timeout_ms))
            .request_timeout(Some(Duration::from_millis(nats.request_timeout_ms)))
            .event_callback(move |event| {
                // The server reports the denial beside the request, which is never answered.
                if let Event::ServerError(ServerError::Other(error)) = event
                    && error.to_ascii_lowercase().contains("permissions violation")
                {
                    denials.send_modify(|all| all.push(error));
                }
                std::future::ready(())
            });
        let client =
            options.connect(nats.servers.as_slice()).await.map_err(|e| fail(e.to_string()))?;
        Ok(Self { client, denied })
    }

    /// The server.
    ///
    /// # Errors
    /// When it does not answer any more.
    pub async fn server(&self) -> Result<Server, InspectError> {
        let start = Instant::now();
        self.client.flush().await.map_err(|e| InspectError::Connect(e.to_string()))?;
        let round_trip = start.elapsed();
        let info = self.client.server_info();
        Ok(Server {
            name: info.server_name,
            version: info.version,
            jetstream: info.jetstream,
            cluster: info.cluster,
            max_payload: info.max_payload,
            round_trip,
        })
    }

    /// Checks that JetStream answers for this account.
    ///
    /// # Errors
    /// When it does not, with the reason.
    pub async fn jetstream(&self) -> Result<(), InspectError> {
        Ok(self.ask("INFO").await.map(|_| ())?)
    }

    /// The account's disk space and its limit.
    ///
    /// # Errors
    /// When JetStream does not answer or refuses.
    pub async fn account(&self) -> Result<Account, InspectError> {
        let info = self.ask("INFO").await?;
        let limit = info.pointer("/limits/max_storage").and_then(Value::as_i64);
        let limit = limit.and_then(|limit| u64::try_from(limit).ok()).filter(|limit| *limit > 0);
        Ok(Account { used: info["storage"].as_u64().unwrap_or_default(), limit })
    }

    /// A stream; nothing when it is not there.
    ///
    /// # Errors
    /// When JetStream does not answer or refuses.
    pub async fn stream(&self, name: &str) -> Result<Option<Stream>, InspectError> {
        let asked = Timestamp::now();
        let start = Instant::now();
        let info = match self.ask(&format!("STREAM.INFO.{name}")).await {
            Ok(info) => info,
            Err(Missing::Gone) => return Ok(None),
            Err(Missing::Other(error)) => return Err(error),
        };
        let number = |path: &str| info.pointer(path).and_then(Value::as_u64).unwrap_or_default();
        let word = |path: &str| info.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let half = SignedDuration::try_from(start.elapsed() / 2).unwrap_or_default();
        let clock_ahead =
            word("/ts").parse::<Timestamp>().ok().map(|ts| ts.duration_since(asked) - half);
        Ok(Some(Stream {
            name: name.to_owned(),
            messages: number("/state/messages"),
            bytes: number("/state/bytes"),
            replicas: number("/config/num_replicas"),
            storage: word("/config/storage").to_owned(),
            consumers: number("/state/consumer_count"),
            clock_ahead,
        }))
    }

    async fn ask(&self, what: &str) -> Result<Value, Missing> {
        let body = serde_json::to_vec(&json!({})).unwrap_or_default();
        let subject = format!("$JS.API.{what}");
        let mut denied = self.denied.clone();
        let asked = tokio::select! {
            asked = self.client.request(subject.clone(), body.into()) => asked,
            what = forbidden(&mut denied, &subject) => {
                return Err(Missing::Other(InspectError::Forbidden(what)));
            }
        };
        let silent = |why: String| Missing::Other(InspectError::Silent(why));
        let answer = asked.map_err(|e| silent(e.to_string()))?;
        let answer: Value =
            serde_json::from_slice(&answer.payload).map_err(|e| silent(e.to_string()))?;
        match answer.get("error") {
            None => Ok(answer),
            Some(error) if error["code"] == 404 => Err(Missing::Gone),
            Some(error) => {
                let why = error["description"].as_str().unwrap_or("no reason is given");
                Err(Missing::Other(InspectError::Refused(why.to_owned())))
            }
        }
    }
}

/// Waits until the server has denied publishing the question or subscribing to its answer.
async fn forbidden(denied: &mut watch::Receiver<Vec<String>>, subject: &str) -> String {
    loop {
        if let Some(what) = denied.borrow_and_update().iter().find_map(|said| right(said, subject))
        {
            return what;
        }
        if denied.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The missing permission, in the server's words: `Permissions Violation for Publish to
/// "$JS.API.INFO"`.
fn right(said: &str, subject: &str) -> Option<String> {
    let named = said.split('"').nth(1)?;
    if said.to_ascii_lowercase().contains("subscription to") {
        // Only answers are listened for here.
        return Some(format!("subscribe to {named}: nats.inbox_prefix must be what it may hear"));
    }
    (named == subject).then(|| format!("publish to {named}"))
}

enum Missing {
    Gone,
    Other(InspectError),
}

impl From<Missing> for InspectError {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Gone => Self::Refused("it is not there".to_owned()),
            Missing::Other(error) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_that_is_missing_is_named() {
        let subject = "$JS.API.INFO";
        for (said, what) in [
            (
                r#"Permissions Violation for Publish to "$JS.API.INFO""#,
                Some("publish to $JS.API.INFO"),
            ),
            (r#"Permissions Violation for Publish to "$JS.API.STREAM.INFO.x""#, None),
            (
                r#"permissions violation for subscription to "_inbox.a.*""#,
                Some("subscribe to _inbox.a.*: nats.inbox_prefix must be what it may hear"),
            ),
            ("Permissions Violation", None),
        ] {
            assert_eq!(right(said, subject).as_deref(), what, "{said}");
        }
    }
}
