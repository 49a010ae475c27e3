//! The settings of supervisors.

use runtime::config::{Check, DAY, MANY, Section, wide};
use serde::Deserialize;

/// Supervisors.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Supervisor {
    /// How often every open job is looked at again.
    pub sweep_interval_ms: u64,
    /// Jobs whose state is kept in memory, at most.
    pub cache_jobs: usize,
}

impl Section for Supervisor {
    const NAME: &'static str = "supervisor";
    const DEFAULTS: &'static str = include_str!("settings.toml");

    fn check(&self, check: &mut Check) {
        check.bounds(&[
            ("supervisor.sweep_interval_ms", self.sweep_interval_ms, 1_000, DAY),
            ("supervisor.cache_jobs", wide(self.cache_jobs), 1, MANY),
        ]);
    }
}
