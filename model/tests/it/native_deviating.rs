//! Servers that deviate from the formats of Anthropic, Gemini and Ollama: what has one meaning is
//! read, and everything else fails with a reason that says what came.

use model::{ErrorKind, ProviderKind};
use proto::message::{StopReason, Usage};
use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use crate::{
    native::{ANTHROPIC, GEMINI, OLLAMA, SSE},
    support::{canned, local, reply},
};

const JSON: &str = "application/json";

fn anthropic() -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m-2",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "I will look."},
            {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"place": "Paris"}},
            {"type": "tool_use", "id": "b", "name": "get_weather", "input": {"place": "Rome"}},
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 3},
    })
}

fn gemini() -> Value {
    json!({
        "candidates": [{"content": {"role": "model", "parts": [
            {"text": "hm", "thought": true},
            {"text": "I will look."},
            {"functionCall": {"name": "get_weather", "args": {"place": "Paris"}}},
            {"functionCall": {"name": "get_weather", "args": {"place": "Rome"}}},
        ]}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 7, "cachedContentTokenCount": 2, "candidatesTokenCount": 2, "thoughtsTokenCount": 1},
        "modelVersion": "m-2",
    })
}

fn ollama() -> Value {
    json!({
        "model": "m-2", "created_at": "2026-01-01T00:00:00Z",
        "message": {"role": "assistant", "thinking": "hm", "content": "I will look.", "tool_calls": [
            {"function": {"name": "get_weather", "arguments": {"place": "Paris"}}},
            {"function": {"name": "get_weather", "arguments": {"place": "Rome"}}},
        ]},
        "done_reason": "stop", "done": true, "prompt_eval_count": 7, "eval_count": 3,
    })
}

#[rstest]
#[case::anthropic(ProviderKind::Anthropic, anthropic(), 2)]
#[case::gemini(ProviderKind::Gemini, gemini(), 2)]
#[case::gemini_in_a_list(ProviderKind::Gemini, json!([gemini()]), 2)]
#[case::ollama(ProviderKind::Ollama, ollama(), 0)]
#[tokio::test]
async fn a_whole_reply_in_place_of_a_stream_is_an_answer(
    #[case] kind: ProviderKind,
    #[case] whole: Value,
    #[case] cached_tokens: u64,
    #[values(JSON, SSE)] content_type: &str,
    #[values(true, false)] is_pretty: bool,
) {
    let body = if is_pretty { format!("{whole:#}") } else { format!("{whole}\n") };
    let (_server, model) = canned(kind, content_type, &body).await;
    let said = reply(&model, "weather?").await.unwrap();
    assert_eq!([&said.text, &said.thought, &said.model], ["I will look.", "hm", "m-2"]);
    let places: Vec<_> = said.calls.iter().map(|call| &call.args["place"]).collect();
    assert_eq!(places, ["Paris", "Rome"]);
    let usage = Usage { cached_tokens, ..Usage::reported(7, 3) };
    assert_eq!((said.stop, said.usage), (StopReason::ToolCalls, usage));
}

#[tokio::test]
async fn a_gemini_stream_in_a_list_is_read() {
    let frames: Vec<_> = GEMINI.split("\n\n").filter_map(|f| f.strip_prefix("data: ")).collect();
    let body = format!("[{}]", frames.join(",\r\n"));
    let (_server, model) = canned(ProviderKind::Gemini, JSON, &body).await;
    let said = reply(&model, "weather?").await.unwrap();
    assert_eq!((said.text.as_str(), said.calls.len()), ("I will look.", 2));
    assert_eq!(said.usage, Usage::reported(25, 15));
}

#[rstest]
#[case::anthropic_overload(
    ProviderKind::Anthropic,
    r#"{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}"#,
    ErrorKind::Overloaded,
    "overloaded_error: Busy"
)]
#[case::anthropic_rate(
    ProviderKind::Anthropic,
    r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}"#,
    ErrorKind::RateLimited,
    "rate_limit_error: Slow down"
)]
#[case::anthropic_failure(
    ProviderKind::Anthropic,
    r#"{"type":"error","error":{"type":"api_error","message":"Oops"}}"#,
    ErrorKind::ProviderFailed,
    "api_error: Oops"
)]
#[case::anthropic_key(
    ProviderKind::Anthropic,
    r#"{"type":"error","error":{"type":"authentication_error","message":"bad key sk-own-1234"}}"#,
    ErrorKind::Auth,
    "authentication_error: bad key [redacted]"
)]
#[case::anthropic_request(
    ProviderKind::Anthropic,
    r#"{"type":"error","error":{"type":"invalid_request_error","message":"Too many tools"}}"#,
    ErrorKind::InvalidRequest,
    "invalid_request_error: Too many tools"
)]
#[case::anthropic_model(
    ProviderKind::Anthropic,
    r#"{"type":"error","error":{"type":"not_found_error","message":"model: x"}}"#,
    ErrorKind::InvalidRequest,
    "not_found_error: model: x"
)]
#[case::gemini_rate(
    ProviderKind::Gemini,
    r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"Slow down"}}"#,
    ErrorKind::RateLimited,
    "RESOURCE_EXHAUSTED: Slow down"
)]
#[case::gemini_overload(
    ProviderKind::Gemini,
    r#"[{"error":{"code":503,"status":"UNAVAILABLE","message":"Busy"}}]"#,
    ErrorKind::Overloaded,
    "UNAVAILABLE: Busy"
)]
#[case::gemini_request(
    ProviderKind::Gemini,
    r#"{"error":{"status":"INVALID_ARGUMENT","message":"Bad schema"}}"#,
    ErrorKind::InvalidRequest,
    "INVALID_ARGUMENT: Bad schema"
)]
#[case::gemini_key(
    ProviderKind::Gemini,
    r#"{"error":{"code":403,"status":"PERMISSION_DENIED","message":"No"}}"#,
    ErrorKind::Auth,
    "PERMISSION_DENIED: No"
)]
#[case::ollama_failure(
    ProviderKind::Ollama,
    r#"{"error":"the model runner has stopped"}"#,
    ErrorKind::ProviderFailed,
    "the model runner has stopped"
)]
#[case::ollama_cloud(
    ProviderKind::Ollama,
    r#"{"StatusCode":429,"Status":"429 Too Many Requests","error":"Slow down"}"#,
    ErrorKind::RateLimited,
    "Slow down"
)]
#[tokio::test]
async fn an_error_with_status_200_has_a_kind_and_the_providers_words(
    #[case] kind: ProviderKind,
    #[case] error: &str,
    #[case] expected: ErrorKind,
    #[case] words: &str,
    #[values("as JSON", "first", "in the middle")] place: &str,
) {
    let body = match (kind, place) {
        (_, "as JSON") => error.to_owned(),
        (ProviderKind::Ollama, "first") => format!("{error}\n"),
        (ProviderKind::Ollama, _) => {
            format!("{}\n{error}\n", OLLAMA.lines().next().unwrap())
        }
        (ProviderKind::Anthropic, "first") => format!("event: error\ndata: {error}\n\n"),
        (ProviderKind::Anthropic, _) => {
            let start = &ANTHROPIC[..ANTHROPIC.find("event: content_block_stop").unwrap()];
            format!("{start}event: error\ndata: {error}\n\n")
        }
        (ProviderKind::Gemini | ProviderKind::OpenAi, "first") => format!("data: {error}\n\n"),
        (ProviderKind::Gemini | ProviderKind::OpenAi, _) => {
            format!("{}\n\ndata: {error}\n\n", GEMINI.split("\n\n").next().unwrap())
        }
    };
    let failed = failure(kind, JSON, &body).await;
    assert_eq!(failed.kind(), expected, "{failed}");
    assert_eq!(failed.words().map(|words| words.as_str()), Some(words));
}

