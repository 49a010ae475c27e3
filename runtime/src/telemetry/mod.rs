//! Telemetry: the log of the process, traces and metrics, and their export.
//!
//! Follows the OpenTelemetry semantic conventions 1.42.0. Content of users never appears at `info`
//! or above, or in a trace, unless `telemetry.content` is on. Telemetry never fails or delays a
//! job: a signal that cannot be exported is dropped.

mod content;
mod export;
mod ids;
pub mod keys;
mod logs;
mod metrics;
mod process;
pub mod settings;
mod span;
mod trace;

use opentelemetry::{global, trace::TracerProvider as _};
use opentelemetry_sdk::{
    Resource, logs::SdkLoggerProvider, metrics::SdkMeterProvider, trace::SdkTracerProvider,
};

pub use self::{
    content::{Content, Redact},
    export::ExportError,
    ids::{of_ask, of_stretch},
    logs::{LogLevel, Sink, filter, is_for_people},
    metrics::{Histogram, LATENCY, SECONDS, histogram, meter},
    span::{Kind, Span, is_tracing},
    trace::{child_of, from_span_context, new_trace, span_context, within},
};
use proto::{
    id::WorkerId,
    lang::{Language, Words},
};

/// The identity of this process in telemetry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The worker's id: `service.instance.id`.
    pub worker: WorkerId,
    /// The roles of the process.
    pub roles: Vec<String>,
    /// Callboard's version: `service.version`.
    pub version: String,
}

/// The reason why telemetry could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The level is neither a level nor a filter.
    #[error("log.level: {}", _0.text(Language::En))]
    Filter(Words),
    /// Another subscriber is installed in this process.
    #[error("logging is set up already")]
    Twice,
    /// The exporters cannot be built.
    #[error(transparent)]
    Export(#[from] ExportError),
}

impl TelemetryError {
    /// Returns the reason for users.
    pub(crate) fn words(&self) -> Words {
        match self {
            Self::Filter(why) => why.clone(),
            Self::Twice | Self::Export(_) => self.to_string().into(),
        }
    }
}

/// The telemetry of this process. Pending signals are exported by [`Telemetry::end`].
#[derive(Debug, Clone)]
pub struct Telemetry {
    level: LogLevel,
    registry: prometheus::Registry,
    meters: SdkMeterProvider,
    tracers: Option<SdkTracerProvider>,
    loggers: Option<SdkLoggerProvider>,
}

/// Sets up the log alone, for short commands. Lines are pretty when standard error is a terminal or
/// the settings demand it, and JSON objects otherwise.
///
/// # Errors
/// An error is returned when the level is no filter, or the log was set up before.
pub fn init(log: &settings::Log) -> Result<LogLevel, TelemetryError> {
    logs::init(log, Sink::StandardError, None, None)
}

/// Sets up the log, the metrics and, where a receiver is configured, the export. Call it once in a
/// process, inside its Tokio runtime, before the first measurement.
///
/// # Errors
/// An error is returned when the level is no filter, an exporter cannot be built, or the log was
/// set up before.
pub fn start(
    settings: &settings::Telemetry,
    log: &settings::Log,
    sink: Sink,
    identity: &Identity,
) -> Result<Telemetry, TelemetryError> {
    let resource = resource(identity);
    let registry = prometheus::Registry::new();
    let out = export::exporters(settings)?;
    trace::sample(settings.trace_sample_ratio);
    let meters = export::meters(settings, &resource, &registry, out.metrics)?;
    global::set_meter_provider(meters.clone());
    let tracers = out.spans.map(|exporter| export::tracers(&resource, exporter));
    if let Some(tracers) = &tracers {
        global::set_tracer_provider(tracers.clone());
        span::install(tracers.tracer("callboard"));
    }
    let loggers = out.logs.map(|exporter| export::loggers(&resource, exporter));
    let level = logs::init(log, sink, Some(identity), loggers.as_ref())?;
    logs::tell_panics();
    process::observe();
    Ok(Telemetry { level, registry, meters, tracers, loggers })
}

impl Telemetry {
    /// Returns the handle that changes the log level of the running process.
    #[must_use]
    pub fn level(&self) -> &LogLevel {
        &self.level
    }

    /// Returns every metric in the Prometheus text format.
    ///
    /// # Errors
    /// An error is returned when a metric cannot be encoded, which is a defect.
    pub fn prometheus(&self) -> Result<String, prometheus::Error> {
        prometheus::TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// Exports all pending signals, with a bounded wait.
    pub async fn end(self) {
        // The exporters wait for threads of their own.
        let flush = move || {
            let spans = self.tracers.as_ref().map(SdkTracerProvider::shutdown);
            let logs = self.loggers.as_ref().map(SdkLoggerProvider::shutdown);
            let all = [spans, Some(self.meters.shutdown()), logs];
            for error in all.into_iter().flatten().filter_map(Result::err) {
                tracing::debug!(%error, "not all telemetry could be sent");
            }
        };
        let _ = tokio::task::spawn_blocking(flush).await;
    }
}

/// Returns the attributes of the process that every signal carries. `OTEL_SERVICE_NAME` and
/// `OTEL_RESOURCE_ATTRIBUTES` add to them.
fn resource(identity: &Identity) -> Resource {
    use opentelemetry::KeyValue;
    use opentelemetry_semantic_conventions::attribute as semconv;
    let mut builder = Resource::builder();
    if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
        builder = builder.with_service_name("callboard");
    }
    builder
        .with_attributes([
            KeyValue::new(semconv::SERVICE_INSTANCE_ID, identity.worker.as_str().to_owned()),
            KeyValue::new(semconv::SERVICE_VERSION, identity.version.clone()),
            KeyValue::new(keys::ROLES, identity.roles.join(",")),
        ])
        .with_schema_url([], opentelemetry_semantic_conventions::SCHEMA_URL)
        .build()
}
