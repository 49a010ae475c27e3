//! The log of the process: on standard error, and to an OTLP receiver when there is one. Its level
//! can be changed while the process runs.

use std::{
    io::IsTerminal,
    sync::{Arc, Mutex, PoisonError},
};

use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_sdk::logs::SdkLoggerProvider;
use tracing_subscriber::{
    EnvFilter, Layer, Registry, filter::FilterFn, layer::SubscriberExt, reload,
    util::SubscriberInitExt,
};

use super::TelemetryError;
use crate::config::{Log, LogFormat};

/// Libraries that only speak up with warnings unless the filter names them.
const QUIET: [&str; 10] = [
    "async_nats",
    "hyper",
    "hyper_util",
    "reqwest",
    "rustls",
    "h2",
    "ractor",
    "tonic",
    "tower",
    "opentelemetry",
];
/// What sends the log must not be logged there: each line would lead to another.
const SENDERS: [&str; 6] = ["opentelemetry", "tonic", "hyper", "h2", "tower", "reqwest"];

/// The level of the log, which can be looked at and changed. Cheap to clone.
#[derive(Clone)]
pub struct LogLevel {
    handle: reload::Handle<EnvFilter, Registry>,
    level: Arc<Mutex<String>>,
}

impl std::fmt::Debug for LogLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LogLevel").field(&self.get()).finish()
    }
}

impl LogLevel {
    /// The level or filter in force, as it was written.
    #[must_use]
    pub fn get(&self) -> String {
        self.level.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes it, for this process, until it ends.
    ///
    /// # Errors
    /// When the text is neither a level nor a filter; nothing is changed then.
    pub fn set(&self, level: &str) -> Result<(), TelemetryError> {
        let filter = filter(level)?;
        self.handle.reload(filter).map_err(|e| TelemetryError::Filter(e.to_string()))?;
        level.clone_into(&mut self.level.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}

/// Sets up the log.
pub(super) fn init(
    log: &Log,
    sent: Option<&SdkLoggerProvider>,
) -> Result<LogLevel, TelemetryError> {
    let (filter, handle) = reload::Layer::new(filter(&log.level)?);
    let pretty = match log.format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Pretty => true,
        LogFormat::Json => false,
    };
    let layer = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let shown = if pretty {
        let ansi = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        layer.with_ansi(ansi).with_target(false).compact().boxed()
    } else {
        layer.json().flatten_event(true).with_span_list(false).boxed()
    };
    let bridge = sent.map(|provider| {
        let ours = FilterFn::new(|meta| !SENDERS.iter().any(|s| meta.target().starts_with(s)));
        OpenTelemetryTracingBridge::new(provider).with_filter(ours)
    });
    tracing_subscriber::registry()
        .with(filter)
        .with(shown)
        .with(bridge)
        .try_init()
        .map_err(|_| TelemetryError::Twice)?;
    Ok(LogLevel { handle, level: Arc::new(Mutex::new(log.level.clone())) })
}

/// Reads a level (`info`) or a filter (`info,callboard_runtime=debug`). The libraries below only
/// speak up with warnings unless the filter names them.
///
/// # Errors
/// When it is neither.
pub fn filter(level: &str) -> Result<EnvFilter, TelemetryError> {
    let mut text = String::new();
    for library in QUIET.iter().filter(|l| !level.contains(**l)) {
        text.push_str(&format!("{library}=warn,"));
    }
    EnvFilter::try_new(text + level).map_err(|e| TelemetryError::Filter(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_or_a_filter_is_taken_and_anything_else_is_named() {
        for good in ["info", "debug,callboard_runtime=trace", "async_nats=debug"] {
            assert!(filter(good).is_ok(), "{good}");
        }
        assert!(matches!(filter("a=b=c=d"), Err(TelemetryError::Filter(_))));
    }

    #[test]
    fn the_level_can_be_changed_and_a_wrong_one_changes_nothing() {
        let (_layer, handle) = reload::Layer::<EnvFilter, Registry>::new(filter("info").unwrap());
        let level = LogLevel { handle, level: Arc::new(Mutex::new("info".to_owned())) };
        level.set("debug,callboard_runtime=trace").unwrap();
        assert!(level.set("a=b=c=d").is_err());
        assert_eq!(level.get(), "debug,callboard_runtime=trace");
    }
}
