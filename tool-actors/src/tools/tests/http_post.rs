//! `http_post` against servers that answer, refuse connections, or disconnect.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::tools::HttpPost;

fn tool() -> HttpPost {
    let config = Http { allow_private: true, ..Http::default() };
    HttpPost::new(Egress::new(config, Arc::new(SystemLookup)).unwrap(), 100, 1000)
}

#[tokio::test]
async fn a_post_carries_the_idempotency_key_and_gives_the_answer() {
    let server = MockServer::start().await;
    let posted = wiremock::matchers::header("idempotency-key", "key");
    let answer = ResponseTemplate::new(201).set_body_raw("made", "text/plain");
    Mock::given(wiremock::matchers::method("POST"))
        .and(posted)
        .respond_with(answer)
        .mount(&server)
        .await;
    let args = json!({"url": server.uri(), "json": {"a": 1}});
    let result = call(&tool(), args).await.unwrap();
    let data = result.data.unwrap();
    assert_eq!(
        (result.success, &data["status"], &data["body"]),
        (true, &json!(201), &json!("made"))
    );
}

#[tokio::test]
async fn a_post_that_was_never_sent_may_be_tried_again() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let args = json!({"url": format!("http://{address}/"), "json": 1});
    assert_eq!(call(&tool(), args).await.unwrap_err().fault, Fault::Unavailable);
}

#[tokio::test]
async fn a_post_that_breaks_off_after_it_was_sent_is_unknown() {
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut connection, _) = server.accept().await.unwrap();
        let mut read = [0; 64];
        let _ = connection.read(&mut read).await;
        let _ = connection.shutdown().await;
    });
    let args = json!({"url": format!("http://{address}/"), "json": 1});
    assert_eq!(call(&tool(), args).await.unwrap_err().fault, Fault::Unknown);
}

#[tokio::test]
async fn a_post_whose_answer_cannot_be_read_is_unknown() {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).insert_header("content-encoding", "gzip");
    Mock::given(wiremock::matchers::any()).respond_with(answer).mount(&server).await;
    let fault = call(&tool(), json!({"url": server.uri(), "json": 1})).await.unwrap_err();
    assert_eq!(fault.fault, Fault::Unknown);
}
