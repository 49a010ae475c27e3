//! Says what became of a delivery: a message to the server that is not answered.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::json;

use super::link::Link;
use crate::log::Ack;

/// Says what became of a delivery.
#[derive(Debug)]
pub(super) struct NatsAck {
    pub(super) link: Arc<Link>,
    pub(super) reply: String,
}

impl NatsAck {
    async fn say(&self, what: Bytes) {
        self.link.tell(self.reply.clone(), what).await;
    }

    /// It must never be handed out again, to anybody.
    pub(super) async fn never(&self) {
        self.say(Bytes::from_static(b"+TERM")).await;
    }
}

#[async_trait]
impl Ack for NatsAck {
    async fn done(&self) {
        self.say(Bytes::from_static(b"+ACK")).await;
    }

    async fn working(&self) {
        self.say(Bytes::from_static(b"+WPI")).await;
    }

    async fn later(&self, wait: Duration) {
        let delay = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        self.say(Bytes::from(format!("-NAK {}", json!({ "delay": delay })))).await;
    }
}
