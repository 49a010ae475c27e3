//! A bounded HTTP listener: its connections, with or without TLS, their time and the sizes of heads.
//! Routes are elsewhere. HTTP/2 is spoken over TLS, with clients that ask for it.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{Extension, Router};
use hyper::server::conn::{http1, http2};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::Layer;

/// Bound of a request's head, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// Bound of a request's headers.
const HEADERS_MAX: usize = 64;
/// Requests that one HTTP/2 connection may have at once. A page with its streams needs a few.
const STREAMS_MAX: u32 = 64;
/// Bytes of responses that an HTTP/2 connection holds for each request whose peer does not read.
const SEND_BYTES_MAX: usize = 64 * 1024;
/// Silence of an HTTP/2 peer after which it is asked whether it is still there.
const PING_AFTER: Duration = Duration::from_secs(20);
/// The name of HTTP/2 in the handshake of TLS (RFC 9113, 3.2).
pub const H2: &[u8] = b"h2";

/// Wait after a failed accept, which happens when no file descriptors are left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// The bounds of a listener.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The maximum number of connections. Further ones wait in the operating system's queue.
    pub connections: usize,
    /// The maximum number of connections from one address; `None` where a proxy is in front. Further
    /// ones are closed.
    pub connections_of_peer: Option<usize>,
    /// Timeout of a request's head.
    pub head_timeout: Duration,
    /// Time without progress after which a peer that does not read loses its connection.
    pub write_timeout: Duration,
    /// Timeout of a whole connection; absent where responses are streams.
    pub connection_timeout: Option<Duration>,
    /// `true` if a connection may carry several requests.
    pub keep_alive: bool,
    /// The time that open connections have to end when the listener stops.
    pub end_grace: Duration,
}

/// A running listener. Dropping it stops the listener.
#[derive(Debug)]
pub struct Serving {
    stop: CancellationToken,
    connections: TaskTracker,
    end_grace: Duration,
}

impl Serving {
    /// Stops accepting connections, and waits a bounded time for the open ones.
    pub async fn end(self) {
        self.stop.cancel();
        self.connections.close();
        let _ = tokio::time::timeout(self.end_grace, self.connections.wait()).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The address of a request's peer, as an extension of the request.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// Serves every connection with the router, in plain text.
#[must_use]
pub fn serve(listener: TcpListener, router: Router, bounds: Bounds) -> Serving {
    serve_with(listener, router, bounds, None)
}

/// Serves every connection with the router, over TLS where it is configured.
#[must_use]
pub fn serve_with(
    listener: TcpListener,
    router: Router,
    bounds: Bounds,
    tls: Option<Arc<ServerConfig>>,
) -> Serving {
    let (stop, connections) = (CancellationToken::new(), TaskTracker::new());
    let place = Place { router, bounds, tls: tls.map(TlsAcceptor::from), stop: stop.clone() };
    let accept = accept(listener, place, connections.clone());
    tokio::spawn(stop.clone().run_until_cancelled_owned(accept));
    Serving { stop, connections, end_grace: bounds.end_grace }
}

/// What every connection is served with.
#[derive(Clone)]
struct Place {
    router: Router,
    bounds: Bounds,
    tls: Option<TlsAcceptor>,
    stop: CancellationToken,
}

async fn accept(listener: TcpListener, at: Place, connections: TaskTracker) {
    let bounds = at.bounds;
    let places = Arc::new(Semaphore::new(bounds.connections));
    let peers = Peers::new(bounds.connections_of_peer);
    loop {
        // Connections beyond the bound stay in the operating system's queue.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let Some(own) = peers.open(from.ip()) else {
            tracing::debug!(%from, "an address has too many connections");
            continue;
        };
        let at = at.clone();
        connections.spawn(async move {
            let _own = own;
            let answered = answer(stream, from, at);
            match bounds.connection_timeout {
                Some(limit) => _ = tokio::time::timeout(limit, answered).await,
                None => answered.await,
            }
            drop(place);
        });
    }
}

/// The connections of each address.
#[derive(Debug, Clone)]
struct Peers {
    max: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A connection of an address, until it is dropped.
#[derive(Debug)]
struct OfPeer(Peers, IpAddr);

impl Peers {
    fn new(max: Option<usize>) -> Self {
        Self { max: max.unwrap_or(usize::MAX), open: Arc::default() }
    }

