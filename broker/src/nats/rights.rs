//! Probing of a broker user's permissions by attempts that change nothing. Reads are harmless,
//! subscriptions are cancelled at once, and a write names a wrong stream, which the server rejects
//! after it has checked the permissions.

use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    NatsOptions,
    connect::{ConnectError, open},
    link::{AskError, Link},
};

/// Name of a stream that must not exist.
const NOWHERE: &str = "callboard-doctor-stores-nothing";

/// Grace period for denials that are still under way.
const HEARD_AFTER: Duration = Duration::from_millis(250);

/// An operation that a user may be permitted to perform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Try {
    /// Read from JetStream; holds the API verb.
    Look(String),
    /// Subscribe to a subject.
    Listen(String),
    /// Publish to a subject that no stream stores.
    Say(String),
    /// Publish to a stored subject. Nothing is stored.
    Store(String),
}

impl Try {
    /// The subject that the operation publishes or subscribes to.
    #[must_use]
    pub fn subject(&self) -> String {
        match self {
            Self::Look(verb) => format!("$JS.API.{verb}"),
            Self::Listen(subject) | Self::Say(subject) | Self::Store(subject) => subject.clone(),
        }
    }
}

/// The result of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Right {
    /// The user has the permission.
    Granted,
    /// The user lacks the permission.
    Denied,
    /// The attempt was inconclusive, for this reason.
    Unknown(String),
}

/// A connection that probes the permissions of its user.
#[derive(Debug)]
pub struct Rights {
    link: Link,
}

impl Rights {
    /// Connects with the same settings as every other process.
    ///
    /// # Errors
    /// If the server is unreachable.
    pub async fn connect(options: &NatsOptions) -> Result<Self, ConnectError> {
        Ok(Self { link: open(options, "doctor").await? })
    }

    /// Makes at most 60 attempts and returns their results in order.
    pub async fn of(&self, attempts: &[Try]) -> Vec<Right> {
        let before = self.link.denials();
        let mut asked = Vec::with_capacity(attempts.len());
        for attempt in attempts {
            asked.push(self.attempt(attempt).await);
        }
        // Denials arrive before this reply, but on another path.
        let heard = told(self.link.ask::<Value>("INFO", &json!({})).await.map(|_| ()));
        tokio::time::sleep(HEARD_AFTER).await;
        let silent = |attempt: &Try| match &heard {
            _ if self.link.is_denied(&attempt.subject(), before) => Right::Denied,
            Right::Granted | Right::Denied => Right::Granted,
            Right::Unknown(why) => Right::Unknown(why.clone()),
        };
        let each = attempts.iter().zip(asked);
        each.map(|(attempt, asked)| asked.unwrap_or_else(|| silent(attempt))).collect()
    }

    /// Makes one attempt. Returns `None` if the server replies only with a denial.
    async fn attempt(&self, attempt: &Try) -> Option<Right> {
        let subject = attempt.subject();
        match attempt {
            Try::Look(verb) => {
                Some(told(self.link.ask::<Value>(verb, &json!({})).await.map(|_| ())))
            }
            Try::Store(_) => {
                let mut headers = HeaderMap::new();
                headers.insert("Nats-Expected-Stream", NOWHERE);
                Some(match self.link.write(&subject, headers, Bytes::new()).await {
                    Ok(_) => Right::Unknown("the server stored what it should refuse".to_owned()),
                    Err(error) => told(Err(error)),
                })
            }
            Try::Say(_) => {
                self.link.tell(subject, Bytes::new()).await;
                None
            }
            Try::Listen(_) => {
                if let Ok(mut heard) = self.link.client.subscribe(subject).await {
                    // The subscription ends with the connection at the latest.
                    let _ = heard.unsubscribe().await;
                }
                None
            }
        }
    }

    /// Closes the connection.
    pub async fn close(self) {
        self.link.close().await;
    }
}

/// Derives the permission from a reply. A refusal by JetStream proves the permission too.
fn told(answer: Result<(), AskError>) -> Right {
    match answer {
        Ok(()) | Err(AskError::Refused(_)) => Right::Granted,
        Err(AskError::Denied(_)) => Right::Denied,
        Err(
            error @ (AskError::NoResponders(_)
            | AskError::Lost(_)
            | AskError::TooLarge(_)
            | AskError::Malformed(_)),
        ) => Right::Unknown(error.to_string()),
    }
}