/// Returns the error of a single attempt.
async fn failure(kind: ProviderKind, content_type: &str, body: &str) -> model::ModelError {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_raw(body.to_owned(), content_type);
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    let mut config = local(kind, &server.uri());
    config.api_key = Some("sk-own-1234".into());
    config.retry.max_attempts = 1;
    reply(&model::connect(&config).unwrap(), "x").await.unwrap_err()
}

#[rstest]
#[case::web_page(
    "<!doctype html><title>Sign in</title>",
    ErrorKind::InvalidRequest,
    "answers with a web page; set base_url",
    None
)]
#[case::empty("", ErrorKind::CutStream, "an empty body", None)]
#[case::blank("\n\n", ErrorKind::CutStream, "an empty body", None)]
#[case::broken_json("{\n\"mess", ErrorKind::Malformed, "not in its own format", None)]
#[case::other_json(
    "{\"status\":\"ok\",\"detail\":\"a health check\"}",
    ErrorKind::ProviderFailed,
    "an error in place of its reply",
    Some("ok: a health check")
)]
#[case::other_json_on_a_line(
    "{\"detail\":\"Not Found\"}\n",
    ErrorKind::ProviderFailed,
    "an error in place of its reply",
    Some("Not Found")
)]
#[tokio::test]
async fn a_body_that_is_no_reply_is_named(
    #[values(ProviderKind::Anthropic, ProviderKind::Gemini, ProviderKind::Ollama)]
    kind: ProviderKind,
    #[case] body: &str,
    #[case] expected: ErrorKind,
    #[case] reason: &str,
    #[case] words: Option<&str>,
) {
    let failed = failure(kind, "text/html", body).await;
    assert_eq!(failed.kind(), expected, "{failed}");
    assert!(failed.to_string().contains(reason), "{failed}");
    assert_eq!(failed.words().map(|words| words.as_str()), words);
}

