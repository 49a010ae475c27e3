//! An HTTP client that sends arbitrary bytes, as hostile clients do.

use broker::testing::wait::soon;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends bytes, and reads until the connection is closed. `None` when there is no valid response.
pub(crate) async fn send(address: &str, bytes: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    // The server may have answered and closed its end already.
    let _ = stream.write_all(bytes).await;
    let mut got = Vec::new();
    let _ = soon("the end of the connection", stream.read_to_end(&mut got)).await;
    let text = String::from_utf8_lossy(&got).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// Sends a well-formed request.
pub(crate) async fn ask(address: &str, method: &str, path: &str, body: &str) -> Option<Answer> {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    send(address, request.as_bytes()).await
}

/// Sends a `GET` request that must be answered.
pub(crate) async fn get(address: &str, path: &str) -> Answer {
    ask(address, "GET", path, "").await.expect("an answer")
}
