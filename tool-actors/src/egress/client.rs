//! The HTTP client: checks each URL, follows redirects itself, and bounds the body.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use proto::{agent::Hosts, trace::TraceContext};
use reqwest::{
    Response, StatusCode,
    header::{
        ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, COOKIE, HeaderMap,
        HeaderName, HeaderValue, LOCATION, PROXY_AUTHORIZATION,
    },
};
use runtime::egress::{Checked, Lookup, NotPublic, check_address, foreign_port};
use url::Url;

use super::{
    error::{EgressError, REDIRECTS_MAX},
    thread::{self, Unanswered},
};
use crate::settings::Http;

/// Longest URL, in bytes.
const URL_BYTES_MAX: usize = 8 * 1024;

/// Header of the W3C trace context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

/// A GET request.
#[derive(Debug, Clone)]
pub struct Get {
    /// The URL to fetch.
    pub url: String,
    /// Headers of the request; credentials among them are dropped when a redirect leaves the
    /// origin.
    pub headers: HeaderMap,
    /// Largest number of body bytes to return.
    pub max_bytes: usize,
    /// The only hosts of the URL and its redirects, besides the operator's rules.
    pub hosts: Option<Hosts>,
}

/// A POST request.
#[derive(Debug, Clone)]
pub struct Post {
    /// The URL to send to.
    pub url: String,
    /// Headers of the request.
    pub headers: HeaderMap,
    /// The body of the request.
    pub body: Vec<u8>,
    /// Largest number of body bytes of the response to return.
    pub max_bytes: usize,
    /// The only hosts of the URL, besides the operator's rules.
    pub hosts: Option<Hosts>,
}

/// A response.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The URL after the last redirect.
    pub url: String,
    /// The HTTP status.
    pub status: u16,
    /// The content type; empty if the response has none.
    pub content_type: String,
    /// The body, up to the limit.
    pub body: Vec<u8>,
    /// `true` if the body exceeded the limit.
    pub truncated: bool,
    /// The pause that the server asks for before the next request.
    pub retry_after: Option<Duration>,
}

/// The HTTP client of all tools; cheap to clone.
#[derive(Clone, derive_more::Debug)]
#[debug("Egress({config:?})")]
pub struct Egress {
    client: reqwest::Client,
    config: Http,
}

impl Egress {
    /// Creates a client.
    ///
    /// # Errors
    /// [`EgressError::Setup`] if TLS cannot be set up.
    pub fn new(config: Http, lookup: Arc<dyn Lookup>) -> Result<Self, EgressError> {
        // Fails only if a provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let resolver = Checked { lookup, allow_private: config.allow_private };
        let client = reqwest::Client::builder()
            .dns_resolver(Arc::new(resolver))
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            // A connection ends with the thread of its request.
            .pool_max_idle_per_host(0)
            .referer(false)
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .connect_timeout(config.timeout().min(Duration::from_secs(10)))
            .user_agent(concat!("callboard/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|e| EgressError::Setup(e.to_string()))?;
        Ok(Self { client, config })
    }

    /// Returns the headers that propagate a trace. They are sent only if the operator listed the
    /// permitted hosts: trace ids tell a host which requests belong together, and a public host
    /// must not learn that. Redirects cannot leave the list.
    #[must_use]
    pub fn tracing(&self, trace: TraceContext) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if !self.config.allow_hosts.is_empty()
            && let Ok(value) = HeaderValue::from_str(&trace.to_string())
        {
            headers.insert(TRACEPARENT, value);
        }
        headers
    }

    /// Fetches a URL. A response with an error status is a success.
    ///
    /// # Errors
    /// If the request is refused, or no complete response arrives in time.
    pub async fn get(&self, get: Get) -> Result<Fetched, EgressError> {
        let (egress, limit) = (self.clone(), self.config.timeout());
        let fetched = thread::run(limit, async move { egress.follow(get).await }).await;
        fetched.unwrap_or_else(|unanswered| {
            Err(match unanswered {
                Unanswered::NotBegun(why) => EgressError::Failed(why),
                Unanswered::Broke => EgressError::Failed("the request broke".to_owned()),
                Unanswered::Late => EgressError::Timeout(limit),
            })
        })
    }

    /// Sends a body. A redirect is returned, not followed: it would send the body elsewhere.
    ///
    /// # Errors
    /// If the request is refused or was never sent; [`EgressError::Uncertain`] if it was sent and
    /// no complete response arrived.
    pub async fn post(&self, post: Post) -> Result<Fetched, EgressError> {
        let (egress, limit) = (self.clone(), self.config.timeout());
        let sent = thread::run(limit, async move { egress.send(post).await }).await;
        sent.unwrap_or_else(|unanswered| {
            Err(match unanswered {
                Unanswered::NotBegun(why) => EgressError::Failed(why),
                Unanswered::Broke => EgressError::Uncertain("the request broke".to_owned()),
                Unanswered::Late => EgressError::Uncertain(format!("nothing within {limit:?}")),
            })
        })
    }

    async fn send(&self, mut post: Post) -> Result<Fetched, EgressError> {
        post.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let url = parse(&post.url)?;
        self.check(&url, post.hosts.as_ref())?;
        let request = self.client.post(url.clone()).headers(post.headers).body(post.body);
        let response = request.send().await.map_err(|error| {
            let why = explain(&error);
            let sent = matches!(why, EgressError::Failed(_)) && !error.is_connect();
            if sent { EgressError::Uncertain(why.to_string()) } else { why }
        })?;
        // Even if the response is broken, the server has received the body.
        body(url, response, post.max_bytes)
            .await
            .map_err(|error| EgressError::Uncertain(error.to_string()))
    }

    async fn follow(&self, mut get: Get) -> Result<Fetched, EgressError> {
        get.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut url = parse(&get.url)?;
        for _ in 0..=REDIRECTS_MAX {
            self.check(&url, get.hosts.as_ref())?;
            let sent = self.client.get(url.clone()).headers(get.headers.clone()).send().await;
            let response = sent.map_err(|e| explain(&e))?;
            let location = response.headers().get(LOCATION);
            let Some(next) = redirect(&url, response.status(), location)? else {
                return body(url, response, get.max_bytes).await;
            };
            if next.origin() != url.origin() {
                for name in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION] {
                    get.headers.remove(name);
                }
            }
            url = next;
        }
        Err(EgressError::Redirects)
    }

