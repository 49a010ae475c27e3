//! The format of latencies for the harness: in milliseconds, in the order of measurement. The
//! harness computes the percentiles, so that they are computed in one way for all peers.

use std::time::Duration;

pub(crate) fn milliseconds(latencies: &[Duration]) -> Vec<f64> {
    latencies.iter().map(|latency| (latency.as_secs_f64() * 1e6).round() / 1e3).collect()
}
