//! The errors of HTTP requests.

use std::{net::IpAddr, time::Duration};

use runtime::egress::NotPublic;

/// Largest number of redirects that one request follows.
pub(super) const REDIRECTS_MAX: usize = 5;

/// A failed HTTP request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The text is not a URL with a host.
    #[error("not a URL: {0}")]
    NotUrl(String),
    /// The scheme is neither http nor https.
    #[error("refused: the scheme {0:?} is not http or https")]
    Scheme(String),
    /// The URL contains a user name or a password.
    #[error("refused: a URL must not carry a user name or password")]
    UserInfo,
    /// The host is not in `allow_hosts`.
    #[error("refused: tools.http.allow_hosts does not contain the host {0:?}")]
    Host(String),
    /// The host is not in the `tool.hosts` of the job's agent.
    #[error("refused: tool.hosts of the agent does not contain the host {0:?}")]
    NotOfAgent(String),
    /// The host has a private address.
    #[error("refused: {host} is {address}, which is not a public address")]
    Private {
        /// The host as written in the URL.
        host: String,
        /// The private address.
        address: IpAddr,
    },
    /// The port belongs to another protocol.
    #[error("refused: the port {0} belongs to another protocol than http")]
    Port(u16),
    /// The server sent too many redirects.
    #[error("refused: more than {REDIRECTS_MAX} redirects")]
    Redirects,
    /// A redirect leads from https to http.
    #[error("refused: a redirect from https to http")]
    Downgrade,
    /// The body is compressed although the request asked for none.
    #[error("refused: the server sent a body with content-encoding {0:?}")]
    Encoded(String),
    /// No complete response arrived within this time.
    #[error("no complete response within {0:?}")]
    Timeout(Duration),
    /// The server is unreachable or does not speak HTTP.
    #[error("cannot be fetched: {0}")]
    Failed(String),
    /// The request was sent, and its outcome is unknown.
    #[error("the request was sent, and no complete response arrived: {0}")]
    Uncertain(String),
    /// The HTTP client could not be set up.
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(String),
}

impl From<NotPublic> for EgressError {
    fn from(NotPublic { host, address }: NotPublic) -> Self {
        Self::Private { host, address }
    }
}

impl EgressError {
    /// `true` if the same request may succeed later. [`EgressError::Uncertain`] is excluded: a
    /// repeat could send the body twice.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Timeout(_) | Self::Failed(_) => true,
            Self::NotUrl(_)
            | Self::Scheme(_)
            | Self::UserInfo
            | Self::Host(_)
            | Self::NotOfAgent(_)
            | Self::Private { .. }
            | Self::Port(_)
            | Self::Redirects
            | Self::Downgrade
            | Self::Encoded(_)
            | Self::Uncertain(_)
            | Self::Setup(_) => false,
        }
    }
}
