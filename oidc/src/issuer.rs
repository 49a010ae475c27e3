//! The issuer: its discovery document and its keys, fetched when a token needs them.
//!
//! Keys are kept for ten minutes. A token with an unknown key may be the first with a new one, so it
//! has them fetched again, at most once a minute. When the issuer cannot be reached, the keys count
//! for an hour, so that its restart locks nobody out.

use std::{
    fmt,
    sync::{Arc, RwLock},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use proto::{
    error::{Code, Failure},
    refusal::Text as Refusal,
};
use reqwest::{Client, header};
use runtime::people::{self, Vouched};
use serde::Deserialize;
use tokio::sync::Mutex;
use url::Url;

use crate::{
    settings::{Oidc, is_trustworthy},
    token::{self, Keys, Wrong},
};

/// Time for which keys are used without a look at the issuer.
const FRESH: Duration = Duration::from_secs(600);
/// Time for which keys are used while the issuer cannot be reached.
const USABLE: Duration = Duration::from_secs(3_600);
/// Shortest time between two fetches, when there are keys.
const PAUSE: Duration = Duration::from_secs(60);
/// Shortest time between two fetches, when there are none.
const PAUSE_WITHOUT: Duration = Duration::from_secs(5);
/// Longest time of a request to the issuer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest document of an issuer, in bytes.
const DOCUMENT_BYTES_MAX: usize = 256 * 1024;

/// An issuer of tokens.
pub struct Issuer {
    settings: Oidc,
    /// The issuer's address, as tokens name it.
    name: String,
    http: Client,
    /// Times of the cache count from here.
    began: Instant,
    cache: RwLock<Cache>,
    fetching: Mutex<()>,
}

impl fmt::Debug for Issuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Issuer").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why something could not be had from the issuer. For the log.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// The request failed.
    #[error("{0}")]
    Http(#[from] reqwest::Error),
    /// The answer is not what it should be.
    #[error("its document at {url} {why}")]
    Document {
        /// Address of the document.
        url: String,
        /// The mistake, as the end of a sentence about the document.
        why: &'static str,
    },
}

/// The addresses that the discovery document has.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Discovered {
    issuer: String,
    jwks_uri: Url,
    pub(crate) authorization_endpoint: Url,
    pub(crate) token_endpoint: Url,
}

#[derive(Debug, Default)]
struct Cache {
    keys: Option<(Arc<Keys>, Duration)>,
    /// Time of the last fetch, successful or not.
    tried: Option<Duration>,
}

/// The next action for a token.
#[derive(Debug)]
enum Step {
    Use(Arc<Keys>),
    Fetch,
    Fail,
}

impl Cache {
    /// Decides by the age of the keys. `unknown` if the token's key is not among them.
    fn step(&self, now: Duration, unknown: bool) -> Step {
        let age = |at: &Duration| now.saturating_sub(*at);
        let keys = |longest| {
            let keys = self.keys.as_ref().filter(|(_, at)| age(at) < longest);
            keys.map(|(keys, _)| Arc::clone(keys))
        };
        let pause = if self.keys.is_some() { PAUSE } else { PAUSE_WITHOUT };
        let is_early = self.tried.as_ref().is_some_and(|at| age(at) < pause);
        match keys(FRESH) {
            Some(keys) if !unknown => Step::Use(keys),
            Some(_) | None if !is_early => Step::Fetch,
            Some(_) | None => keys(USABLE).map_or(Step::Fail, Step::Use),
        }
    }
}

