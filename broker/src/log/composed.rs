//! A log whose parts come from different implementations.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use ambassador::delegate_to_methods;
use futures::stream::BoxStream;
use jiff::Timestamp;
use proto::{
    decision::{Decision, DecisionKind},
    entry::Entry,
    fact::{Fact, Source},
    id::{HookName, JobId, Pool, Seq, Shard, TimerName},
    subject::Subjects,
    trace::TraceContext,
};
use tokio::sync::Semaphore;

use super::{
    Armed, CasOutcome, Delivery, Depth, Feed, Latest, Log, LogError, Maintenance, Milestones,
    ObjectRefs, OutboxState, Passed, Posted, Progress, Queues, Reader, ShardLoad, Storage,
    Submission, Writer, maintenance::ambassador_impl_Maintenance, queues::ambassador_impl_Queues,
    reader::ambassador_impl_Reader, writer::ambassador_impl_Writer,
};

/// A log assembled from parts. A wrapper that changes one part takes the others from the wrapped
/// log: `Composed { writer, ..Composed::from(log) }`.
#[derive(Clone)]
pub struct Composed {
    /// Reads the logs of jobs.
    pub reader: Arc<dyn Reader>,
    /// Appends records, arms and cancels timers.
    pub writer: Arc<dyn Writer>,
    /// Delivers facts and commands.
    pub queues: Arc<dyn Queues>,
    /// Inspects and maintains the installation.
    pub maintenance: Arc<dyn Maintenance>,
}

impl From<Arc<dyn Log>> for Composed {
    fn from(log: Arc<dyn Log>) -> Self {
        Self { reader: log.clone(), writer: log.clone(), queues: log.clone(), maintenance: log }
    }
}

#[delegate_to_methods]
#[delegate(Reader, target_ref = "reader")]
#[delegate(Writer, target_ref = "writer")]
#[delegate(Queues, target_ref = "queues")]
#[delegate(Maintenance, target_ref = "maintenance")]
impl Composed {
    fn reader(&self) -> &dyn Reader {
        &*self.reader
    }

    fn writer(&self) -> &dyn Writer {
        &*self.writer
    }

    fn queues(&self) -> &dyn Queues {
        &*self.queues
    }

    fn maintenance(&self) -> &dyn Maintenance {
        &*self.maintenance
    }
}
