//! The permissions of a broker user, found by attempts that change nothing: reads are harmless,
//! subscriptions end at once, and a write expects another stream than its own, which the server
//! refuses after it has checked the user's permissions.

use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    NatsOptions,
    connect::{ConnectError, open},
    link::{AskError, Link},
};

/// A stream that no record is stored in.
const NOWHERE: &str = "callboard-doctor-stores-nothing";

/// The time that a denial may take from the connection to here.
const HEARD_AFTER: Duration = Duration::from_millis(250);

/// Something that may be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Try {
    /// To read something of JetStream; the verb.
    Look(String),
    /// To listen on a subject.
    Listen(String),
    /// To say something on a subject that no stream stores.
    Say(String),
    /// To store something under a subject. Nothing is stored.
    Store(String),
}

impl Try {
    /// The subject it is about.
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
    /// It is.
    Granted,
    /// It is not.
    Denied,
    /// Unknown, and the reason.
    Unknown(String),
}

/// Tries what the user of a connection may do.
#[derive(Debug)]
pub struct Rights {
    link: Link,
}

impl Rights {
    /// Connects as everybody else does.
    ///
    /// # Errors
    /// When the server cannot be reached.
    pub async fn connect(options: &NatsOptions) -> Result<Self, ConnectError> {
        Ok(Self { link: open(options, "doctor").await? })
    }

    /// Tries things, at most 60 at a time, and gives an answer to each in their order.
    pub async fn of(&self, attempts: &[Try]) -> Vec<Right> {
        let before = self.link.denials();
        let mut asked = Vec::with_capacity(attempts.len());
        for attempt in attempts {
            asked.push(self.attempt(attempt).await);
        }
        // A denial comes before this answer, on a way of its own.
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

    /// Tries one thing. Nothing when the server only speaks up if it is forbidden.
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
                    // It ends with the connection at the latest.
                    let _ = heard.unsubscribe().await;
                }
                None
            }
        }
    }

    /// Lets go of the connection.
    pub async fn close(self) {
        self.link.close().await;
    }
}

/// The permission that an answer shows. JetStream's refusal is an answer too.
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
