//! A client that sends whatever it is told, as hostile ones do.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Longer than the listener lets any connection last.
const PATIENCE: Duration = Duration::from_secs(40);

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

/// Sends bytes and reads until the connection is closed. Nothing when there was no answer.
pub(super) async fn send(address: &str, bytes: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    // A server that has answered already may have closed its end.
    let _ = stream.write_all(bytes).await;
    let mut got = Vec::new();
    let read = stream.read_to_end(&mut got);
    let _ = tokio::time::timeout(PATIENCE, read).await.expect("the listener never closed");
    let text = String::from_utf8_lossy(&got).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// A plain request.
pub(super) async fn ask(address: &str, method: &str, path: &str, body: &str) -> Option<Answer> {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    send(address, request.as_bytes()).await
}

/// A plain request whose answer must come.
pub(super) async fn get(address: &str, path: &str) -> Answer {
    ask(address, "GET", path, "").await.expect("an answer")
}
