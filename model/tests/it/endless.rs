//! Providers that never stop: every such call ends, by size or by time.

use model::{ErrorKind, Phase, ProviderKind};
use rstest::rstest;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::support::{local, reply};

/// Answers the first connection with `first`, then with `rest` for ever.
async fn flood(first: &'static str, rest: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = connection.read(&mut request).await;
        let head =
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        let mut open = connection.write_all(format!("{head}{first}").as_bytes()).await;
        // Ends when the client disconnects.
        while open.is_ok() {
            open = connection.write_all(rest.as_bytes()).await;
        }
    });
    base
}

const TOKEN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"word \"}}]}\n\n";
const THOUGHT: &str = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm \"}}]}\n\n";
const CALL: &str = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"f\",\"arguments\":\"xxxx\"}}]}}]}\n\n";
const FIRST_TOKEN: ErrorKind = ErrorKind::Timeout { which: Phase::FirstToken };
const IDLE: ErrorKind = ErrorKind::Timeout { which: Phase::Idle };

#[rstest]
#[case::words("", TOKEN.repeat(100), ErrorKind::TooLarge)]
#[case::thoughts("", THOUGHT.repeat(100), ErrorKind::TooLarge)]
#[case::arguments("", CALL.repeat(100), ErrorKind::TooLarge)]
#[case::one_frame("", "x".repeat(16_384), ErrorKind::TooLarge)]
#[case::lines_of_one_frame("", "data: x\n".repeat(100), ErrorKind::TooLarge)]
#[case::one_value("{", "x".repeat(16_384), ErrorKind::TooLarge)]
#[case::comments("", ": keep alive\n\n".repeat(100), FIRST_TOKEN)]
#[case::comments_after_a_word(TOKEN, ": keep alive\n\n".repeat(100), IDLE)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_reply_ends(
    #[case] first: &'static str,
    #[case] rest: String,
    #[case] kind: ErrorKind,
) {
    let base = flood(first, rest).await;
    let mut config = local(ProviderKind::OpenAi, &base);
    config.max_reply_bytes = 20_000;
    // A call that ends by its size is far from any time limit.
    let limit_ms = if kind == ErrorKind::TooLarge { 600_000 } else { 300 };
    config.timeouts.first_token = if kind == IDLE { 600_000 } else { limit_ms };
    config.timeouts.idle = limit_ms;
    let model = model::connect(&config).unwrap();
    assert_eq!(reply(&model, "x").await.unwrap_err().kind(), kind);
}

/// The library parses a frame without an end in quadratic time and without yielding: the limit of
/// the whole call must hold nevertheless.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_frame_ends_with_the_whole_call() {
    let base = flood("", "x".repeat(16_384)).await;
    let mut config = local(ProviderKind::Anthropic, &base);
    config.timeouts.first_token = 300;
    config.timeouts.total = 600;
    let model = model::connect(&config).unwrap();
    let kind = reply(&model, "x").await.unwrap_err().kind();
    assert!(
        matches!(kind, ErrorKind::Timeout { which: Phase::FirstToken | Phase::Total }),
        "{kind:?}"
    );
}
