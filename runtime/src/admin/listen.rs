//! The sockets and connections of the admin listener, and their bounds. The routes are elsewhere.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::settings::Listen;

/// The usual port of metrics in Prometheus format.
pub const PORT: u16 = 9464;

/// The maximum number of connections. Further ones wait in the operating system's queue.
const CONNECTIONS_MAX: usize = 64;
/// Timeout of a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of a whole connection, which carries one request.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(20);
/// Bound of a request's head, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Bound of a request's headers.
const HEADERS_MAX: usize = 64;
/// Wait after a failed accept, which happens when no file descriptors are left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);
/// The time that open connections have to end when the listener stops.
const END_GRACE: Duration = Duration::from_secs(1);

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

/// A running listener. Dropping it stops the listener.
#[derive(Debug)]
pub(super) struct Listening {
    stop: CancellationToken,
    connections: TaskTracker,
}

impl Listening {
    /// Stops accepting connections, and waits a bounded time for the open ones.
    pub(super) async fn end(self) {
        self.stop.cancel();
        self.connections.close();
        let _ = tokio::time::timeout(END_GRACE, self.connections.wait()).await;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Serves every connection with the router.
pub(super) fn serve(listener: TcpListener, router: Router) -> Listening {
    let (stop, connections) = (CancellationToken::new(), TaskTracker::new());
    let listening = Listening { stop: stop.clone(), connections: connections.clone() };
    let accept = accept(listener, router, stop.clone(), connections);
    tokio::spawn(async move { stop.run_until_cancelled(accept).await });
    listening
}

async fn accept(
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
    connections: TaskTracker,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        // Connections beyond the bound stay in the operating system's queue.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "an admin connection could not be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            let answered = answer(stream, from, router, stop);
            let _ = tokio::time::timeout(CONNECTION_TIMEOUT, answered).await;
            drop(place);
        });
    }
}

/// Serves one request. A response that has begun is completed when the listener stops.
async fn answer(stream: TcpStream, from: SocketAddr, router: Router, stop: CancellationToken) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%from, %error, "an admin connection ended early");
    }
}
