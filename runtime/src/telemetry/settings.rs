//! The settings of the log and of the export of telemetry.

use serde::Deserialize;
use url::Url;

use crate::config::{Check, HOUR, Section, wide};

/// Settings of the OTLP export of traces, metrics and logs. The standard `OTEL_*` variables apply
/// where a setting is absent.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// The address of the collector. Nothing is exported when neither this nor
    /// `OTEL_EXPORTER_OTLP_ENDPOINT` is set.
    pub otlp_endpoint: Option<Url>,
    /// The protocol of the export.
    pub otlp_protocol: OtlpProtocol,
    /// The part of new traces that is recorded (0.0 to 1.0). A trace that a caller has already
    /// sampled is always recorded.
    pub trace_sample_ratio: f64,
    /// `true` if log lines are exported too.
    pub logs: bool,
    /// The interval between exports of metrics, in milliseconds (1 s to 1 h).
    pub metric_interval_ms: u64,
    /// `true` if prompts, arguments and results are recorded in traces.
    pub content: bool,
    /// Bound of one recorded prompt, argument or result, in bytes.
    pub content_max_bytes: usize,
}

/// The transport of OTLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum OtlpProtocol {
    /// gRPC; usually on port 4317.
    #[serde(rename = "grpc")]
    Grpc,
    /// Protocol buffers over HTTP; usually on port 4318.
    #[serde(rename = "http/protobuf")]
    HttpProtobuf,
}

/// The log of the process.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// A level, or a filter such as `info,callboard_runtime=debug`.
    pub level: String,
    /// The format of the lines.
    pub format: LogFormat,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// `Pretty` on a terminal, `Json` otherwise.
    Auto,
    /// Readable by people, in colours where the terminal has them.
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
            check.outside("telemetry.trace_sample_ratio", &"0.0", &"1.0");
        }
        if let Some(url) = &self.otlp_endpoint {
            check.http("telemetry.otlp_endpoint", url, None);
        }
    }
}

impl Section for Log {
    const NAME: &'static str = "log";
    const DEFAULTS: &'static str = include_str!("log.toml");

    fn check(&self, check: &mut Check) {
        if let Err(error) = super::filter(&self.level) {
            check.wrong("log.level", error.words());
        }
    }
}
