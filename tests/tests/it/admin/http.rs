//! A client that sends whatever it is told, as hostile ones do.

use broker::testing::wait::soon;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// Sends bytes and reads until the connection is closed. Nothing when there was no answer.
pub(crate) async fn send(address: &str, bytes: &[u8]) -> Option<Answer> {
    let mut stream = TcpStream::connect(address).await.ok()?;
    // A server that has answered already may have closed its end.
    let _ = stream.write_all(bytes).await;
    let mut got = Vec::new();
    let _ = soon("the end of the connection", stream.read_to_end(&mut got)).await;
    let text = String::from_utf8_lossy(&got).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

/// A plain request.
pub(crate) async fn ask(address: &str, method: &str, path: &str, body: &str) -> Option<Answer> {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    send(address, request.as_bytes()).await
}

/// A plain request whose answer must come.
pub(crate) async fn get(address: &str, path: &str) -> Answer {
    ask(address, "GET", path, "").await.expect("an answer")
}
