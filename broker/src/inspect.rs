//! Read-only inspection of a nats-server and of an installation on it, for `callboard doctor`. It
//! changes nothing and judges nothing.

use std::time::Duration;

use async_nats::{Event, ServerError};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use crate::nats::NatsOptions;

/// A connection that only reads.
#[derive(Debug, Clone)]
pub struct Inspector {
    client: async_nats::Client,
    /// Permission violations that the server reported on this connection, verbatim.
    denied: watch::Receiver<Vec<String>>,
}

/// A server, as it describes itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The configured or generated server name.
    pub name: String,
    /// The version as text.
    pub version: String,
    /// `true` if the server says that JetStream is enabled.
    pub jetstream: bool,
    /// The server's cluster, if it belongs to one.
    pub cluster: Option<String>,
    /// Largest message that the server accepts, in bytes.
    pub max_payload: usize,
    /// Duration of one flush.
    pub round_trip: Duration,
}

/// An existing stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// The stream's name.
    pub name: String,
    /// Number of stored messages.
    pub messages: u64,
    /// Size of the messages, in bytes.
    pub bytes: u64,
    /// Number of copies of each message.
    pub replicas: u64,
    /// `file` or `memory`.
    pub storage: String,
    /// Number of consumers.
    pub consumers: u64,
    /// Lead of the server's clock over this machine's, accurate to half a round trip. Absent if the
    /// server does not report its time.
    pub clock_ahead: Option<SignedDuration>,
}

/// The disk space of an account, over all its streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Bytes in use.
    pub used: u64,
    /// Bytes allowed; absent if the account has no limit of its own.
    pub limit: Option<u64>,
}

/// A failed inspection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// No server answers, or it refuses the connection.
    #[error("{0}")]
    Connect(String),
    /// JetStream sent no answer, or an unreadable one: it is off, or too busy.
    #[error("JetStream does not answer: {0}")]
    Silent(String),
    /// The server denied this user the named permission.
    #[error("this user may not {0}")]
    Forbidden(String),
    /// The server refused, for the reason it gave.
    #[error("JetStream refuses: {0}")]
    Refused(String),
}

impl Inspector {
    /// Connects with the same settings as every other process.
    ///
    /// # Errors
    /// [`InspectError::Connect`] if the server is unreachable or rejects the credentials.
    pub async fn connect(nats: &NatsOptions) -> Result<Self, InspectError> {
        let fail = |why: String| InspectError::Connect(why);
        let (denials, denied) = watch::channel(Vec::new());
        let options = crate::nats::authenticated(nats)
            .map_err(|e| fail(e.to_string()))?
            .name("callboard doctor")
            .connection_timeout(Duration::from_millis(nats.connect_timeout_ms))
            .request_timeout(Some(Duration::from_millis(nats.request_timeout_ms)))
            .event_callback(move |event| {
                // The server reports a denial separately, and never replies to the denied request.
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

    /// Returns the server's description of itself.
    ///
    /// # Errors
    /// [`InspectError::Connect`] if the connection is lost.
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

    /// Checks that JetStream answers on this account.
    ///
    /// # Errors
    /// The reason why JetStream does not answer.
    pub async fn jetstream(&self) -> Result<(), InspectError> {
        Ok(self.ask("INFO").await.map(|_| ())?)
    }

    /// Returns the account's disk usage and limit.
    ///
    /// # Errors
    /// If JetStream does not answer or refuses.
    pub async fn account(&self) -> Result<Account, InspectError> {
        let info = self.ask("INFO").await?;
        let limit = info.pointer("/limits/max_storage").and_then(Value::as_i64);
        let limit = limit.and_then(|limit| u64::try_from(limit).ok()).filter(|limit| *limit > 0);
        Ok(Account { used: info["storage"].as_u64().unwrap_or_default(), limit })
    }

    /// Returns a stream, or `None` if it does not exist.
    ///
    /// # Errors
    /// If JetStream does not answer or refuses.
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

/// Waits until the server denies publishing the request or subscribing to its reply.
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

/// Extracts the missing permission from the server's message: `Permissions Violation for Publish to
/// "$JS.API.INFO"`.
fn right(said: &str, subject: &str) -> Option<String> {
    let named = said.split('"').nth(1)?;
    if said.to_ascii_lowercase().contains("subscription to") {
        // This connection subscribes only to replies.
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
