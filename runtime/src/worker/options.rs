//! The settings of a pool.

use std::{sync::Arc, time::Duration};

use broker::Broker;
use proto::{
    decision::DecisionKind,
    id::{Pool, WorkerId},
};
use tokio_util::sync::CancellationToken;

use super::{Gauge, PoolActor, Role};
use crate::actor::Child;

/// The commands that a pool takes, and its bounds.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The kind of command.
    pub kind: DecisionKind,
    /// The pool.
    pub pool: Pool,
    /// Commands in hand at most.
    pub slots: usize,
    /// A command that was delivered more often than this is reported lost instead of run.
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

/// The arguments of a pool.
#[derive(Clone)]
pub struct PoolArgs<R> {
    /// The source of commands, and the place of their results.
    pub broker: Broker,
    /// The name of this process.
    pub worker: WorkerId,
    /// The actor that carries a command out; each command gets a clone.
    pub role: R,
    /// The commands that the pool takes, and its bounds.
    pub options: PoolOptions,
    /// The load of the pool.
    pub gauge: Gauge,
    /// Begins the shutdown: the pool takes nothing new, and stops when it has nothing in hand or
    /// the time to drain is over.
    pub shutdown: CancellationToken,
}

impl<R: Role> PoolArgs<R> {
    /// Arguments with a gauge of their own.
    #[must_use]
    pub fn new(
        broker: Broker,
        worker: WorkerId,
        role: R,
        options: PoolOptions,
        shutdown: CancellationToken,
    ) -> Self {
        let gauge = Gauge::new(options.kind, &options.pool, options.slots);
        Self { broker, worker, role, options, gauge, shutdown }
    }

    /// The pool as the child of a tree, and its gauge. The child stops by itself after the shutdown.
    #[must_use]
    pub fn into_child(self, name: impl Into<Arc<str>>) -> (Child, Gauge) {
        let gauge = self.gauge.clone();
        (Child::actor(name, PoolActor::default, self), gauge)
    }
}

impl<R: Role> std::fmt::Debug for PoolArgs<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolArgs")
            .field("role", &R::NAME)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
