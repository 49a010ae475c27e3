//! The log of the process, written to standard error and, if there is one, to an OTLP receiver. Its
//! level can change while the process runs.

mod correlate;
mod filter;
mod json;
mod line;
mod panics;
mod pretty;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::IsTerminal,
    sync::{Arc, Mutex, PoisonError},
};

use opentelemetry_appender_tracing::layer::{OpenTelemetryTracingBridge, TracingSpanAttributes};
use opentelemetry_sdk::logs::SdkLoggerProvider;
use tracing_subscriber::{
    EnvFilter, Layer, Registry,
    filter::FilterFn,
    fmt::{format::JsonFields, writer::BoxMakeWriter},
    layer::SubscriberExt,
    registry::LookupSpan,
    reload,
    util::SubscriberInitExt,
};

pub(super) use self::{correlate::Correlate, panics::tell as tell_panics};
use self::{json::Json, pretty::Pretty};
use super::{Identity, TelemetryError};
use crate::telemetry::settings::{Log, LogFormat};

pub use self::filter::filter;

/// Targets of the libraries that export logs. Their lines are not exported, for each would cause
/// another one.
const SENDERS: [&str; 7] = ["opentelemetry", "tonic", "hyper", "h2", "tower", "reqwest", "rustls"];

/// The fields of spans that are copied to every log record within them.
const CORRELATED: [&str; 6] = ["job", "seq", "shard", "work", "trace_id", "span_id"];

/// The log level of a running process, which can be read and changed. Clones share it.
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
    /// Returns the current level or filter, as it was given.
    #[must_use]
    pub fn get(&self) -> String {
        self.level.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the level of this process until the process ends.
    ///
    /// # Errors
    /// An error is returned when the text is neither a level nor a filter. The level is unchanged
    /// then.
    pub fn set(&self, level: &str) -> Result<(), TelemetryError> {
        let filter = filter(level)?;
        self.handle.reload(filter).map_err(|e| TelemetryError::Filter(e.to_string().into()))?;
        level.clone_into(&mut self.level.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }

    /// Creates a level that belongs to no log.
    #[cfg(test)]
    pub(crate) fn detached(level: &str) -> Self {
        let (layer, handle) = reload::Layer::new(filter(level).expect("a level"));
        // The handle works as long as its layer exists.
        std::mem::forget(layer);
        Self { handle, level: Arc::new(Mutex::new(level.to_owned())) }
    }
}

/// The destination of the log.
#[derive(Debug)]
pub enum Sink {
    /// Standard error.
    StandardError,
    /// A file, for people.
    File(File),
}

/// Returns whether log lines on standard error are formatted for people. Otherwise each line is one JSON object, and
/// nothing else should be written among them.
#[must_use]
pub fn is_for_people(log: &Log) -> bool {
    match log.format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Pretty => true,
        LogFormat::Json => false,
    }
}

/// Sets up the log of a long-running process, or without an identity that of a short command.
pub(super) fn init(
    log: &Log,
    sink: Sink,
    process: Option<&Identity>,
    sent: Option<&SdkLoggerProvider>,
) -> Result<LogLevel, TelemetryError> {
    let (filter, handle) = reload::Layer::new(filter(&log.level)?);
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (writer, pretty, ansi) = match sink {
        Sink::StandardError => {
            let ansi = std::io::stderr().is_terminal() && !no_color;
            (BoxMakeWriter::new(std::io::stderr), is_for_people(log), ansi)
        }
        Sink::File(file) => {
            (BoxMakeWriter::new(Arc::new(file)), log.format != LogFormat::Json, false)
        }
    };
    let layer = tracing_subscriber::fmt::layer().fmt_fields(JsonFields::new()).with_writer(writer);
    let shown = if pretty {
        layer.with_ansi(ansi).event_format(Pretty).boxed()
    } else {
        layer.with_ansi(false).event_format(Json::of(process)).boxed()
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(shown)
        .with(sent.map(bridge))
        .try_init()
        .map_err(|_| TelemetryError::Twice)?;
    Ok(LogLevel { handle, level: Arc::new(Mutex::new(log.level.clone())) })
}

/// Returns the layer that passes log records to the exporter.
fn bridge<S>(provider: &SdkLoggerProvider) -> impl Layer<S> + use<S>
where
    S: tracing::Subscriber + for<'a> LookupSpan<'a>,
{
    let ours = FilterFn::new(|meta| !SENDERS.iter().any(|s| meta.target().starts_with(s)));
    OpenTelemetryTracingBridge::builder(provider)
        .with_tracing_span_attributes(TracingSpanAttributes::allowlist(CORRELATED))
        .build()
        .with_filter(ours)
}
