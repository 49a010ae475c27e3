//! The options of a supervisor.

use std::time::Duration;

use proto::id::AgentName;

/// The options of a supervisor.
#[derive(Debug, Clone)]
pub struct SupervisorOptions {
    /// The interval of the sweep over all open jobs of an owned shard. It should never find work.
    pub sweep_interval: Duration,
    /// Most jobs of one shard that are kept folded in memory while they wait for workers.
    pub cached_jobs: usize,
    /// Panics of one job after which it is left alone until the next sweep.
    pub panics_max: u32,
    /// Agents that are counted by name; all others are counted as one.
    pub agents: Vec<AgentName>,
    /// First wait after a panic or a failed write; doubles up to a minute.
    pub backoff: Duration,
}

impl Default for SupervisorOptions {
    fn default() -> Self {
        Self {
            sweep_interval: Duration::from_secs(600),
            cached_jobs: 20_000,
            panics_max: 3,
            agents: Vec::new(),
            backoff: Duration::from_millis(500),
        }
    }
}
