//! `http_get`: fetches a URL of the public web, pages as Markdown.

use async_trait::async_trait;
use proto::{
    lang::Language,
    tool::{Effect, Fault, ToolResult, ToolSpec},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::{About, Text, optional, read, required, spec, text, unblocked};
use crate::{
    egress::{Egress, EgressError, Fetched, Get},
    page,
    tool::{CallContext, Tool, ToolFault},
};

/// The version with the argument `format`.
const VERSION: &str = "2";

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
    #[serde(default)]
    format: Format,
}

/// The form of a body.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    /// Markdown of a page; bodies of other types are given as they are.
    #[default]
    Markdown,
    /// The body as it is.
    Raw,
}

#[async_trait]
impl Tool for HttpGet {
    fn spec(&self) -> ToolSpec {
        let max_bytes = json!({"type": "integer", "minimum": 1, "maximum": self.bytes_max});
        let arguments = [
            required("url", About::HttpUrl, url_schema()),
            optional("max_bytes", About::HttpBytes, max_bytes),
            optional("format", About::HttpFormat, format_schema()),
        ];
        // The client's own time limit gives a better error, so it expires first.
        let timeout_ms = self.timeout_ms.saturating_add(5_000);
        let spec = spec("http_get", About::HttpGet, Effect::Pure, &arguments);
        let version = VERSION.to_owned();
        ToolSpec { timeout_ms, concurrency: 16, untrusted: true, version, ..spec }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { url, max_bytes, format } = read(args)?;
        let max_bytes = max_bytes.unwrap_or(self.bytes_max).min(self.bytes_max);
        let headers = self.egress.tracing(context.trace);
        match self.egress.get(Get { url, headers, max_bytes, hosts: context.hosts }).await {
            Ok(fetched) => answer(fetched, format, max_bytes, context.language).await,
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

fn format_schema() -> Value {
    json!({"type": "string", "enum": [Format::Markdown, Format::Raw]})
}

async fn answer(
    fetched: Fetched,
    format: Format,
    max_bytes: usize,
    language: Language,
) -> Result<ToolResult, ToolFault> {
    let status = fetched.status;
    // The server itself indicates that it may work later.
    if matches!(status, 429 | 502 | 503 | 504) {
        return Err(ToolFault::unavailable(Text::Status { status: &status }.text(language)));
    }
    let url = Url::parse(&fetched.url).ok().filter(|_| page::is_page(&fetched.content_type));
    let (Format::Markdown, Some(url)) = (format, url) else {
        return Ok(with(result(&fetched, language), "format", json!(Format::Raw)));
    };
    unblocked(move || markdown(fetched, &url, max_bytes, language)).await
}

/// Converts a page to a tool's result. The Markdown has at most as many bytes as may be fetched.
fn markdown(fetched: Fetched, url: &Url, max_bytes: usize, language: Language) -> ToolResult {
    let page = page::read(&String::from_utf8_lossy(&fetched.body), url);
    let mut body = page.markdown;
    let end = body.floor_char_boundary(max_bytes);
    let truncated = fetched.truncated || page.truncated || end < body.len();
    body.truncate(end);
    let fetched = Fetched { body: body.into_bytes(), truncated, ..fetched };
    let result = with(result(&fetched, language), "format", json!(Format::Markdown));
    match page.title {
        Some(title) => with(result, "title", json!(title)),
        None => result,
    }
}

/// Adds a field to the data of a result.
fn with(mut result: ToolResult, field: &str, value: Value) -> ToolResult {
    if let Some(data) = &mut result.data {
        data[field] = value;
    }
    result
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
