//! The socket of the admin listener, and the bounds of its connections. The routes are elsewhere.

use std::{io, time::Duration};

use tokio::net::TcpListener;

use super::settings::Listen;
use crate::http::Bounds;

/// The usual port of metrics in Prometheus format.
pub const PORT: u16 = 9464;

/// The maximum number of connections.
const CONNECTIONS_MAX: usize = 64;

/// Bounds of the listener's connections, each of which carries one request.
pub(super) const BOUNDS: Bounds = Bounds {
    connections: CONNECTIONS_MAX,
    connections_of_peer: None,
    head_timeout: Duration::from_secs(5),
    write_timeout: Duration::from_secs(5),
    connection_timeout: Some(Duration::from_secs(20)),
    keep_alive: false,
    end_grace: Duration::from_secs(1),
};

/// The reason why the listener cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("admin.listen: cannot listen on {place}: {why}; set another address, auto or off")]
pub struct AdminError {
    place: String,
    why: String,
}

impl AdminError {
    pub(super) fn new(listen: Listen, why: &io::Error) -> Self {
        Self { place: listen.to_string(), why: why.to_string() }
    }
}

/// Binds the listener; `None` when it is off.
pub(super) async fn bind(listen: Listen) -> Result<Option<TcpListener>, AdminError> {
    let bound = match listen {
        Listen::Off => return Ok(None),
        Listen::At(address) => TcpListener::bind(address).await,
        Listen::Auto => match TcpListener::bind(("127.0.0.1", PORT)).await {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                TcpListener::bind(("127.0.0.1", 0)).await
            }
            bound => bound,
        },
    };
    bound.map(Some).map_err(|error| AdminError::new(listen, &error))
}
