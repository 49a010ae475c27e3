//! Models that are asked in place of one that does not answer, over HTTP.

use model::{ErrorKind, ProviderKind, complete};
use proto::{
    fallback::{AnsweredBy, Fallback, FallbackReason, FellBack},
    message::Message,
    observe::Window,
};
use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{body_partial_json, method},
};

use crate::{
    native::SSE,
    support::{ask, local},
};

const FINE: &str = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n";
const REFUSAL: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"I\"},\"finish_reason\":\"content_filter\"}]}\n\ndata: [DONE]\n\n";

fn all(model: &str) -> Fallback {
    use FallbackReason::{ContextTooLong, Outage, Overloaded, RateLimited, Refused};
    let on = vec![RateLimited, Overloaded, Outage, Refused, ContextTooLong];
    Fallback { model: model.to_owned(), on }
}

/// Starts a server whose model `second` answers, and any other one as given.
async fn server(status: u16, body: &str) -> MockServer {
    let server = MockServer::start().await;
    let fine = ResponseTemplate::new(200).set_body_raw(FINE, SSE);
    let is_second = body_partial_json(json!({"model": "second"}));
    Mock::given(method("POST")).and(is_second).respond_with(fine).mount(&server).await;
    let kind = if body.starts_with("data:") { SSE } else { "application/json" };
    let other = ResponseTemplate::new(status).set_body_raw(body.to_owned(), kind);
    Mock::given(method("POST")).respond_with(other).with_priority(9).mount(&server).await;
    server
}

#[rstest]
#[case::rate_limited(429, "{}", FallbackReason::RateLimited)]
#[case::no_credit(402, "{}", FallbackReason::RateLimited)]
#[case::overloaded(503, "{}", FallbackReason::Overloaded)]
#[case::outage(500, "{}", FallbackReason::Outage)]
#[case::refused(200, REFUSAL, FallbackReason::Refused)]
#[case::context(
    400,
    r#"{"error":{"code":"context_length_exceeded"}}"#,
    FallbackReason::ContextTooLong
)]
#[tokio::test]
async fn another_model_is_asked_and_the_reason_is_told(
    #[case] status: u16,
    #[case] body: &str,
    #[case] reason: FallbackReason,
) {
    let server = server(status, body).await;
    let mut config = local(ProviderKind::OpenAi, &server.uri());
    config.retry.max_attempts = 1;
    let model = model::connect(&config).unwrap();
    let mut request = ask("hello");
    request.params.fallback = vec![all("second")];
    let reply = complete(model.as_ref(), request.clone(), |_| {}).await.unwrap();
    let fell_back = vec![FellBack { model: None, reason }];
    assert_eq!(reply.answered, Some(AnsweredBy { model: "second".into(), fell_back }));
    assert_eq!((reply.text.as_str(), reply.usage.input_tokens), ("ok", 5));
    let asked = server.received_requests().await.unwrap();
    let asked = asked.iter().map(|sent| sent.body_json::<Value>().unwrap()["model"].clone());
    assert_eq!(asked.collect::<Vec<_>>(), ["test-model", "second"]);
    // An entry for other reasons is passed over, and the error stays.
    request.params.fallback[0].on.retain(|on| *on != reason);
    let failed = complete(model.as_ref(), request, |_| {}).await.unwrap_err();
    assert_eq!(failed.kind().fallback_reason(), Some(reason));
}

#[tokio::test]
async fn a_fault_that_another_model_would_have_too_is_final() {
    let server = server(401, "{}").await;
    let model = model::connect(&local(ProviderKind::OpenAi, &server.uri())).unwrap();
    let mut request = ask("hello");
    request.params.fallback = vec![all("second")];
    let failed = complete(model.as_ref(), request, |_| {}).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Auth);
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_conversation_beyond_the_window_goes_to_a_model_with_a_larger_one() {
    let server = server(500, "{}").await;
    let model = model::connect(&local(ProviderKind::OpenAi, &server.uri())).unwrap();
    let windows = agents::price::ByModel::usual(None, Some(50)).with("small", 60);
    let windows = windows.with("second", 100_000);
    let model = model::bounded(model, windows);
    let mut request = ask("hello");
    request.messages.push(Message::User { text: "word ".repeat(500) });
    request.params.fallback = vec![all("small"), all("second")];
    let fitted = model::fit_request(
        &mut request,
        None,
        Window::default(),
        proto::lang::Language::En,
        model.as_ref(),
    );
    fitted.unwrap();
    let reply = complete(model.as_ref(), request, |_| {}).await.unwrap();
    let answered = reply.answered.unwrap();
    assert_eq!(answered.model, "second");
    assert!(answered.fell_back.iter().all(|one| one.reason == FallbackReason::ContextTooLong));
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}
