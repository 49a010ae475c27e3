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
#[case::comments_after_a_word(TOKEN, ": keep alive\n\n".repeat(100), IDLE)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_reply_ends(
    #[case] first: &'static str,
    #[case] rest: String,
    #[case] expected: ErrorKind,
) {
    assert_eq!(end(ProviderKind::OpenAi, first, rest, expected).await, expected);
}

#[rstest]
#[case::one_frame("", "x".repeat(16_384), ErrorKind::TooLarge)]
#[case::lines_of_one_frame("", "data: x\n".repeat(100), ErrorKind::TooLarge)]
#[case::one_value("{", "x".repeat(16_384), ErrorKind::TooLarge)]
#[case::one_value_of_many_lines("{", "\n".repeat(16_384), ErrorKind::TooLarge)]
#[case::comments("", ": keep alive\n\n".repeat(100), FIRST_TOKEN)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_body_ends(
    #[values(
        ProviderKind::OpenAi,
        ProviderKind::Anthropic,
        ProviderKind::Gemini,
        ProviderKind::Ollama
    )]
    kind: ProviderKind,
    #[case] first: &'static str,
    #[case] rest: String,
    #[case] expected: ErrorKind,
) {
    assert_eq!(end(kind, first, rest, expected).await, expected);
}

/// A server may keep the connection open after the end of a reply, or forget the end mark.
#[rstest]
#[case::openai(
    ProviderKind::OpenAi,
    "data: {\"choices\":[{\"delta\":{\"content\":\"word\"},\"finish_reason\":\"stop\"}]}\n\n"
)]
#[case::gemini(
    ProviderKind::Gemini,
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"word\"}]},\"finishReason\":\"STOP\"}]}\n\n"
)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_complete_reply_whose_connection_stays_open_is_read(
    #[case] kind: ProviderKind,
    #[case] first: &'static str,
) {
    let base = flood(first, ": keep alive\n\n".repeat(100)).await;
    let model = model::connect(&local(kind, &base)).unwrap();
    assert_eq!(reply(&model, "x").await.unwrap().text, "word");
}

/// Returns the error of a call that a flood answers; `expected` selects the limit that is near.
async fn end(
    kind: ProviderKind,
    first: &'static str,
    rest: String,
    expected: ErrorKind,
) -> ErrorKind {
    let base = flood(first, rest).await;
    let mut config = local(kind, &base);
    config.max_reply_bytes = 20_000;
    // A call that ends by its size is far from any time limit.
    let limit_ms = if expected == ErrorKind::TooLarge { 600_000 } else { 300 };
    config.timeouts.first_token = if expected == IDLE { 600_000 } else { limit_ms };
    config.timeouts.idle = limit_ms;
    let model = model::connect(&config).unwrap();
    reply(&model, "x").await.unwrap_err().kind()
}
