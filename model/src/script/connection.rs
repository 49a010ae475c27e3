//! Connections that a script can break before or during a reply.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};

/// Breaks the connection of a request: no further bytes are written.
#[derive(Debug, Clone)]
pub(super) struct Breaker(Arc<AtomicBool>);

impl Breaker {
    pub(super) fn trip(&self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Connected<IncomingStream<'_, Breakable>> for Breaker {
    fn connect_info(stream: IncomingStream<'_, Breakable>) -> Self {
        stream.io().breaker.clone()
    }
}

/// A listener whose connections have a [`Breaker`].
pub(super) struct Breakable(pub(super) TcpListener);

impl Listener for Breakable {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.0.accept().await {
                Ok((stream, address)) => {
                    // Small frames must not wait for each other; without this option they are only
                    // delayed.
                    let _ = stream.set_nodelay(true);
                    return (Connection { stream, breaker: Breaker(Arc::default()) }, address);
                }
                Err(error) => {
                    tracing::warn!(%error, "the scripted model cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

pub(super) struct Connection {
    stream: TcpStream,
    breaker: Breaker,
}

impl Connection {
    fn whole(&self) -> io::Result<()> {
        if self.breaker.0.load(Ordering::Acquire) {
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, "broken by the script"));
        }
        Ok(())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.whole()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.whole()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
