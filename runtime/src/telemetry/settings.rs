//! The settings of telemetry: the log, and what is sent elsewhere.

use serde::Deserialize;
use url::Url;

use crate::config::{Check, HOUR, Section, wide};

/// Traces, metrics and logs that are sent elsewhere, over OTLP. The standard `OTEL_*` variables
/// count where a setting is absent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// Where to send to. Nothing is sent when neither this nor `OTEL_EXPORTER_OTLP_ENDPOINT` is set.
    pub otlp_endpoint: Option<Url>,
    /// In which way.
    pub otlp_protocol: OtlpProtocol,
    /// The part of new traces that is recorded (0.0 to 1.0). A caller that sends a sampled trace
    /// decides for itself.
    pub trace_sample_ratio: f64,
    /// Whether the log is sent too.
    pub logs: bool,
    /// How often metrics are sent (1 s to 1 h).
    pub metric_interval_ms: u64,
    /// Whether prompts, arguments and results are put into traces.
    pub content: bool,
    /// Longest text of that kind, in bytes.
    pub content_max_bytes: usize,
}

/// How OTLP is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum OtlpProtocol {
    /// gRPC; by custom on port 4317.
    #[serde(rename = "grpc")]
    Grpc,
    /// Protocol buffers over HTTP; by custom on port 4318.
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
}

/// The log of the process.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// A level or a filter.
    pub level: String,
    /// How lines look.
    pub format: LogFormat,
}

/// How lines of the log look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people on a terminal, JSON otherwise.
    Auto,
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

impl Section for Telemetry {
    const NAME: &'static str = "telemetry";
    const DEFAULTS: &'static str = include_str!("telemetry.toml");

    fn check(&self, check: &mut Check) {
        check.bounds(&[
            ("telemetry.metric_interval_ms", self.metric_interval_ms, 1_000, HOUR),
            ("telemetry.content_max_bytes", wide(self.content_max_bytes), 16, 1 << 20),
        ]);
        if !(0.0..=1.0).contains(&self.trace_sample_ratio) {
            check.wrong("telemetry.trace_sample_ratio", "must be 0.0 to 1.0");
        }
        if let Some(url) = &self.otlp_endpoint {
            check.http("telemetry.otlp_endpoint", url, "");
        }
    }
}

impl Section for Log {
    const NAME: &'static str = "log";
    const DEFAULTS: &'static str = include_str!("log.toml");

    fn check(&self, check: &mut Check) {
        if let Err(error) = super::filter(&self.level) {
            check.wrong("log.level", error.to_string());
        }
    }
}
