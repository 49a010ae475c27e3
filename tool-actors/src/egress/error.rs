//! Why nothing was fetched.

use std::{net::IpAddr, time::Duration};

/// Most redirects of one fetch.
pub(super) const REDIRECTS_MAX: usize = 5;

/// Why nothing was fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// It is not a URL.
    #[error("not a URL: {0}")]
    NotUrl(String),
    /// Only http and https are spoken.
    #[error("refused: the scheme {0:?} is not http or https")]
    Scheme(String),
    /// A name and password stand in the URL.
    #[error("refused: a URL must not carry a user name or password")]
    UserInfo,
    /// The host is not one of those that are allowed.
    #[error("refused: tools.http.allow_hosts does not contain the host {0:?}")]
    Host(String),
    /// The address is not public.
    #[error("refused: {host} is {address}, which is not a public address")]
    Private {
        /// As the URL has it.
        host: String,
        /// What it is.
        address: IpAddr,
    },
    /// Too many redirects.
    #[error("refused: more than {REDIRECTS_MAX} redirects")]
    Redirects,
    /// From https to http.
    #[error("refused: a redirect from https to http")]
    Downgrade,
    /// The body is compressed although that was not asked for.
    #[error("refused: the server sent a body with content-encoding {0:?}")]
    Encoded(String),
    /// It took too long.
    #[error("no complete response within {0:?}")]
    Timeout(Duration),
    /// The server cannot be reached, or does not speak HTTP.
    #[error("cannot be fetched: {0}")]
    Failed(String),
    /// It was sent, and nobody knows what became of it.
    #[error("the request was sent, and no complete response arrived: {0}")]
    Uncertain(String),
    /// The client could not be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
}

impl EgressError {
    /// Whether the same fetch may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Timeout(_) | Self::Failed(_) => true,
            Self::NotUrl(_)
            | Self::Scheme(_)
            | Self::UserInfo
            | Self::Host(_)
            | Self::Private { .. }
            | Self::Redirects
            | Self::Downgrade
            | Self::Encoded(_)
            | Self::Uncertain(_)
            | Self::Setup(_) => false,
        }
    }
}
