//! Where traces, metrics and logs go: OTLP, and the registry that is scraped.

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

/// What is sent cannot be sent there.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// An exporter refuses its settings.
    #[error("telemetry.otlp_endpoint: {0}")]
    Otlp(#[from] ExporterBuildError),
    /// The registry that is scraped cannot be made.
    #[error("metrics: {0}")]
    Registry(#[from] OTelSdkError),
}

/// One exporter for each signal that is sent.
#[derive(Default)]
pub(super) struct Exporters {
    pub(super) spans: Option<SpanExporter>,
    pub(super) metrics: Option<MetricExporter>,
    pub(super) logs: Option<LogExporter>,
}

/// What the standard variables say.
fn variable(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn is_off(signal: &str) -> bool {
    let is =
        |name: &str, word: &str| std::env::var(name).is_ok_and(|v| v.eq_ignore_ascii_case(word));
    is("OTEL_SDK_DISABLED", "true") || is(&format!("OTEL_{signal}_EXPORTER"), "none")
}

/// The exporters of the signals that have somewhere to go.
pub(super) fn exporters(settings: &Telemetry) -> Result<Exporters, ExportError> {
    let goes = |signal: &str| {
        let named = settings.otlp_endpoint.is_some()
            || variable("OTEL_EXPORTER_OTLP_ENDPOINT")
            || variable(&format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"));
        named && !is_off(signal)
    };
    // Fails only when a provider is there already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Ok(Exporters {
        spans: goes("TRACES").then(|| spans(settings)).transpose()?,
        metrics: goes("METRICS").then(|| metrics(settings)).transpose()?,
        logs: (settings.logs && goes("LOGS")).then(|| logs(settings)).transpose()?,
    })
}

/// Builds the exporter of one signal: the same five choices for each, over builders whose types
/// have nothing in common.
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

/// Metrics for scrapers and, when one is configured, for the OTLP receiver.
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

/// Traces, in batches on a thread of their own. Whether one is recorded was decided where it began.
pub(super) fn tracers(resource: &Resource, exporter: SpanExporter) -> SdkTracerProvider {
    SdkTracerProvider::builder()
        .with_resource(resource.clone())
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
        .with_id_generator(Ids::default())
        .with_batch_exporter(exporter)
        .build()
}

/// Logs, in batches on a thread of their own.
pub(super) fn loggers(resource: &Resource, exporter: LogExporter) -> SdkLoggerProvider {
    SdkLoggerProvider::builder()
        .with_resource(resource.clone())
        .with_log_processor(Correlate)
        .with_batch_exporter(exporter)
        .build()
}
