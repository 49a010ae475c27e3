//! Puts the planner to work: the actor of its pool.

use std::sync::Arc;

use broker::Broker;
use model::Model;
use proto::{
    decision::{DecisionKind, pools},
    id::WorkerId,
};
use runtime::{
    actor::Child,
    registry::Registry,
    worker::{Gauge, PoolActor, PoolArgs, PoolOptions},
};
use tokio_util::sync::CancellationToken;

use crate::work::{Planner, ROLE};

/// What a planner needs to be put to work.
pub struct Setup {
    /// Where commands come from and plans go.
    pub broker: Broker,
    /// This process.
    pub worker: WorkerId,
    /// The model that is asked.
    pub model: Arc<dyn Model>,
    /// The tools there are.
    pub registry: Registry,
    /// The bounds of the pool; see [`options`].
    pub options: PoolOptions,
    /// Begins the shutdown.
    pub shutdown: CancellationToken,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The bounds of the planners' pool: `slots` plans in the making at most, the rest as usual.
#[must_use]
pub fn options(slots: usize) -> PoolOptions {
    PoolOptions::new(DecisionKind::Plan, pools::models(), slots)
}

/// The child of a tree that makes plans, with the gauge that shows how busy it is. It stops by
/// itself after `shutdown`.
#[must_use]
pub fn start(setup: Setup) -> (Child, Gauge) {
    let Setup { broker, worker, model, registry, options, shutdown } = setup;
    let work = Arc::new(Planner::new(model, registry));
    let pool = PoolArgs::new(broker, worker, work, options, shutdown);
    let gauge = pool.gauge.clone();
    (Child::actor(ROLE, || PoolActor, pool), gauge)
}
