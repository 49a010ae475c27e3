//! The log and what stands beside it in one process, kept nowhere: for tests, simulation and
//! `callboard dev` on a machine without nats-server.
//!
//! It keeps the same promises as [`crate::nats`] and has the same habits: records are encoded and
//! decoded on their way, sequence numbers have gaps, a late acknowledgement is honoured, a
//! redelivery overtakes, a duplicate may be forgotten. [`Faults`] has it misbehave on demand, below
//! the layer that finds out what became of a write. It must never be kinder than JetStream where a
//! caller could come to depend on it.
//!
//! All time is tokio's, so that tests may pause it; the time of day is a [`Clock`].

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
    subject::{ForeignSubject, Place, Subjects},
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

/// The behaviour of the broker in memory.
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// The longest silence about a command before it is redelivered.
    pub ack_wait: Duration,
    /// The same, for facts.
    pub facts_ack_wait: Duration,
    /// The limit on records over all jobs; above it writes fail with `Full`.
    pub records_max: Option<usize>,
    /// The age above which a stored large value is rewritten when it is put again.
    pub objects_renewed_after: Duration,
    /// The writer of records made through the first connection.
    pub writer: WorkerId,
    /// The time of day. The default moves with tokio's time; a process that people use for days
    /// should take [`crate::clock::SystemClock`], which sees the machine sleep.
    pub clock: Arc<dyn Clock>,
    /// Faults.
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

/// One installation in memory. Gone when it and every connection to it are dropped.
#[derive(Debug, Clone)]
pub struct Memory {
    shared: Arc<Shared>,
    bus: Arc<MemoryBus>,
    kv: Arc<MemoryKv>,
    objects: Arc<MemoryObjects>,
    writer: WorkerId,
}

/// A new installation, and one connection to it. Must be called on a tokio runtime.
#[must_use]
pub fn start(subjects: Subjects, options: MemoryOptions) -> Broker {
    let memory = Memory::new(subjects, options);
    memory.connect(memory.writer.clone())
}

impl Memory {
    /// A new installation.
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

    /// A connection to it.
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

    /// Stores bytes as they are, as a program that is not Callboard may.
    ///
    /// # Errors
    /// When the subject is not one that is stored.
    pub fn store_raw(&self, subject: &str, payload: Bytes) -> Result<Seq, ForeignSubject> {
        let Place { job, family, .. } = self.shared.subjects.parse(subject)?;
        Ok(self.shared.lock().append(&self.shared, &job, family, payload, None))
    }

    /// Redelivers every unacknowledged delivery, as if its time had passed. Its first recipient
    /// keeps it.
    pub fn redeliver_now(&self) {
        self.shared.lock().redeliver_now();
    }

    /// Moves the pin of a shard's facts to the next feed. The feed that loses it does not notice,
    /// and its acknowledgements still count: a pin is not a fence.
    pub fn unpin(&self, shard: Shard) {
        self.shared.lock().queue(QueueKey::Facts(shard)).unpin();
    }
}