    /// Checks everything about a URL that needs no name lookup.
    fn check(&self, url: &Url, hosts: Option<&Hosts>) -> Result<(), EgressError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EgressError::Scheme(url.scheme().chars().take(40).collect()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EgressError::UserInfo);
        }
        let host = url.host().ok_or_else(|| EgressError::NotUrl("it has no host".to_owned()))?;
        let text = host.to_string();
        if !self.config.allows_host(&text) {
            return Err(EgressError::Host(text));
        }
        if hosts.is_some_and(|hosts| !hosts.allow(&text)) {
            return Err(EgressError::NotOfAgent(text));
        }
        if let Some(port) = foreign_port(url) {
            return Err(EgressError::Port(port));
        }
        match check_address(url) {
            Err(refused) if !self.config.allow_private => Err(refused.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn parse(url: &str) -> Result<Url, EgressError> {
    if url.len() > URL_BYTES_MAX {
        return Err(EgressError::NotUrl(format!("longer than {URL_BYTES_MAX} bytes")));
    }
    Url::parse(url.trim()).map_err(|e| EgressError::NotUrl(e.to_string()))
}

/// Returns the target of a redirect, if the response is one.
pub(super) fn redirect(
    from: &Url,
    status: StatusCode,
    location: Option<&HeaderValue>,
) -> Result<Option<Url>, EgressError> {
    let redirects = matches!(
        status,
        StatusCode::MOVED_PERMANENTLY
            | StatusCode::FOUND
            | StatusCode::SEE_OTHER
            | StatusCode::TEMPORARY_REDIRECT
            | StatusCode::PERMANENT_REDIRECT
    );
    let Some(location) = location.filter(|_| redirects) else { return Ok(None) };
    let invalid = || EgressError::NotUrl("the redirect leads to no URL".to_owned());
    let location = location.to_str().map_err(|_| invalid())?;
    if location.len() > URL_BYTES_MAX {
        return Err(invalid());
    }
    let next = from.join(location).map_err(|_| invalid())?;
    if from.scheme() == "https" && next.scheme() == "http" {
        return Err(EgressError::Downgrade);
    }
    Ok(Some(next))
}

async fn body(url: Url, mut response: Response, max: usize) -> Result<Fetched, EgressError> {
    let text = |name| {
        let value = response.headers().get(name);
        value.and_then(|v| v.to_str().ok()).unwrap_or_default().to_owned()
    };
    let encoding = text(CONTENT_ENCODING);
    if !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity") {
        return Err(EgressError::Encoded(encoding.chars().take(80).collect()));
    }
    let (status, content_type) = (response.status().as_u16(), text(CONTENT_TYPE));
    let retry_after = model::retry_after(response.headers(), Timestamp::now());
    let (mut body, mut truncated) = (Vec::new(), false);
    while let Some(chunk) = response.chunk().await.map_err(|e| explain(&e))? {
        let room = max - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            truncated = true;
            break;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Fetched { url: url.into(), status, content_type, body, truncated, retry_after })
}

/// Returns the innermost error without the URL. Recovers the refusal of the resolver.
fn explain(error: &reqwest::Error) -> EgressError {
    let mut cause: &dyn std::error::Error = error;
    loop {
        if let Some(refused) = cause.downcast_ref::<EgressError>() {
            return refused.clone();
        }
        if let Some(refused) = cause.downcast_ref::<NotPublic>() {
            return refused.clone().into();
        }
        match cause.source() {
            Some(next) => cause = next,
            None => return EgressError::Failed(cause.to_string()),
        }
    }
}
