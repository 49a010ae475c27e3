//! A person at the front door: asks over the bus as any program does, and asks again when nothing
//! or "not now" comes back.

use std::time::Duration;

use broker::{
    Broker,
    bus::{BusError, RequestContext},
};
use bytes::Bytes;
use proto::{
    door::{Refusal, Verb},
    error::Code,
};
use serde_json::Value;

/// How long a person waits for an answer.
const PATIENCE: Duration = Duration::from_secs(8);

/// Where people reach the company. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Counter {
    pub(crate) broker: Broker,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    /// The answer.
    Reply(Value),
    /// A refusal that will not change.
    Refused(Code, String),
    /// Nothing, or "later": nobody knows whether it was done.
    Nothing,
}

impl Counter {
    /// Asks once.
    pub(crate) async fn ask(&self, verb: Verb, request: &Value) -> Heard {
        let subject = self.broker.log.subjects().service(verb);
        let body = Bytes::from(request.to_string());
        let context = RequestContext::default();
        let reply = match self.broker.bus.request(subject, body, context, PATIENCE).await {
            Ok(reply) => reply,
            Err(
                BusError::Unavailable(_)
                | BusError::NoResponders(_)
                | BusError::Timeout { .. }
                | BusError::TooLarge(_)
                | BusError::Forbidden(_),
            ) => return Heard::Nothing,
        };
        if let Ok(Refusal { error }) = serde_json::from_slice(&reply.payload) {
            let passes = matches!(error.code, Code::Unavailable | Code::Timeout | Code::Overloaded);
            return if passes { Heard::Nothing } else { Heard::Refused(error.code, error.message) };
        }
        serde_json::from_slice(&reply.payload).map_or(Heard::Nothing, Heard::Reply)
    }
}
