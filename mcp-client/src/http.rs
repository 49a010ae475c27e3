//! The HTTP client of servers that have an address.
//!
//! It follows no redirect, so headers with secrets go to the configured address alone, and it
//! connects to the very address that it checked. It asks no server for authorisation: a challenge is
//! an error, and the addresses in it are never fetched.

use std::{sync::Arc, time::Duration};

use runtime::egress::{self, Checked, NotPublic, SystemLookup};
use url::Url;

/// Time to connect.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// The reason why there is no client for an address.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is a private one.
    #[error(transparent)]
    Private(#[from] NotPublic),
    /// TLS cannot be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
}

/// Creates the client of one server.
pub(crate) fn client(url: &Url, allow_private: bool) -> Result<reqwest::Client, ClientError> {
    if !allow_private {
        egress::check_address(url)?;
    }
    // Fails only if a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .dns_resolver(Arc::new(Checked { lookup: Arc::new(SystemLookup), allow_private }))
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_WITHIN)
        .user_agent(concat!("callboard/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| ClientError::Setup(error.to_string()))
}
