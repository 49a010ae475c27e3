//! The log, the bus, key-value buckets and the object store in one process, without persistence:
//! for tests, simulation and `callboard dev` on a machine without nats-server.
//!
//! It keeps the same promises as [`crate::nats`] and has the same quirks: records are encoded and
//! decoded, sequence numbers have gaps, a late acknowledgement is honoured, a redelivery overtakes,
//! a duplicate may be forgotten. [`Faults`] makes it misbehave on demand, below the layer that
//! settles writes. It must never be kinder than JetStream where a caller could depend on that.
//!
//! All durations are tokio's, so that tests may pause time; the time of day is a [`Clock`].

mod bus;
mod clock;
mod commands;
mod faults;
mod feed;
mod kv;
mod log;
mod objects;
mod queue;
mod state;
mod stream;
mod timers;
mod write;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use proto::{
    id::{Seq, Shard, WorkerId},
    subject::{ForeignSubject, RecordSubject, Subjects},
};

use self::{
    bus::MemoryBus, kv::MemoryKv, log::MemoryLog, objects::MemoryObjects, queue::QueueKey,
    state::Shared,
};
pub use self::{
    clock::VirtualClock,
    faults::{Call, Fault, Faults, TimerFault},
};
use crate::{Broker, clock::Clock};

/// Settings of an in-memory broker.
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// Time without an acknowledgement or sign of life after which a command is redelivered.
    pub ack_wait: Duration,
    /// Time after which an unacknowledged fact is redelivered.
    pub facts_ack_wait: Duration,
    /// Limit on records over all jobs, above which writes fail with `Full`; absent for no limit.
    pub records_max: Option<usize>,
    /// Age above which storing a large value again rewrites it.
    pub objects_renewed_after: Duration,
    /// Writer id of the connection that [`start`] opens.
    pub writer: WorkerId,
    /// Source of the time of day. The default advances with tokio's time; a process that runs for
    /// days should use [`crate::clock::SystemClock`], which accounts for the machine's sleep.
    pub clock: Arc<dyn Clock>,
    /// Faults to inject; shared with the caller.
    pub faults: Arc<Faults>,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self {
            ack_wait: Duration::from_secs(30),
            facts_ack_wait: Duration::from_secs(15),
            records_max: None,
            objects_renewed_after: crate::objects::RENEWED_AFTER,
            writer: WorkerId::new("memory").expect("a plain word is an id"),
            clock: Arc::new(VirtualClock::new()),
            faults: Arc::default(),
        }
    }
}

/// One installation in memory, destroyed with its last handle or connection.
#[derive(Debug, Clone)]
pub struct Memory {
    shared: Arc<Shared>,
    bus: Arc<MemoryBus>,
    kv: Arc<MemoryKv>,
    objects: Arc<MemoryObjects>,
    writer: WorkerId,
}

/// Creates an installation and one connection to it. Must be called on a tokio runtime.
#[must_use]
pub fn start(subjects: Subjects, options: MemoryOptions) -> Broker {
    let memory = Memory::new(subjects, options);
    memory.connect(memory.writer.clone())
}

impl Memory {
    /// Creates an installation.
    #[must_use]
    pub fn new(subjects: Subjects, options: MemoryOptions) -> Self {
        let faults = Arc::clone(&options.faults);
        Self {
            bus: Arc::new(MemoryBus::new(subjects.clone(), Arc::clone(&faults))),
            kv: Arc::new(MemoryKv::new(faults)),
            objects: Arc::new(MemoryObjects::new(options.clone())),
            writer: options.writer.clone(),
            shared: Arc::new(Shared::new(subjects, options)),
        }
    }

    /// Opens a connection whose records name `writer`.
    #[must_use]
    pub fn connect(&self, writer: WorkerId) -> Broker {
        let log = MemoryLog::new(Arc::clone(&self.shared), Arc::clone(&self.objects), writer);
        Broker {
            log: Arc::new(log),
            bus: Arc::clone(&self.bus) as _,
            kv: Arc::clone(&self.kv) as _,
            objects: Arc::clone(&self.objects) as _,
        }
    }

    /// Stores raw bytes, as a foreign program could.
    ///
    /// # Errors
    /// If the subject belongs to no stream.
    pub fn store_raw(&self, subject: &str, payload: Bytes) -> Result<Seq, ForeignSubject> {
        let RecordSubject { job, family, .. } = self.shared.subjects.parse(subject)?;
        Ok(self.shared.lock().append(&self.shared, &job, family, payload, None))
    }

    /// Redelivers every unacknowledged message as if its deadline had passed. The first recipient
    /// keeps its delivery.
    pub fn redeliver_now(&self) {
        self.shared.lock().redeliver_now();
    }

    /// Moves the pin of a shard's facts to the next feed. The feed that loses the pin does not
    /// notice, and its acknowledgements still count: a pin is not a fence.
    pub fn unpin(&self, shard: Shard) {
        self.shared.lock().queue(QueueKey::Facts(shard)).unpin();
    }
}