impl Issuer {
    /// Prepares the issuer of the settings; `None` without one. Sends nothing yet.
    ///
    /// # Errors
    /// An error is returned when there are no certificates for HTTPS.
    pub fn new(settings: &Oidc) -> Result<Option<Self>, Unreachable> {
        let Some(name) = settings.issuer.clone() else { return Ok(None) };
        // Another crate may have installed a provider already; any provider serves.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = Client::builder()
            .user_agent(concat!("callboard/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(PATIENCE)
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none());
        if name.starts_with("http://") {
            // Only an issuer on this machine is reached without TLS.
            http = http.no_proxy().tls_certs_only(std::iter::empty());
        }
        let http = http.build()?;
        let settings = settings.clone();
        let (began, cache, fetching) = (Instant::now(), RwLock::default(), Mutex::default());
        Ok(Some(Self { settings, name, http, began, cache, fetching }))
    }

    pub(crate) fn settings(&self) -> &Oidc {
        &self.settings
    }

    pub(crate) fn http(&self) -> &Client {
        &self.http
    }

    /// Returns the address of the discovery document.
    pub(crate) fn document(&self) -> String {
        format!("{}/.well-known/openid-configuration", self.name.trim_end_matches('/'))
    }

    /// Reads the discovery document.
    pub(crate) async fn discover(&self) -> Result<Discovered, Unreachable> {
        let url = self.document();
        let wrong = |why| Unreachable::Document { url: url.clone(), why };
        let body = read(self.http.get(&url)).await?;
        let found: Discovered =
            serde_json::from_slice(&body).map_err(|_| wrong("is no discovery document"))?;
        if found.issuer != self.name {
            return Err(wrong("names another issuer"));
        }
        let used = [&found.jwks_uri, &found.authorization_endpoint, &found.token_endpoint];
        if used.into_iter().all(is_trustworthy) {
            Ok(found)
        } else {
            Err(wrong("has an address without TLS"))
        }
    }

    /// Fetches the discovery document and the keys, and returns the number of usable keys.
    ///
    /// # Errors
    /// The request that failed, or the document that is wrong.
    pub async fn examine(&self) -> Result<usize, Unreachable> {
        Ok(self.fetch().await?.count())
    }

    async fn fetch(&self) -> Result<Keys, Unreachable> {
        let url = self.discover().await?.jwks_uri;
        let body = read(self.http.get(url.clone())).await?;
        let keys = Keys::parse(&body).filter(|keys| keys.count() > 0);
        keys.ok_or_else(|| Unreachable::Document { url: url.into(), why: "has no usable key" })
    }

    /// Returns the keys, and fetches them first if they are old or `unknown` is `true`.
    async fn keys(&self, unknown: bool) -> Option<Arc<Keys>> {
        let step = || {
            let cache = self.cache.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            cache.step(self.began.elapsed(), unknown)
        };
        let settled = |step| match step {
            Step::Use(keys) => Some(Some(keys)),
            Step::Fail => Some(None),
            Step::Fetch => None,
        };
        if let Some(keys) = settled(step()) {
            return keys;
        }
        let _one = self.fetching.lock().await;
        // Another request may have fetched them meanwhile.
        if let Some(keys) = settled(step()) {
            return keys;
        }
        let fetched = self.fetch().await;
        let mut cache = self.cache.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = self.began.elapsed();
        cache.tried = Some(now);
        match fetched {
            Ok(keys) => cache.keys = Some((Arc::new(keys), now)),
            Err(error) => {
                tracing::warn!(issuer = self.name, %error, "the issuer's keys could not be fetched");
            }
        }
        match cache.step(now, false) {
            Step::Use(keys) => Some(keys),
            Step::Fetch | Step::Fail => None,
        }
    }
}

#[async_trait]
impl people::Issuer for Issuer {
    async fn person(&self, token: &str) -> Result<Vouched, Failure> {
        if !token::is_signed(token) {
            tracing::warn!("a request with an unknown token was refused");
            return Err(Failure::of(Code::Forbidden, Refusal::UnknownToken));
        }
        let unreachable = || Failure::of(Code::Unavailable, Refusal::IssuerUnreachable);
        let keys = self.keys(false).await.ok_or_else(unreachable)?;
        let mut checked = token::check(token, &keys, &self.settings);
        if checked == Err(Wrong::Key) {
            let keys = self.keys(true).await.ok_or_else(unreachable)?;
            checked = token::check(token, &keys, &self.settings);
        }
        checked.map_err(|wrong| {
            tracing::warn!(issuer = self.name, %wrong, "a token of the issuer was refused");
            let why = match wrong {
                Wrong::Expired => Refusal::TokenExpired,
                Wrong::Malformed
                | Wrong::Type
                | Wrong::Key
                | Wrong::Signature
                | Wrong::Early
                | Wrong::Issuer
                | Wrong::Audience
                | Wrong::Claims
                | Wrong::Person => Refusal::UnknownToken,
            };
            Failure::of(Code::Forbidden, why)
        })
    }
}

/// Sends a request and reads its answer, up to a bound.
pub(crate) async fn read(request: reqwest::RequestBuilder) -> Result<Vec<u8>, Unreachable> {
    let request = request.header(header::ACCEPT, "application/json");
    let mut response = request.send().await?.error_for_status()?;
    let url = response.url().to_string();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > DOCUMENT_BYTES_MAX {
            return Err(Unreachable::Document { url, why: "is too large" });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// `keys` and `tried` are ages in seconds.
    fn step(keys: Option<u64>, tried: Option<u64>, unknown: bool) -> &'static str {
        let now = USABLE * 2;
        let ago = |seconds| now - Duration::from_secs(seconds);
        let keys = keys.map(|age| (Arc::new(Keys::default()), ago(age)));
        match (Cache { keys, tried: tried.map(ago) }).step(now, unknown) {
            Step::Use(_) => "use",
            Step::Fetch => "fetch",
            Step::Fail => "fail",
        }
    }

    #[rstest]
    #[case::nothing_yet(None, None, false, "fetch")]
    #[case::just_failed(None, Some(4), false, "fail")]
    #[case::failed_before(None, Some(5), false, "fetch")]
    #[case::fresh(Some(599), Some(599), false, "use")]
    #[case::old(Some(600), Some(600), false, "fetch")]
    #[case::old_and_unreachable(Some(3_599), Some(59), false, "use")]
    #[case::old_and_unreachable_for_long(Some(3_600), Some(59), false, "fail")]
    #[case::a_new_key(Some(60), Some(60), true, "fetch")]
    #[case::a_flood_of_foreign_keys(Some(59), Some(59), true, "use")]
    fn keys_are_fetched_when_they_are_old_or_lack_one(
        #[case] keys: Option<u64>,
        #[case] tried: Option<u64>,
        #[case] unknown: bool,
        #[case] expected: &str,
    ) {
        assert_eq!(step(keys, tried, unknown), expected);
    }
}
