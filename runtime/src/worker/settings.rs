//! The settings of workers.

use std::time::Duration;

use serde::Deserialize;

use crate::config::{Check, HOUR, MANY, Section, wide};

/// Limits of the worker roles.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workers {
    /// The maximum number of concurrent planner calls.
    pub plan_slots: usize,
    /// The maximum number of concurrent model turns.
    pub turn_slots: usize,
    /// The maximum number of concurrent tool calls, over all tools.
    pub call_slots: usize,
    /// The maximum number of questions that are being put into the inbox. An open question takes no
    /// slot.
    pub ask_slots: usize,
    /// The time that running tasks have after the shutdown begins, in milliseconds.
    pub drain_ms: u64,
    /// Deliveries of a command before it is reported lost.
    pub deliveries_max: u64,
    /// The interval between heartbeats, in milliseconds. When absent, a third of
    /// `nats.ack_wait_ms`.
    pub heartbeat_ms: Option<u64>,
}

impl Workers {
    /// Returns the time that running tasks have after the shutdown begins.
    #[must_use]
    pub fn drain(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }

    /// Returns the interval between heartbeats, if it is set.
    #[must_use]
    pub fn heartbeat(&self) -> Option<Duration> {
        self.heartbeat_ms.map(Duration::from_millis)
    }
}

impl Section for Workers {
    const NAME: &'static str = "workers";
    const DEFAULTS: &'static str = include_str!("settings.toml");

    fn check(&self, check: &mut Check) {
        check.bounds(&[
            ("workers.plan_slots", wide(self.plan_slots), 1, MANY),
            ("workers.turn_slots", wide(self.turn_slots), 1, MANY),
            ("workers.call_slots", wide(self.call_slots), 1, MANY),
            ("workers.ask_slots", wide(self.ask_slots), 1, MANY),
            ("workers.drain_ms", self.drain_ms, 0, HOUR),
            ("workers.deliveries_max", self.deliveries_max, 2, 1_000),
        ]);
        if let Some(ms) = self.heartbeat_ms {
            check.bounds(&[("workers.heartbeat_ms", ms, 100, HOUR)]);
        }
    }
}
