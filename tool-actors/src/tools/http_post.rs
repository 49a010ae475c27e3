//! `http_post`: sends JSON to a URL of the public web. The request may have any effect, so it must
//! not be repeated, and a person approves it first.

use async_trait::async_trait;
use proto::tool::{Approval, Effect, Fault, ToolResult, ToolSpec};
use reqwest::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, http_get, read, required, spec};
use crate::{
    egress::{Egress, EgressError, Post},
    tool::{CallContext, Tool, ToolFault},
};

/// Header by which a server can recognise a repeat; used by several large APIs, and an IETF draft
/// (draft-ietf-httpapi-idempotency-key-header).
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The tool `http_post` with its client and limits.
#[derive(Debug, Clone)]
pub struct HttpPost {
    egress: Egress,
    bytes_max: usize,
    timeout_ms: u64,
}

impl HttpPost {
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
    json: Value,
}

#[async_trait]
impl Tool for HttpPost {
    fn spec(&self) -> ToolSpec {
        let arguments = [
            required("url", About::HttpUrl, http_get::url_schema()),
            required("json", About::HttpBody, json!({})),
        ];
        // The client's own time limit gives a better error, so it expires first.
        let timeout_ms = self.timeout_ms.saturating_add(5_000);
        let spec = spec("http_post", About::HttpPost, Effect::Once, &arguments);
        ToolSpec {
            timeout_ms,
            concurrency: 64,
            approval: Approval::Always,
            untrusted: true,
            ..spec
        }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { url, json } = read(args)?;
        let mut headers = self.egress.tracing(context.trace);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let key = HeaderValue::from_str(&context.idempotency_key);
        headers.insert(IDEMPOTENCY_KEY, key.map_err(|e| ToolFault::invalid(e.to_string()))?);
        let body = json.to_string().into_bytes();
        let (max_bytes, hosts) = (self.bytes_max, context.hosts);
        match self.egress.post(Post { url, headers, body, max_bytes, hosts }).await {
            Ok(fetched) => Ok(http_get::result(&fetched, context.language)),
            Err(error @ EgressError::Uncertain(_)) => {
                Err(ToolFault::new(Fault::Unknown, error.to_string()))
            }
            // The request was never sent, so a later attempt may send it.
            Err(error) if error.is_transient() => Err(ToolFault::unavailable(error.to_string())),
            Err(error) => Ok(ToolResult::failed(error.to_string())),
        }
    }
}
