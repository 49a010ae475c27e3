//! A door that replies from a script, so that a test can lose replies, break watches and refuse
//! requests.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use broker::memory::{Memory, MemoryOptions};
use bytes::Bytes;
use callboard_client::Client;
use proto::{door::Verb, error::Failure, id::WorkerId, subject::Subjects};
use ractor::Actor;
use runtime::service::{Call, Handled, Service, ServiceActor, ServiceArgs};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The door's handling of one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Sends a reply.
    Answer(Value),
    /// Sends a refusal.
    Refuse(Failure),
    /// Sends nothing: the reply is lost.
    Lose,
    /// Sends these messages, and nothing afterwards.
    Stream(Vec<Value>),
}

/// A request that the door received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) verb: Verb,
    pub(crate) body: Value,
    pub(crate) token: Option<String>,
    pub(crate) trace: u128,
}

#[derive(Default)]
struct Script {
    acts: Mutex<VecDeque<Act>>,
    seen: Mutex<Vec<Seen>>,
}

/// A client and its scripted door.
pub(crate) struct Stage {
    pub(crate) client: Client,
    script: Arc<Script>,
}

#[async_trait]
impl Service for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn verbs(&self) -> Vec<Verb> {
        Verb::ALL.to_vec()
    }

    async fn handle(&self, call: &Call) -> Result<Handled, Failure> {
        self.seen.lock().unwrap().push(Seen {
            verb: call.verb,
            body: serde_json::from_slice(&call.payload).unwrap(),
            token: call.token.clone(),
            trace: call.trace.trace_id(),
        });
        let act = self.acts.lock().unwrap().pop_front().unwrap_or(Act::Lose);
        match act {
            Act::Answer(answer) => Ok(Handled::Reply(Bytes::from(answer.to_string()))),
            Act::Refuse(failure) => Err(failure),
            Act::Lose => Ok(Handled::Streamed),
            Act::Stream(answers) => {
                for answer in answers {
                    call.send(Bytes::from(answer.to_string())).await.unwrap();
                }
                Ok(Handled::Streamed)
            }
        }
    }
}

pub(crate) fn memory() -> Memory {
    Memory::new(Subjects::new("cb", 4).unwrap(), MemoryOptions::default())
}

impl Stage {
    pub(crate) async fn with(acts: impl IntoIterator<Item = Act>) -> Self {
        let broker = memory().connect(WorkerId::new("test").unwrap());
        let script = Arc::new(Script::default());
        script.acts.lock().unwrap().extend(acts);
        let args = ServiceArgs {
            broker: broker.clone(),
            service: script.clone(),
            in_flight: 10,
            shutdown: CancellationToken::new(),
        };
        Actor::spawn(None, ServiceActor, args).await.unwrap();
        Self { client: Client::new(&broker), script }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.script.seen.lock().unwrap().clone()
    }
}
