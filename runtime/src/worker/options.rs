//! The settings of a pool.

use std::{sync::Arc, time::Duration};

use broker::Broker;
use proto::{
    decision::DecisionKind,
    id::{Pool, WorkerId},
};
use tokio_util::sync::CancellationToken;

use super::{Gauge, LocalPools, PoolActor, Role, local::Paces};
use crate::actor::Child;

/// The commands that a pool takes, and the pool's bounds.
#[derive(Debug, Clone)]
pub struct PoolOptions {
    /// The kind of the commands.
    pub kind: DecisionKind,
    /// The name under which the commands are queued.
    pub pool: Pool,
    /// The maximum number of commands that the pool holds at once.
    pub slots: usize,
    /// The maximum number of deliveries. A command with more is reported lost instead of run.
    pub deliveries_max: u64,
    /// The time that running tasks have after the shutdown begins.
    pub drain: Duration,
    /// The interval between heartbeats. When absent, a third of the log's acknowledgement wait.
    pub heartbeat: Option<Duration>,
    /// The time that a task has to clean up after its cancellation.
    pub stop_grace: Duration,
}

impl PoolOptions {
    /// Returns options with the default bounds: 5 deliveries, 25 s to drain, 5 s to clean up.
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
    /// The broker with the command queue and the log that stores the results.
    pub broker: Broker,
    /// The name of this process.
    pub worker: WorkerId,
    /// The actor that carries a command out. Each command gets a clone.
    pub role: R,
    /// The commands that the pool takes, and the pool's bounds.
    pub options: PoolOptions,
    /// The load of the pool, which presence announces.
    pub gauge: Gauge,
    /// The times that commands took.
    pub(super) paces: Paces,
    /// Canceled to begin the shutdown: the pool takes no further command, and stops when it holds
    /// none or when the drain deadline passes.
    pub shutdown: CancellationToken,
}

impl<R: Role> PoolArgs<R> {
    /// Creates arguments with a gauge of their own.
    #[must_use]
    pub fn new(
        broker: Broker,
        worker: WorkerId,
        role: R,
        options: PoolOptions,
        shutdown: CancellationToken,
    ) -> Self {
        let gauge = Gauge::new(options.kind, &options.pool, options.slots);
        Self { broker, worker, role, options, gauge, paces: Paces::default(), shutdown }
    }

    /// Offers the pool to the supervisor of this process, for commands that are quick.
    #[must_use]
    pub fn offered_to(self, local: &LocalPools) -> Self {
        local.offer(&self);
        self
    }

    /// Returns the pool as the child of a supervision tree, and the pool's gauge. The child stops
    /// by itself after the shutdown.
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
