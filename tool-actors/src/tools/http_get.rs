//! `http_get`: fetches a URL of the public web.

use async_trait::async_trait;
use proto::{
    lang::Language,
    tool::{Effect, Fault, ToolResult, ToolSpec},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, Text, optional, read, required, spec, text};
use crate::{
    egress::{Egress, EgressError, Fetched, Get},
    tool::{CallContext, Tool, ToolFault},
};

/// The tool `http_get` with its client and limits.
#[derive(Debug, Clone)]
pub struct HttpGet {
    egress: Egress,
    bytes_max: usize,
    timeout_ms: u64,
}

impl HttpGet {
    /// Creates the tool on a client, with a limit on the returned bytes and a timeout in
    /// milliseconds.
    #[must_use]
    pub fn new(egress: Egress, bytes_max: usize, timeout_ms: u64) -> Self {
        Self { egress, bytes_max, timeout_ms }
    }
}

#[derive(Deserialize)]
struct Args {
    url: String,
    max_bytes: Option<usize>,
}

#[async_trait]
impl Tool for HttpGet {
    fn spec(&self) -> ToolSpec {
        let max_bytes = json!({"type": "integer", "minimum": 1, "maximum": self.bytes_max});
        let arguments = [
            required("url", About::HttpUrl, url_schema()),
            optional("max_bytes", About::HttpBytes, max_bytes),
        ];
        // The client's own time limit gives a better error, so it expires first.
        let timeout_ms = self.timeout_ms.saturating_add(5_000);
        let spec = spec("http_get", About::HttpGet, Effect::Pure, &arguments);
        ToolSpec { timeout_ms, concurrency: 16, untrusted: true, ..spec }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { url, max_bytes } = read(args)?;
        let max_bytes = max_bytes.unwrap_or(self.bytes_max).min(self.bytes_max);
        let headers = self.egress.tracing(context.trace);
        match self.egress.get(Get { url, headers, max_bytes, hosts: context.hosts }).await {
            Ok(fetched) => answer(&fetched, context.language),
            Err(error @ EgressError::Timeout(_)) => {
                Err(ToolFault::new(Fault::Timeout, error.to_string()))
            }
            Err(error) if error.is_transient() => Err(ToolFault::unavailable(error.to_string())),
            Err(error) => Ok(ToolResult::failed(error.to_string())),
        }
    }
}

/// The schema of an address.
pub(super) fn url_schema() -> Value {
    json!({"type": "string", "minLength": 1, "maxLength": 8192})
}

fn answer(fetched: &Fetched, language: Language) -> Result<ToolResult, ToolFault> {
    let status = fetched.status;
    // The server itself indicates that it may work later.
    if matches!(status, 429 | 502 | 503 | 504) {
        return Err(ToolFault::unavailable(Text::Status { status: &status }.text(language)));
    }
    Ok(result(fetched, language))
}

/// Converts a response to a tool's result.
pub(super) fn result(fetched: &Fetched, language: Language) -> ToolResult {
    let status = fetched.status;
    let body = text::of(&fetched.body);
    let data = json!({
        "url": fetched.url,
        "status": status,
        "content_type": fetched.content_type,
        "body": body.text,
        "truncated": fetched.truncated || body.truncated,
    });
    let failed = status >= 400;
    ToolResult {
        success: !failed,
        data: Some(data),
        error: failed.then(|| Text::Status { status: &status }.text(language)),
        message: None,
    }
}
