//! The HTTP clients of webhooks and of notifications.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;
use reqwest::{
    StatusCode,
    header::{self, HeaderMap, HeaderName, HeaderValue},
    redirect::Policy,
};
use runtime::egress::{self, Checked, SystemLookup};
use url::Url;

use super::{
    settings::Outgoing,
    signature::{ID, Keys, SIGNATURE, TIMESTAMP},
};
use proto::lang::Words;

/// Time in which a receiver answers.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Posts JSON to receivers that others name.
#[derive(Debug)]
pub(super) struct Poster {
    client: reqwest::Client,
    allow_private: bool,
}

/// Sends signed messages to one receiver.
#[derive(Debug)]
pub(super) struct Sender {
    poster: Poster,
    url: Url,
    keys: Keys,
}

/// The outcome of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Try {
    /// The receiver has the message.
    Delivered(u16),
    /// The receiver wants no more messages.
    Gone,
    /// The receiver does not have the message, as far as is known.
    Failed(String),
}

impl Poster {
    /// Creates a client that reaches private addresses only with `allow_private`.
    pub(super) fn new(allow_private: bool) -> Result<Self, Words> {
        // Fails only if a provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let resolver = Checked { lookup: Arc::new(SystemLookup), allow_private };
        let client = reqwest::Client::builder()
            .dns_resolver(Arc::new(resolver))
            .redirect(Policy::none())
            .no_proxy()
            .referer(false)
            .timeout(TIMEOUT)
            .user_agent(concat!("callboard/", env!("CARGO_PKG_VERSION")))
            .build();
        let client = client.map_err(|error| Words::from(error.to_string()))?;
        Ok(Self { client, allow_private })
    }

    /// Posts JSON once, with these headers.
    pub(super) async fn post(&self, url: &Url, headers: HeaderMap, body: Bytes) -> Try {
        if let Some(port) = egress::foreign_port(url) {
            return Try::Failed(format!("the port {port} belongs to another protocol"));
        }
        match egress::check_address(url) {
            Err(refused) if !self.allow_private => return Try::Failed(refused.to_string()),
            Ok(()) | Err(_) => {}
        }
        let request = self
            .client
            .post(url.clone())
            .headers(headers)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body);
        match request.send().await {
            Ok(response) => verdict(response.status()),
            Err(error) => Try::Failed(innermost(&error)),
        }
    }
}

impl Sender {
    pub(super) fn new(hook: &Outgoing) -> Result<Self, Words> {
        let keys = Keys::of(&hook.secrets)?;
        Ok(Self { poster: Poster::new(hook.allow_private)?, url: hook.url.clone(), keys })
    }

    /// Sends a message once.
    pub(super) async fn send(&self, id: &str, body: Vec<u8>, now: Timestamp) -> Try {
        let seconds = now.as_second();
        let signature = self.keys.sign(id, seconds, &body);
        let signed =
            [(ID, id.to_owned()), (TIMESTAMP, seconds.to_string()), (SIGNATURE, signature)];
        let headers = signed.into_iter().filter_map(|(name, value)| {
            Some((HeaderName::from_static(name), HeaderValue::try_from(value).ok()?))
        });
        self.poster.post(&self.url, headers.collect(), body.into()).await
    }
}

fn verdict(status: StatusCode) -> Try {
    match status {
        StatusCode::GONE => Try::Gone,
        status if status.is_success() => Try::Delivered(status.as_u16()),
        status if status.is_redirection() => {
            Try::Failed(format!("{status}: redirects are not followed"))
        }
        status => Try::Failed(status.to_string()),
    }
}

/// Returns the innermost error, without the URL, which may hold a secret.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    match error.is_timeout() {
        true => format!("nothing within {TIMEOUT:?}"),
        false => cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_2xx_is_delivered_and_only_410_ends_the_webhook() {
        let is = |code| verdict(StatusCode::from_u16(code).unwrap());
        assert_eq!((is(200), is(204)), (Try::Delivered(200), Try::Delivered(204)));
        assert_eq!(is(410), Try::Gone);
        for code in [100, 301, 308, 400, 401, 404, 429, 500, 503] {
            assert!(matches!(is(code), Try::Failed(_)), "{code}");
        }
    }
}
