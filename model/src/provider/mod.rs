//! Providers over HTTP: the client, and calls with retries and time limits.
//!
//! Each wire format has a module with its requests and the frames of its replies: [`openai`],
//! [`anthropic`], [`gemini`], [`ollama`]. All else is common to them. No library of providers is
//! used: those that exist hide what came in place of a stream. The key is in the HTTP client's
//! default headers, marked sensitive. Log messages of libraries are dropped, because they may
//! contain prompts.

mod anthropic;
mod assembly;
mod body;
mod calls;
mod exchange;
mod failure;
mod gemini;
mod http;
mod kept;
mod ollama;
mod openai;
mod reply;
mod request;
mod schema;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_stream::try_stream;
use async_trait::async_trait;
use futures::StreamExt;
use proto::effort::Effort;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;
use url::Url;

use crate::{
    config::{ProviderConfig, ProviderKind, RetryConfig, Timeouts},
    error::{ErrorKind, ModelError},
    observed::{Labels, count_retry},
    port::{Delta, Model, ModelRequest, ModelStream},
    retry::with_retries,
    words::Redactor,
};
use exchange::Exchange;
pub(crate) use openai::effort_level;
use request::Prepared;

/// Builds a model from its configuration. Sends nothing yet.
///
/// # Errors
/// [`ErrorKind::Config`] with the name of the invalid field.
pub fn connect(config: &ProviderConfig) -> Result<Arc<dyn Model>, ModelError> {
    let checked = config.check()?;
    // Another crate may have installed a provider already; any provider serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut http = reqwest::Client::builder()
        .user_agent(concat!("callboard/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers(config)?)
        .connect_timeout(config.timeouts.connect())
        // A redirect would send the key to another host.
        .redirect(reqwest::redirect::Policy::none())
        .tcp_nodelay(true);
    if checked.loopback {
        http = http.no_proxy();
    }
    if checked.base.scheme() == "http" {
        // Redirects are off, so the provider is never reached over TLS, and the machine needs no CA
        // certificates. (A proxy that is reached over https does not work then.)
        http = http.tls_certs_only(std::iter::empty());
    }
    let http = http.build().map_err(|_| {
        let detail =
            "the HTTP client could not be built; for https, are CA certificates installed?";
        ModelError::new(ErrorKind::Config, detail)
    })?;
    if config.api_key.is_some() && checked.base.scheme() == "http" && !checked.loopback {
        tracing::warn!(
            host = checked.base.host_str(),
            "the key of this model provider is sent unencrypted"
        );
    }
    Ok(Arc::new(Provider {
        http,
        key: config.api_key.clone(),
        kind: config.kind,
        endpoint: Arc::from(checked.base.origin().ascii_serialization()),
        base: checked.base,
        model: config.model.clone(),
        labels: Labels::new(config),
        temperature: config.temperature,
        top_p: config.top_p,
        effort: config.effort,
        prompt_caching: config.prompt_caching,
        structured_outputs: config.structured_outputs,
        max_tokens: config.max_tokens,
        max_reply_bytes: config.max_reply_bytes,
        timeouts: config.timeouts,
        retry: config.retry,
        has_warned: Arc::default(),
    }))
}

struct Provider {
    http: reqwest::Client,
    key: Option<SecretString>,
    kind: ProviderKind,
    base: Url,
    /// Scheme, host and port: the part of the base URL that may be displayed.
    endpoint: Arc<str>,
    model: String,
    labels: Labels,
    temperature: Option<f64>,
    top_p: Option<f64>,
    effort: Option<Effort>,
    prompt_caching: bool,
    structured_outputs: bool,
    max_tokens: Option<u32>,
    max_reply_bytes: usize,
    timeouts: Timeouts,
    retry: RetryConfig,
    /// `true` after the warning that the provider does not report token counts.
    has_warned: Arc<AtomicBool>,
}

impl Provider {
    /// Returns a function that warns once if a reply's tokens were estimated.
    fn warning(&self) -> impl Fn(&Delta) + Send + 'static {
        let (has_warned, endpoint) = (Arc::clone(&self.has_warned), Arc::clone(&self.endpoint));
        move |delta| {
            let Delta::End { usage, .. } = delta else { return };
            if usage.estimated && !has_warned.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    %endpoint,
                    "the model provider does not report its tokens; they are estimated"
                );
            }
        }
    }
}

#[async_trait]
impl Model for Provider {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let deadline = Instant::now() + self.timeouts.total();
        let prepared = Prepared::new(self, request)?;
        let redactor = Redactor::new(self.key.clone(), Arc::clone(&prepared.request));
        let redactor = Arc::new(redactor);
        let again = |kind| count_retry(&self.labels, Some(&prepared.model), kind);
        let begun = with_retries(&self.retry, again, || {
            Exchange::begin(self, &prepared, Arc::clone(&redactor), deadline)
        });
        let exchange = match tokio::time::timeout_at(deadline, begun).await {
            Ok(begun) => begun,
            Err(_) => Err(ModelError::timeout(crate::Phase::Total)),
        };
        let endpoint = Arc::clone(&self.endpoint);
        let mut exchange = exchange.map_err(|error| error.at(&endpoint))?;
        let warn = self.warning();
        Ok(try_stream! {
            while let Some(delta) = exchange.next().await.map_err(|error| error.at(&endpoint))? {
                warn(&delta);
                yield delta;
            }
        }
        .boxed())
    }

    fn max_reply_bytes(&self) -> usize {
        self.max_reply_bytes
    }
}

/// Builds the headers of every request. The key is marked so that no HTTP library prints it.
fn headers(config: &ProviderConfig) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::new();
    if config.kind == ProviderKind::Anthropic {
        let version = HeaderValue::from_static(anthropic::VERSION);
        headers.insert(HeaderName::from_static("anthropic-version"), version);
    }
    let Some(key) = &config.api_key else { return Ok(headers) };
    let key = key.expose_secret().trim();
    let (name, value) = match config.kind {
        ProviderKind::OpenAi | ProviderKind::Ollama => ("authorization", format!("Bearer {key}")),
        ProviderKind::Anthropic => ("x-api-key", key.to_owned()),
        ProviderKind::Gemini => ("x-goog-api-key", key.to_owned()),
    };
    let mut value = HeaderValue::from_str(&value).map_err(|_| {
        ModelError::new(ErrorKind::Config, "api_key holds characters that cannot be sent")
    })?;
    value.set_sensitive(true);
    headers.insert(HeaderName::from_static(name), value);
    Ok(headers)
}
