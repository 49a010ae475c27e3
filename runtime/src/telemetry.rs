//! Logs on standard error, and the ids of traces. Never shows what users wrote at `info` or above:
//! goals, answers, arguments and results are at most at `debug`.

use std::io::IsTerminal;

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};
use proto::trace::TraceContext;
use tracing_subscriber::{EnvFilter, layer::SubscriberExt, util::SubscriberInitExt};

use crate::config::{Log, LogFormat};

/// The log could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The level is neither a level nor a filter.
    #[error("log.level: {0}")]
    Filter(String),
    /// Another subscriber is installed in this process.
    #[error("logging is set up already")]
    Twice,
}

/// Sets up the log of the process, on standard error: for people when that is a terminal (or is
/// asked for), as one JSON object a line otherwise.
///
/// # Errors
/// When the level is no filter, or the log was set up before.
pub fn init(log: &Log) -> Result<(), TelemetryError> {
    let filter = filter(&log.level)?;
    let pretty = match log.format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Pretty => true,
        LogFormat::Json => false,
    };
    let registry = tracing_subscriber::registry().with(filter);
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let installed = if pretty {
        let ansi = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        registry.with(layer.with_ansi(ansi).with_target(false).compact()).try_init()
    } else {
        registry.with(layer.json().flatten_event(true).with_span_list(false)).try_init()
    };
    installed.map_err(|_| TelemetryError::Twice)
}

/// Reads a level (`info`) or a filter (`info,callboard_runtime=debug`). The libraries below only
/// speak up with warnings unless the filter names them.
///
/// # Errors
/// When it is neither.
pub fn filter(level: &str) -> Result<EnvFilter, TelemetryError> {
    let quiet = ["async_nats", "hyper", "hyper_util", "reqwest", "rustls", "h2", "ractor"];
    let mut text = String::new();
    for library in quiet.iter().filter(|l| !level.contains(**l)) {
        text.push_str(&format!("{library}=warn,"));
    }
    EnvFilter::try_new(text + level).map_err(|e| TelemetryError::Filter(e.to_string()))
}

/// The root of a new trace.
#[must_use]
pub fn new_trace() -> TraceContext {
    TraceContext::new(fastrand::u128(1..), fastrand::u64(1..), true)
}

/// The same trace, seen from a new span.
#[must_use]
pub fn child_of(parent: TraceContext) -> TraceContext {
    parent.child(fastrand::u64(1..))
}

/// The context as OpenTelemetry's own type, marked as coming from another process: the parent for
/// spans that an exporter is given.
#[must_use]
pub fn span_context(trace: TraceContext) -> SpanContext {
    let flags = if trace.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::default() };
    SpanContext::new(
        TraceId::from(trace.trace_id()),
        SpanId::from(trace.span_id()),
        flags,
        true,
        TraceState::default(),
    )
}

/// The context of a span that OpenTelemetry made, for the headers of a message; none when it is
/// not valid.
#[must_use]
pub fn from_span_context(span: &SpanContext) -> Option<TraceContext> {
    span.is_valid().then(|| {
        TraceContext::new(
            u128::from_be_bytes(span.trace_id().to_bytes()),
            u64::from_be_bytes(span.span_id().to_bytes()),
            span.is_sampled(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_stays_in_its_trace() {
        let parent = new_trace();
        let child = child_of(parent);
        assert_eq!(child.trace_id(), parent.trace_id());
        assert_ne!(child.span_id(), parent.span_id());
        assert_ne!(new_trace().trace_id(), parent.trace_id());
    }

    #[test]
    fn a_context_survives_opentelemetry() {
        let trace = new_trace();
        assert_eq!(from_span_context(&span_context(trace)), Some(trace));
        assert_eq!(from_span_context(&SpanContext::empty_context()), None);
    }

    #[test]
    fn a_level_or_a_filter_is_taken_and_anything_else_is_named() {
        for good in ["info", "debug,callboard_runtime=trace", "async_nats=debug"] {
            assert!(filter(good).is_ok(), "{good}");
        }
        assert!(matches!(filter("a=b=c=d"), Err(TelemetryError::Filter(_))));
    }
}