    /// Counts a connection. Returns `None` if its address has too many.
    fn open(&self, peer: IpAddr) -> Option<OfPeer> {
        let peer = network(peer);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(peer).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        Some(OfPeer(self.clone(), peer))
    }
}

/// Returns the network that stands for the host of an address: an IPv4 address itself, and the first
/// half of an IPv6 address, because a host chooses the other half.
#[must_use]
pub fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
    }
}

impl Drop for OfPeer {
    fn drop(&mut self) {
        let Self(peers, peer) = self;
        let mut open = peers.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(peer) {
            *count -= 1;
            if *count == 0 {
                open.remove(peer);
            }
        }
    }
}

/// Serves a connection. Its task has the size of the protocol that it speaks, not of the largest one.
async fn answer(stream: TcpStream, from: SocketAddr, at: Place) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(at.bounds.write_timeout));
    let stream = Box::pin(stream);
    match at.tls.clone() {
        None => Box::pin(requests(stream, from, at)).await,
        Some(tls) => Box::pin(secured(stream, &tls, from, at)).await,
    }
}

/// Serves a connection over TLS.
async fn secured(
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    tls: &TlsAcceptor,
    from: SocketAddr,
    at: Place,
) {
    match tokio::time::timeout(at.bounds.head_timeout, tls.accept(stream)).await {
        Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(H2) => {
            Box::pin(multiplexed(Box::pin(stream), from, at)).await;
        }
        Ok(Ok(stream)) => Box::pin(requests(Box::pin(stream), from, at)).await,
        Ok(Err(error)) => tracing::debug!(%from, %error, "a TLS handshake failed"),
        Err(_) => tracing::debug!(%from, "a TLS handshake took too long"),
    }
}

/// Serves the requests of a connection, one after the other.
async fn requests(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    from: SocketAddr,
    at: Place,
) {
    let Place { router, bounds, stop, .. } = at;
    let service = TowerToHyperService::new(Extension(Peer(from.ip())).layer(router));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head_timeout)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(bounds.keep_alive)
        .serve_connection(TokioIo::new(stream), service);
    until_stopped(connection, from, &stop).await;
}

/// Serves the requests of an HTTP/2 connection, which may be answered side by side.
async fn multiplexed(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    from: SocketAddr,
    at: Place,
) {
    let Place { router, bounds, stop, .. } = at;
    let service = TowerToHyperService::new(Extension(Peer(from.ip())).layer(router));
    let heads = u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(heads)
        .max_send_buf_size(SEND_BYTES_MAX)
        .keep_alive_interval(PING_AFTER)
        .keep_alive_timeout(bounds.write_timeout)
        .serve_connection(TokioIo::new(stream), service);
    until_stopped(connection, from, &stop).await;
}

/// Drives a connection to its end. A response that has begun is completed when the listener stops.
async fn until_stopped<C>(connection: C, from: SocketAddr, stop: &CancellationToken)
where
    C: GracefulConnection<Error = hyper::Error>,
{
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%from, %error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use broker::testing::wait::{eventually, soon};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// Sends a request, and returns the beginning of its whole reply; `None` if the connection ends.
    async fn ask(stream: &mut TcpStream) -> Option<[u8; 12]> {
        let mut reply = Vec::new();
        // A connection that was closed at once may refuse the request.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        while !reply.ends_with(b"\r\n\r\nhi") {
            if soon("an answer", stream.read_buf(&mut reply)).await.ok()? == 0 {
                return None;
            }
        }
        reply.first_chunk().copied()
    }

    #[tokio::test]
    async fn an_address_with_too_many_connections_gets_no_further_one_until_one_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let minute = Duration::from_secs(60);
        let bounds = Bounds {
            connections: 8,
            connections_of_peer: Some(2),
            head_timeout: minute,
            write_timeout: minute,
            connection_timeout: None,
            keep_alive: true,
            end_grace: minute,
        };
        let _serving = serve(listener, Router::new().route("/", get(async || "hi")), bounds);
        let connect = async || TcpStream::connect(address).await.unwrap();
        let (mut first, mut second) = (connect().await, connect().await);
        for stream in [&mut first, &mut second] {
            assert_eq!(ask(stream).await, Some(*b"HTTP/1.1 200"));
        }
        assert_eq!(ask(&mut connect().await).await, None);
        drop(first);
        eventually("a place", async || ask(&mut connect().await).await.ok_or("none")).await;
        assert_eq!(ask(&mut second).await, Some(*b"HTTP/1.1 200"));
    }
}
