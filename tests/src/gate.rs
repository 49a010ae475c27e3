//! A gate: an HTTP server that answers no request until a test opens it. A tool call to it is in
//! progress for exactly as long as the test needs.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// A gate, closed until [`Gate::open`].
#[derive(Debug)]
pub struct Gate(TcpListener);

impl Gate {
    /// Creates a closed gate on a free port.
    ///
    /// # Panics
    /// Panics if no port can be bound.
    pub async fn closed() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.expect("a free port can be listened on"))
    }

    /// Returns the address for a `GET` request.
    ///
    /// # Panics
    /// Panics if the listener has no address.
    #[must_use]
    pub fn url(&self) -> String {
        let address = self.0.local_addr().expect("a listener has an address");
        format!("http://{address}/")
    }

    /// Answers `42` to every request from now on, and to those that wait, even if the client has
    /// gone.
    pub fn open(self) {
        tokio::spawn(async move {
            while let Ok((mut visitor, _)) = self.0.accept().await {
                let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n42";
                let _ = visitor.read(&mut [0; 4096]).await;
                let _ = visitor.write_all(answer.as_bytes()).await;
            }
        });
    }
}
