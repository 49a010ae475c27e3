//! The destinations of traces, metrics and logs: OTLP receivers, and the Prometheus registry.

use std::time::Duration;

use opentelemetry_otlp::{
    ExporterBuildError, LogExporter, MetricExporter, Protocol, SpanExporter, WithExportConfig,
    WithHttpConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkError,
    logs::SdkLoggerProvider,
    metrics::{PeriodicReader, SdkMeterProvider},
    trace::{Sampler, SdkTracerProvider},
};

use super::settings::{OtlpProtocol, Telemetry};
use super::{ids::Ids, logs::Correlate};

/// The reason why the exporters could not be built.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// An OTLP exporter refuses its settings.
    #[error("telemetry.otlp_endpoint: {0}")]
    Otlp(#[from] ExporterBuildError),
    /// The Prometheus registry cannot be created.
    #[error("metrics: {0}")]
    Registry(#[from] OTelSdkError),
}

/// The exporter of each signal; `None` for a signal that is not exported.
#[derive(Default)]
pub(super) struct Exporters {
    pub(super) spans: Option<SpanExporter>,
    pub(super) metrics: Option<MetricExporter>,
    pub(super) logs: Option<LogExporter>,
}

/// Returns whether an environment variable has a value.
fn variable(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is_off(signal: &str) -> bool {
    let is =
        |name: &str, word: &str| std::env::var(name).is_ok_and(|v| v.eq_ignore_ascii_case(word));
    is("OTEL_SDK_DISABLED", "true") || is(&format!("OTEL_{signal}_EXPORTER"), "none")
}

/// Builds the exporters of the signals that have a destination.
pub(super) fn exporters(settings: &Telemetry) -> Result<Exporters, ExportError> {
    let goes = |signal: &str| {
        let named = settings.otlp_endpoint.is_some()
            || variable("OTEL_EXPORTER_OTLP_ENDPOINT")
            || variable(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"));
        named && !is_off(signal)
    };
    // Fails only when another provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(Exporters {
        spans: goes("TRACES").then(|| spans(settings)).transpose()?,
        metrics: goes("METRICS").then(|| metrics(settings)).transpose()?,
        logs: (settings.logs && goes("LOGS")).then(|| logs(settings)).transpose()?,
    })
}

/// Builds the exporter of one signal. The choices are the same for each signal, but the builders
/// share no trait.
macro_rules! build {
    ($exporter:ident, $settings:expr, $path:literal) => {{
        let endpoint = $settings.otlp_endpoint.as_ref();
        match $settings.otlp_protocol {
            OtlpProtocol::Grpc => {
                let mut builder = $exporter::builder().with_tonic();
                if let Some(url) = endpoint {
                    builder = builder.with_endpoint(url.as_str());
                    if url.scheme() == "https" {
                        builder = builder.with_tls_config(
                            opentelemetry_otlp::tonic_types::transport::ClientTlsConfig::new()
                                .with_webpki_roots(),
                        );
                    }
                }
                builder.build()
            }
            OtlpProtocol::HttpProtobuf => {
                let mut builder = $exporter::builder()
                    .with_http()
                    .with_protocol(Protocol::HttpBinary)
                    .with_headers(Default::default());
                if let Some(url) = endpoint {
                    let base = url.as_str().trim_end_matches('/');
                    builder = builder.with_endpoint(format!("{base}/v1/{}", $path));
                }
                builder.build()
            }
        }
    }};
}

fn spans(settings: &Telemetry) -> Result<SpanExporter, ExporterBuildError> {
    build!(SpanExporter, settings, "traces")
}

fn metrics(settings: &Telemetry) -> Result<MetricExporter, ExporterBuildError> {
    build!(MetricExporter, settings, "metrics")
}

fn logs(settings: &Telemetry) -> Result<LogExporter, ExporterBuildError> {
    build!(LogExporter, settings, "logs")
}

/// Builds the meter provider, read by scrapers and, if there is one, by the OTLP exporter.
pub(super) fn meters(
    settings: &Telemetry,
    resource: &Resource,
    registry: &prometheus::Registry,
    exporter: Option<MetricExporter>,
) -> Result<SdkMeterProvider, ExportError> {
    let scraped = opentelemetry_prometheus::exporter()
        .with_registry(registry.clone())
        .scope_info_enabled(false)
        .build()?;
    let mut meters =
        SdkMeterProvider::builder().with_resource(resource.clone()).with_reader(scraped);
    if let Some(exporter) = exporter {
        let every = Duration::from_millis(settings.metric_interval_ms);
        meters = meters.with_reader(PeriodicReader::builder(exporter).with_interval(every).build());
    }
    Ok(meters.build())
}

/// Builds the tracer provider, which exports in batches on a thread of its own. Sampling is decided
/// where a trace begins.
pub(super) fn tracers(resource: &Resource, exporter: SpanExporter) -> SdkTracerProvider {
    SdkTracerProvider::builder()
        .with_resource(resource.clone())
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
        .with_id_generator(Ids::default())
        .with_batch_exporter(exporter)
        .build()
}

/// Builds the logger provider, which exports in batches on a thread of its own.
pub(super) fn loggers(resource: &Resource, exporter: LogExporter) -> SdkLoggerProvider {
    SdkLoggerProvider::builder()
        .with_resource(resource.clone())
        .with_log_processor(Correlate)
        .with_batch_exporter(exporter)
        .build()
}
