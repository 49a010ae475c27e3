//! Options of the supervisor role.

use std::time::Duration;

use proto::id::AgentName;

/// The options of a supervisor.
#[derive(Debug, Clone)]
pub struct SupervisorOptions {
    /// Interval of the sweep over all open jobs of an owned shard. A sweep should never find work.
    pub sweep_interval: Duration,
    /// Interval of the write probes of an owned shard. A probe is stored as one empty message.
    pub probe_interval: Duration,
    /// Limit on the jobs of one shard whose fold is cached while they wait for workers.
    pub cached_jobs: usize,
    /// Panics of one job after which it is quarantined until the next sweep or an operator's retry.
    pub panics_max: u32,
    /// `true` if the pools of this process may carry out quick commands without the queue.
    pub local_work: bool,
    /// Agents that metrics count by name; all others are counted together.
    pub agents: Vec<AgentName>,
    /// First wait after a panic or a failed write. It doubles with each repeat: up to a minute for
    /// an activation, and to 30 s for the restart of a shard.
    pub backoff: Duration,
}

impl Default for SupervisorOptions {
    fn default() -> Self {
        Self {
            sweep_interval: Duration::from_secs(600),
            probe_interval: Duration::from_secs(60),
            cached_jobs: 20_000,
            panics_max: 3,
            local_work: true,
            agents: Vec::new(),
            backoff: Duration::from_millis(500),
        }
    }
}
