//! A provider over HTTP: the request of an interface, its status, and the body that the interface
//! reads.

use async_trait::async_trait;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use super::{Page, Query, SearchError, SearchProvider};
use crate::{
    egress::{Egress, EgressError, Fetched, Get, Post},
    tools::text,
};

/// Largest answer of a provider, in bytes.
const BYTES_MAX: usize = 2 * 1024 * 1024;
/// Longest excerpt of a refusal, in bytes.
const EXCERPT_BYTES_MAX: usize = 200;

/// The interface of a kind of provider: its requests, and the form of its answers.
pub(super) trait Interface: Send + Sync + 'static {
    /// The name of the provider.
    const NAME: &'static str;

    /// Builds the request of a search.
    fn request(&self, query: &Query) -> Request;

    /// Reads the body of an answer with a status of success.
    fn read(&self, body: &[u8]) -> Result<Page, SearchError>;
}

/// A request to a provider.
#[derive(Debug)]
pub(super) enum Request {
    /// A GET with the query in the address.
    Get(Url, HeaderMap),
    /// A POST of JSON.
    Post(Url, HeaderMap, Value),
}

/// A provider that is asked over HTTP.
#[derive(Debug)]
pub(super) struct Engine<I> {
    interface: I,
    /// Reaches the host of the provider and no other.
    egress: Egress,
}

impl<I: Interface> Engine<I> {
    pub(super) fn new(interface: I, egress: Egress) -> Self {
        Self { interface, egress }
    }

    async fn fetch(&self, request: Request) -> Result<Fetched, EgressError> {
        let (max_bytes, hosts) = (BYTES_MAX, None);
        match request {
            Request::Get(url, mut headers) => {
                headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
                self.egress.get(Get { url: url.into(), headers, max_bytes, hosts }).await
            }
            Request::Post(url, mut headers, body) => {
                headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
                let body = body.to_string().into_bytes();
                self.egress.post(Post { url: url.into(), headers, body, max_bytes, hosts }).await
            }
        }
    }
}

#[async_trait]
impl<I: Interface> SearchProvider for Engine<I> {
    fn name(&self) -> &'static str {
        I::NAME
    }

    async fn search(&self, query: &Query) -> Result<Page, SearchError> {
        let fetched =
            self.fetch(self.interface.request(query)).await.map_err(|error| unreachable(&error))?;
        judged(&fetched)?;
        if fetched.truncated {
            return Err(SearchError::Parse(format!("it has more than {BYTES_MAX} bytes")));
        }
        self.interface.read(&fetched.body)
    }
}

/// Converts a failure of the client. A search has no effect that could be unknown, so a request that
/// was sent is as good as one that was not.
fn unreachable(error: &EgressError) -> SearchError {
    match error {
        EgressError::Timeout(_) | EgressError::Failed(_) | EgressError::Uncertain(_) => {
            SearchError::Network(short(&error.to_string()))
        }
        EgressError::Host(host) => SearchError::Refused(format!("redirected to {}", short(host))),
        EgressError::NotUrl(_)
        | EgressError::Scheme(_)
        | EgressError::UserInfo
        | EgressError::NotOfAgent(_)
        | EgressError::Private { .. }
        | EgressError::Port(_)
        | EgressError::Redirects
        | EgressError::Downgrade
        | EgressError::Encoded(_)
        | EgressError::Setup(_) => SearchError::Refused(short(&error.to_string())),
    }
}

/// Cuts foreign text to what a message may hold.
pub(super) fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    proto::excerpt::line(&words.join(" "), EXCERPT_BYTES_MAX)
}

/// Judges the status of an answer.
fn judged(fetched: &Fetched) -> Result<(), SearchError> {
    let excerpt = || format!("{} {}", fetched.status, short(&text::of(&fetched.body).text));
    match fetched.status {
        200..=299 => Ok(()),
        429 => Err(SearchError::RateLimited(fetched.retry_after)),
        408 | 500..=599 => Err(SearchError::Outage(excerpt())),
        _ => Err(SearchError::Refused(excerpt())),
    }
}

/// Parses a body.
pub(super) fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, SearchError> {
    serde_json::from_slice(body).map_err(|error| SearchError::Parse(short(&error.to_string())))
}

/// Builds the address of a path below the base, whose own path stays.
pub(super) fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}
