//! Prints a list of latencies as the harness reads it: in milliseconds, in the order in which they
//! were measured. The harness sorts and picks percentiles, so that this is done in one way for all.

use std::time::Duration;

pub(crate) fn milliseconds(latencies: &[Duration]) -> Vec<f64> {
    latencies.iter().map(|latency| (latency.as_secs_f64() * 1e6).round() / 1e3).collect()
}
