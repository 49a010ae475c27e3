//! The settings of telemetry and of the admin listener.

use std::{fmt, net::SocketAddr};

use serde::Deserialize;
use url::Url;

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

/// Settings of the admin listener, which serves health, metrics and the log level.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admin {
    /// The address to listen on.
    pub listen: Listen,
}

/// The address of the admin listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Listen {
    /// 127.0.0.1:9464, or a free port when another process uses that one.
    Auto,
    /// No listener.
    Off,
    /// Exactly this address. The process does not start when the address is in use.
    At(SocketAddr),
}

impl TryFrom<String> for Listen {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            address => address.parse().map(Self::At).map_err(|_| {
                "must be auto, off, or an address with a port such as 127.0.0.1:9464".to_owned()
            }),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::At(address) => address.fmt(f),
        }
    }
}
