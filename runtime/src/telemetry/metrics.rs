//! The meter of this process, and histograms with fitting buckets.
//!
//! An instrument that is created before [`super::start`] measures nothing, so instruments are
//! created at their first use. No attribute may ever be a job, a person or a text.

use opentelemetry::{global, metrics::Meter};

pub use opentelemetry::metrics::Histogram;

/// Buckets for operations that usually take milliseconds, in seconds.
pub const LATENCY: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Buckets for durations from milliseconds to days, in seconds.
pub const SECONDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0,
    3_600.0, 21_600.0, 86_400.0, 604_800.0,
];

/// Returns Callboard's meter.
#[must_use]
pub fn meter() -> Meter {
    global::meter("callboard")
}

/// Creates a histogram of seconds, with the description `what`.
#[must_use]
pub fn histogram(name: &'static str, what: &'static str, buckets: &[f64]) -> Histogram<f64> {
    meter()
        .f64_histogram(name)
        .with_unit("s")
        .with_description(what)
        .with_boundaries(buckets.to_vec())
        .build()
}
