//! What a pool is started with.

use std::{sync::Arc, time::Duration};

use broker::Broker;
use proto::{
    decision::DecisionKind,
    id::{Pool, WorkerId},
};
use tokio_util::sync::CancellationToken;

use super::{Gauge, Work};

/// What a pool takes, and within which bounds.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The kind of command.
    pub kind: DecisionKind,
    /// The pool.
    pub pool: Pool,
    /// Commands in hand at most.
    pub slots: usize,
    /// A command that was handed out more often than this is reported lost instead of run.
    pub deliveries_max: u64,
    /// How long tasks may go on after the shutdown begins.
    pub drain: Duration,
    /// How often a command is kept alive; a third of the log's acknowledgement wait when absent.
    pub heartbeat: Option<Duration>,
    /// How long a task may clean up after it is canceled.
    pub stop_grace: Duration,
}

impl PoolOptions {
    /// The usual bounds: 5 deliveries, 25 s to drain, 5 s to clean up.
    #[must_use]
    pub fn new(kind: DecisionKind, pool: Pool, slots: usize) -> Self {
        Self {
            kind,
            pool,
            slots,
            deliveries_max: 5,
            drain: Duration::from_secs(25),
            heartbeat: None,
            stop_grace: Duration::from_secs(5),
        }
    }
}

/// What a pool needs to start.
#[derive(Clone)]
pub struct PoolArgs {
    /// Where commands come from and results go.
    pub broker: Broker,
    /// This process.
    pub worker: WorkerId,
    /// What carries commands out.
    pub work: Arc<dyn Work>,
    /// What is taken.
    pub options: PoolOptions,
    /// Shows how busy the pool is.
    pub gauge: Gauge,
    /// Begins the shutdown: nothing new is taken, and the pool stops when nothing is left in hand
    /// or the time to drain is over.
    pub shutdown: CancellationToken,
}

impl PoolArgs {
    /// Arguments with a gauge of their own.
    #[must_use]
    pub fn new(
        broker: Broker,
        worker: WorkerId,
        work: Arc<dyn Work>,
        options: PoolOptions,
        shutdown: CancellationToken,
    ) -> Self {
        let gauge = Gauge::new(options.kind, &options.pool, options.slots);
        Self { broker, worker, work, options, gauge, shutdown }
    }
}

impl std::fmt::Debug for PoolArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolArgs")
            .field("work", &self.work.name())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
