//! The settings about being watched: what is sent where, and the listener for operators.

use std::{fmt, net::SocketAddr};

use serde::Deserialize;
use url::Url;

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

/// The listener for operators: health, metrics, and the level of the log.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admin {
    /// Where it listens.
    pub listen: Listen,
}

/// Where the listener for operators listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Listen {
    /// On 127.0.0.1:9464, or on a free port when another process is there already.
    Auto,
    /// Nowhere.
    Off,
    /// Here, or the process does not start.
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
