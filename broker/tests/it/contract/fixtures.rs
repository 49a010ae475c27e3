//! The brokers under test.

use std::{sync::Arc, time::Duration};

use async_nats::HeaderMap;
use broker::{
    Broker,
    clock::Clock,
    memory::{Faults, Memory, MemoryOptions, VirtualClock},
    nats::{self, NatsOptions},
    testing::NatsServer,
};
use bytes::Bytes;
use jiff::Timestamp;
use proto::{id::WorkerId, subject::Subjects};

/// Deadline of unacknowledged commands and facts, on every fixture.
pub(crate) const ACK_WAIT: Duration = Duration::from_secs(1);

/// Age above which a large value is rewritten, on every fixture.
pub(crate) const RENEWED_AFTER: Duration = Duration::from_secs(2);

/// An installation for one test.
pub(crate) trait Fixture: Send + Sync {
    /// Opens another connection, as another process would.
    async fn broker(&self) -> Broker;
    /// Stores raw bytes, as a foreign program could.
    async fn store_raw(&self, subject: &str, payload: &[u8]);
    /// Returns the broker's time of day.
    fn now(&self) -> Timestamp;
}

/// Four shards, under a separate prefix.
pub(crate) fn subjects() -> Subjects {
    Subjects::new("it", 4).unwrap()
}

pub(crate) struct InMemory {
    pub(crate) memory: Memory,
    pub(crate) faults: Arc<Faults>,
    clock: VirtualClock,
}

impl InMemory {
    pub(crate) fn start() -> Self {
        Self::with_room_for(None)
    }

    pub(crate) fn with_room_for(records_max: Option<usize>) -> Self {
        let (clock, faults) = (VirtualClock::new(), Arc::new(Faults::default()));
        let options = MemoryOptions {
            ack_wait: ACK_WAIT,
            facts_ack_wait: ACK_WAIT,
            records_max,
            objects_renewed_after: RENEWED_AFTER,
            clock: Arc::new(clock),
            faults: Arc::clone(&faults),
            ..MemoryOptions::default()
        };
        Self { memory: Memory::new(subjects(), options), faults, clock }
    }
}

impl Fixture for InMemory {
    async fn broker(&self) -> Broker {
        self.memory.connect(WorkerId::new("test").unwrap())
    }

    async fn store_raw(&self, subject: &str, payload: &[u8]) {
        self.memory.store_raw(subject, Bytes::copy_from_slice(payload)).unwrap();
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// A nats-server for one test.
pub(crate) struct OnNats {
    pub(crate) server: NatsServer,
}

impl OnNats {
    pub(crate) async fn start() -> Self {
        Self { server: NatsServer::start().await }
    }

    pub(crate) fn options(&self) -> NatsOptions {
        let ack_wait_ms = u64::try_from(ACK_WAIT.as_millis()).unwrap();
        NatsOptions {
            servers: vec![self.server.url().to_owned()],
            ack_wait_ms,
            facts_ack_wait_ms: ack_wait_ms,
            pin_timeout_ms: 1000,
            objects_renewed_after_ms: u64::try_from(RENEWED_AFTER.as_millis()).unwrap(),
            ..NatsOptions::default()
        }
    }
}

impl Fixture for OnNats {
    async fn broker(&self) -> Broker {
        nats::connect(&self.options(), subjects(), WorkerId::new("test").unwrap()).await.unwrap()
    }

    async fn store_raw(&self, subject: &str, payload: &[u8]) {
        let client = async_nats::connect(self.server.url()).await.unwrap();
        let stream = async_nats::jetstream::new(client);
        let payload = Bytes::copy_from_slice(payload);
        let mut headers = HeaderMap::new();
        headers.insert("Callboard-Subject", subject);
        let sent = stream.publish_with_headers(subject.to_owned(), headers, payload).await;
        sent.unwrap().await.unwrap();
    }

    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
