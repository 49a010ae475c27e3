//! The front-door client of simulated people. It sends requests over the bus, as any program does;
//! a request without an answer may be repeated.

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

/// The timeout of a request.
const PATIENCE: Duration = Duration::from_secs(8);

/// A connection of people to the front door. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Counter {
    pub(crate) broker: Broker,
}

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum DoorReply {
    /// A successful reply.
    Reply(Value),
    /// A permanent refusal.
    Refused(Code, String),
    /// No reply, or a temporary refusal: the request may have been carried out or not.
    Nothing,
}

impl Counter {
    pub(crate) async fn ask(&self, verb: Verb, request: &Value) -> DoorReply {
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
            ) => return DoorReply::Nothing,
        };
        if let Ok(Refusal { error }) = serde_json::from_slice(&reply.payload) {
            let passes = matches!(error.code, Code::Unavailable | Code::Timeout | Code::Overloaded);
            return if passes {
                DoorReply::Nothing
            } else {
                DoorReply::Refused(error.code, error.message)
            };
        }
        serde_json::from_slice(&reply.payload).map_or(DoorReply::Nothing, DoorReply::Reply)
    }
}
