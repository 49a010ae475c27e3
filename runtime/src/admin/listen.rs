//! Sockets and connections: where to listen, and what a connection may cost. Knows nothing of what
//! is answered.

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

/// Where metrics are looked for by custom.
pub const PORT: u16 = 9464;

/// Connections at a time; further ones wait until one is done.
const CONNECTIONS_MAX: usize = 64;
/// How long a client may take to send the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a connection may last in all. Each carries one request.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(20);
/// Largest head of a request, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Most headers of a request.
const HEADERS_MAX: usize = 64;
/// Wait after a connection could not be accepted, which is so when there are no file handles left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);
/// What open connections have to end when the listener does.
const END_GRACE: Duration = Duration::from_secs(1);

/// The listener cannot be opened.
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

/// Opens the listener, if there is to be one.
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

/// A listener at work. It stops when this is dropped.
#[derive(Debug)]
pub(super) struct Listening {
    stop: CancellationToken,
    connections: TaskTracker,
}

impl Listening {
    /// Takes no more connections, and waits a bounded time for those that are open.
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

/// Answers every connection with the router.
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
        // Waiting for a place leaves further connections to the operating system's queue.
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

/// Answers one request, and lets an answer that has begun be finished when the listener stops.
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
