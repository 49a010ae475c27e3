//! The settings of supervisors.

use runtime::config::{Check, DAY, MANY, Section, wide};
use serde::Deserialize;

/// Limits of the supervisor role.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supervisor {
    /// The interval between sweeps over every open job, in milliseconds.
    pub sweep_interval_ms: u64,
    /// The interval between two write probes of an owned shard, in milliseconds.
    pub probe_interval_ms: u64,
    /// The maximum number of jobs whose fold is kept in memory.
    pub cache_jobs: usize,
    /// `true` if a process that also has a role of workers carries out quick commands without the queue.
    pub local_work: bool,
}

impl Section for Supervisor {
    const NAME: &'static str = "supervisor";
    const DEFAULTS: &'static str = include_str!("settings.toml");

    fn check(&self, check: &mut Check) {
        check.bounds(&[
            ("supervisor.sweep_interval_ms", self.sweep_interval_ms, 1_000, DAY),
            ("supervisor.probe_interval_ms", self.probe_interval_ms, 1_000, DAY),
            ("supervisor.cache_jobs", wide(self.cache_jobs), 1, MANY),
        ]);
    }
}
