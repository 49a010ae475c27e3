//! Acknowledgements: parsing of their reply subject, which describes the delivery, and sending.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;
use serde_json::json;

use super::link::Link;
use crate::log::Ack;

/// Acknowledges a delivery by a message to the server, without a reply.
#[derive(Debug)]
pub(super) struct NatsAck {
    pub(super) link: Arc<Link>,
    pub(super) reply: String,
}

impl NatsAck {
    async fn say(&self, what: Bytes) {
        self.link.tell(self.reply.clone(), what).await;
    }

    /// Terminates the message: no redelivery to any worker.
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

/// A delivery's reply subject, parsed.
pub(super) struct Address<'a> {
    pub(super) stream: &'a str,
    pub(super) delivered: u64,
    pub(super) stream_seq: u64,
    pub(super) consumer_seq: u64,
    pub(super) time: Timestamp,
    pub(super) pending: u64,
}

impl<'a> Address<'a> {
    /// Parses `$JS.ACK.[<domain>.<account>.]<stream>.<consumer>.<delivered>.<seq>.<consumer
    /// seq>.<time>.<pending>`; the longer form may have further tokens.
    pub(super) fn parse(subject: &'a str) -> Option<Self> {
        let tokens: Vec<&str> = subject.strip_prefix("$JS.ACK.")?.split('.').collect();
        let at = match tokens.len() {
            7 => 0,
            9.. => 2,
            _ => return None,
        };
        let number = |n: usize| tokens[at + n].parse::<u64>().ok();
        Some(Self {
            stream: tokens[at],
            delivered: number(2)?,
            stream_seq: number(3)?,
            consumer_seq: number(4)?,
            time: Timestamp::from_nanosecond(i128::from(number(5)?)).ok()?,
            pending: number(6)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_acknowledgement_are_read() {
        for subject in [
            "$JS.ACK.cb-shard-3.facts.2.17.9.1700000000000000000.5",
            "$JS.ACK.hub.ACC.cb-shard-3.facts.2.17.9.1700000000000000000.5",
            "$JS.ACK._.ACC.cb-shard-3.facts.2.17.9.1700000000000000000.5.token",
        ] {
            let ack = Address::parse(subject).unwrap();
            let numbers = (ack.delivered, ack.stream_seq, ack.consumer_seq, ack.pending);
            assert_eq!((ack.stream, numbers), ("cb-shard-3", (2, 17, 9, 5)), "{subject}");
            assert_eq!(ack.time.as_second(), 1_700_000_000);
        }
        for bad in ["$JS.ACK.s.c.1.2.3.4", "$JS.ACK.s.c.x.2.3.4.5", "_INBOX.a.b", ""] {
            assert!(Address::parse(bad).is_none(), "{bad}");
        }
    }
}