#[tokio::test]
async fn a_finished_stream_of_anthropic_without_its_end_mark_is_complete() {
    let body = &ANTHROPIC[..ANTHROPIC.find("event: message_stop").unwrap()];
    let (_server, model) = canned(ProviderKind::Anthropic, SSE, body).await;
    let said = reply(&model, "weather?").await.unwrap();
    assert_eq!((said.text.as_str(), said.calls.len()), ("I will look.", 1));
    assert_eq!((said.stop, said.usage), (StopReason::ToolCalls, Usage::reported(25, 15)));
}

#[rstest]
#[case::anthropic(
    ProviderKind::Anthropic,
    r#"{"type":"message","content":[{"type":"tool_use","id":"a","name":"get_weather","input":{"place":1,"place":2}}],"stop_reason":"tool_use"}"#
)]
#[case::gemini(
    ProviderKind::Gemini,
    r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"get_weather","args":{"place":1,"place":2}}}]},"finishReason":"STOP"}]}"#
)]
#[case::ollama(
    ProviderKind::Ollama,
    r#"{"message":{"content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"place":1,"place":2}}}]},"done":true}"#
)]
#[tokio::test]
async fn arguments_with_a_field_twice_are_refused(#[case] kind: ProviderKind, #[case] body: &str) {
    assert_eq!(failure(kind, JSON, body).await.kind(), ErrorKind::Malformed);
}

#[tokio::test]
async fn an_input_that_anthropic_sends_at_once_is_read() {
    let input = r#""name":"get_weather","input":{}"#;
    let body = ANTHROPIC.replace(input, r#""name":"get_weather","input":{"place":"Paris"}"#);
    let deltas = body
        .find("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1");
    let rest =
        body.find("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1");
    let at_once = format!("{}{}", &body[..deltas.unwrap()], &body[rest.unwrap()..]);
    for body in [body, at_once] {
        let (_server, model) = canned(ProviderKind::Anthropic, SSE, &body).await;
        let said = reply(&model, "weather?").await.unwrap();
        assert_eq!(said.calls[0].args, json!({"place": "Paris"}));
    }
}
