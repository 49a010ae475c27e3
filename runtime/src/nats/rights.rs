//! What a user of the broker may do, found out by trying, without changing anything: looks are looks,
//! subscriptions end at once, and what would be stored names a stream that is not the one it would be
//! stored in, which the server refuses after it has looked at the user's rights.

use async_nats::HeaderMap;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    NatsOptions,
    connect::{ConnectError, open},
    link::{Link, Trouble},
};

/// A stream that no record is stored in.
const NOWHERE: &str = "callboard-doctor-stores-nothing";

/// Something that may be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Try {
    /// To look at something of JetStream; the verb.
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

/// Whether something is allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Right {
    /// It is.
    Granted,
    /// It is not.
    Denied,
    /// It cannot be told, and why.
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

    /// Tries one thing.
    pub async fn of(&self, attempt: &Try) -> Right {
        let subject = attempt.subject();
        match attempt {
            Try::Look(verb) => told(self.link.ask::<Value>(verb, &json!({})).await.map(|_| ())),
            Try::Store(_) => {
                let mut headers = HeaderMap::new();
                headers.insert("Nats-Expected-Stream", NOWHERE);
                match self.link.write(&subject, headers, Bytes::new()).await {
                    Ok(_) => Right::Unknown("the server stored what it should refuse".to_owned()),
                    Err(trouble) => told(Err(trouble)),
                }
            }
            Try::Say(_) => {
                let said = self.link.tell(subject.clone(), Bytes::new());
                forbidden(self.link.is_forbidden(&subject, said).await)
            }
            Try::Listen(_) => {
                let mut heard = None;
                let listen = async {
                    heard = self.link.client.subscribe(subject.clone()).await.ok();
                };
                let forbidden = forbidden(self.link.is_forbidden(&subject, listen).await);
                if let Some(mut heard) = heard {
                    // It ends with the connection at the latest.
                    let _ = heard.unsubscribe().await;
                }
                forbidden
            }
        }
    }

    /// Lets go of the connection.
    pub async fn close(self) {
        self.link.close().await;
    }
}

fn forbidden(forbidden: Result<bool, Trouble>) -> Right {
    match forbidden {
        Ok(true) => Right::Denied,
        Ok(false) => Right::Granted,
        Err(trouble) => Right::Unknown(trouble.to_string()),
    }
}

/// What an answer says about the right to ask. JetStream's own no is an answer.
fn told(answer: Result<(), Trouble>) -> Right {
    match answer {
        Ok(()) | Err(Trouble::Refused(_)) => Right::Granted,
        Err(Trouble::Denied(_)) => Right::Denied,
        Err(
            trouble @ (Trouble::NoResponders(_)
            | Trouble::Lost(_)
            | Trouble::TooLarge(_)
            | Trouble::Malformed(_)),
        ) => Right::Unknown(trouble.to_string()),
    }
}
