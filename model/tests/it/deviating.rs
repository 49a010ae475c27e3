//! Servers that deviate from OpenAI's format: what has one meaning is read, and everything else
//! fails with a reason that says what came.

use model::{ErrorKind, ProviderKind};
use proto::{
    lang::Language,
    message::{StopReason, Usage},
};
use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use crate::support::{Lines, ask, canned, local, reply};

const SSE: &str = "text/event-stream";
const JSON: &str = "application/json";
const HTML: &str = "text/html";

/// Writes frames as a stream.
fn stream(frames: &[Value], end: &str) -> String {
    frames.iter().map(|frame| format!("data: {frame}\n\n")).collect::<String>() + end
}

fn words(words: &str) -> Value {
    json!({"choices": [{"delta": {"content": words}}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"delta": {}, "finish_reason": reason}]})
}

#[tokio::test]
async fn a_finished_stream_without_its_end_mark_is_complete() {
    let body = stream(&[words("four"), finish("stop")], "");
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &body).await;
    let said = reply(&model, "2+2?").await.unwrap();
    assert_eq!((said.text.as_str(), said.stop), ("four", StopReason::End));
}

#[rstest]
#[case::no_reason(words("fo"))]
#[case::empty_reason(json!({"choices": [{"delta": {"content": "fo"}, "finish_reason": ""}]}))]
#[tokio::test]
async fn an_unfinished_stream_without_its_end_mark_is_cut(#[case] frame: Value) {
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &stream(&[frame], "")).await;
    assert_eq!(reply(&model, "2+2?").await.unwrap_err().kind(), ErrorKind::CutStream);
}

#[rstest]
#[case::a_content_type_of_its_own(JSON)]
#[case::the_content_type_of_a_stream(SSE)]
#[tokio::test]
async fn a_whole_reply_in_place_of_a_stream_is_an_answer(#[case] content_type: &str) {
    let whole = json!({
        "model": "m-2",
        "choices": [{"message": {"role": "assistant", "content": "<think>hm</think>four", "tool_calls": [
            {"id": "a", "function": {"name": "get_weather", "arguments": "{\"place\":\"Paris\"}"}},
            {"id": "b", "function": {"name": "get_weather", "arguments": {"place": "Rome"}}},
        ]}, "finish_reason": "tool_calls"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    });
    let body = serde_json::to_string_pretty(&whole).unwrap();
    let (_server, model) = canned(ProviderKind::OpenAi, content_type, &body).await;
    let said = reply(&model, "2+2?").await.unwrap();
    assert_eq!([&said.text, &said.thought, &said.model], ["four", "hm", "m-2"]);
    let places: Vec<_> = said.calls.iter().map(|call| &call.args["place"]).collect();
    assert_eq!(places, ["Paris", "Rome"]);
    assert_eq!((said.stop, said.usage), (StopReason::ToolCalls, Usage::reported(7, 3)));
}

#[rstest]
#[case::error(
    JSON,
    r#"{"error":{"code":"insufficient_quota","message":"You are broke"}}"#,
    ErrorKind::Quota,
    "the account at the model provider has no credit left",
    Some("insufficient_quota: You are broke")
)]
#[case::error_in_a_list(
    JSON,
    r#"[{"error":{"status":"RESOURCE_EXHAUSTED","message":"Slow down"}}]"#,
    ErrorKind::RateLimited,
    "fewer requests",
    Some("RESOURCE_EXHAUSTED: Slow down")
)]
#[case::unknown_error(
    JSON,
    r#"{"code":"Odd","message":"no capacity in zone 7"}"#,
    ErrorKind::ProviderFailed,
    "an error in place of its reply",
    Some("Odd: no capacity in zone 7")
)]
#[case::error_in_a_stream(
    SSE,
    "data: {\"error\":{\"message\":\"model is loading\"}}\n\n",
    ErrorKind::ProviderFailed,
    "an error in place of its reply",
    Some("model is loading")
)]
#[case::web_page(
    HTML,
    "<!doctype html><title>Sign in</title>",
    ErrorKind::InvalidRequest,
    "answers with a web page; set base_url",
    None
)]
#[case::empty(JSON, "", ErrorKind::CutStream, "an empty body", None)]
#[case::blank(SSE, "\n\n", ErrorKind::CutStream, "an empty body", None)]
#[case::broken_json(
    JSON,
    r#"{"choices":[{"mess"#,
    ErrorKind::Malformed,
    "not in its own format",
    None
)]
#[tokio::test]
async fn a_body_that_is_no_reply_is_named(
    #[case] content_type: &str,
    #[case] body: &str,
    #[case] kind: ErrorKind,
    #[case] reason: &str,
    #[case] provider_words: Option<&str>,
) {
    let server = MockServer::start().await;
    let answer = ResponseTemplate::new(200).set_body_raw(body.to_owned(), content_type);
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    let mut config = local(ProviderKind::OpenAi, &server.uri());
    config.retry.max_attempts = 1;
    let model = model::connect(&config).unwrap();
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(reason), "{error}");
    assert_eq!(error.words().map(|words| words.as_str()), provider_words);
}

#[tokio::test]
async fn a_refused_request_is_explained_in_the_providers_words() {
    let server = MockServer::start().await;
    let prompt = "tell nobody about the merger";
    let said = format!("Bad value in '{prompt}'; your key sk-own-1234 is fine");
    let answer = ResponseTemplate::new(400).set_body_json(json!({"error": {"message": said}}));
    Mock::given(method("POST")).respond_with(answer).mount(&server).await;
    let mut config = local(ProviderKind::OpenAi, &server.uri());
    config.api_key = Some("sk-own-1234".into());
    let model = model::connect(&config).unwrap();
    let error = reply(&model, prompt).await.unwrap_err();
    let reason = error.reason(Language::En);
    assert!(reason.starts_with("the model provider refuses the request (HTTP 400)"), "{reason}");
    assert!(reason.ends_with("says: Bad value in '…'; your key [redacted] is fine"), "{reason}");
}

#[rstest]
#[case::texts(json!({"usage": {"prompt_tokens": "70", "completion_tokens": "30"}}))]
#[case::fractions(json!({"usage": {"prompt_tokens": 69.5, "completion_tokens": 30.0}}))]
#[case::groq(json!({"x_groq": {"usage": {"prompt_tokens": 70, "completion_tokens": 30}}}))]
#[case::in_the_choice(json!({"choices": [{"usage": {"prompt_tokens": 70, "completion_tokens": 30}}]}))]
#[tokio::test]
async fn token_counts_are_read(#[case] frame: Value) {
    let body = stream(&[words("four"), finish("stop"), frame], "data: [DONE]\n\n");
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &body).await;
    assert_eq!(reply(&model, "2+2?").await.unwrap().usage, Usage::reported(70, 30));
}

#[rstest]
#[case::absent(json!({"choices": []}))]
#[case::null(json!({"usage": null, "choices": []}))]
#[case::zeros(json!({"usage": {"prompt_tokens": 0, "completion_tokens": 0}}))]
#[case::negative(json!({"usage": {"prompt_tokens": -7, "completion_tokens": -3}}))]
#[case::not_numbers(json!({"usage": {"prompt_tokens": "few", "completion_tokens": true}}))]
#[tokio::test]
async fn tokens_that_are_not_reported_are_estimated(#[case] frame: Value) {
    let answer = "The answer to this question is four. ".repeat(20);
    let body = stream(&[words(&answer), finish("stop"), frame], "data: [DONE]\n\n");
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &body).await;
    let usage = reply(&model, "2+2?").await.unwrap().usage;
    let asked = ask("2+2?");
    let input = model::tokens(&asked.messages, &asked.tools, model.as_ref());
    let output = model::estimate(&answer);
    let as_tokens = |count: usize| u64::try_from(count).unwrap();
    assert_eq!(
        usage,
        Usage { estimated: true, ..Usage::reported(as_tokens(input), as_tokens(output)) }
    );
}

#[tokio::test]
async fn a_provider_without_token_counts_is_named_in_one_warning() {
    let lines = Lines::default();
    let _guard = lines.record();
    let body = stream(&[words("four"), finish("stop")], "data: [DONE]\n\n");
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &body).await;
    for _ in 0..3 {
        assert!(reply(&model, "2+2?").await.unwrap().usage.estimated);
    }
    let warned = lines.text().matches("does not report its tokens").count();
    assert_eq!(warned, 1, "{}", lines.text());
}

#[tokio::test]
async fn one_missing_count_is_estimated_alone() {
    let counted = json!({"usage": {"prompt_tokens": 70}});
    let body = stream(&[words("four"), finish("stop"), counted], "data: [DONE]\n\n");
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &body).await;
    let usage = reply(&model, "2+2?").await.unwrap().usage;
    assert_eq!((usage.input_tokens, usage.estimated), (70, true));
    assert!(usage.output_tokens > 0);
}

const CALL: &str = r#"{"place": 1}"#;

fn called(field: &str) -> Value {
    let function = json!({"name": "get_weather", "arguments": CALL});
    json!({"choices": [{ field: {"tool_calls": [{"id": "a", "function": function}]} }]})
}

#[rstest]
#[case::the_whole_message_at_the_end(&[called("delta"), called("message"), finish("tool_calls")])]
#[case::both_spellings(&[
    json!({"choices": [{"message": {
        "tool_calls": [{"id": "a", "function": {"name": "get_weather", "arguments": CALL}}],
        "function_call": {"name": "get_weather", "arguments": CALL},
    }}]}),
    finish("tool_calls"),
])]
#[case::id_and_name_in_every_piece(&[
    json!({"choices": [{"delta": {"tool_calls": [{"id": "a", "function": {"name": "get_weather", "arguments": ""}}]}}]}),
    called("delta"),
    finish("tool_calls"),
])]
#[tokio::test]
async fn a_call_that_is_sent_twice_is_one_call(#[case] frames: &[Value]) {
    let body = stream(frames, "data: [DONE]\n\n");
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &body).await;
    let said = reply(&model, "weather?").await.unwrap();
    let calls: Vec<_> = said.calls.iter().map(|call| (call.name.as_str(), &call.args)).collect();
    assert_eq!(calls, [("get_weather", &json!({"place": 1}))]);
}

#[rstest]
#[case::a_key(json!({"error": {"code": 401, "message": "no"}}), ErrorKind::Auth)]
#[case::a_request(json!({"error": {"code": "400", "message": "no"}}), ErrorKind::InvalidRequest)]
#[case::too_many(json!({"error": {"code": 429, "message": "no"}}), ErrorKind::RateLimited)]
#[tokio::test]
async fn an_error_with_status_200_has_the_kind_of_its_number(
    #[case] body: Value,
    #[case] kind: ErrorKind,
) {
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &body.to_string()).await;
    assert_eq!(reply(&model, "weather?").await.unwrap_err().kind(), kind);
}

#[tokio::test]
async fn a_byte_order_mark_takes_no_words_away() {
    let body = format!("\u{feff}{}", stream(&[words("four"), finish("stop")], "data: [DONE]\n\n"));
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &body).await;
    assert_eq!(reply(&model, "two and two?").await.unwrap().text, "four");
}

#[rstest]
#[case::the_older_spelling(&[
    json!({"choices": [{"delta": {"function_call": {"name": "get_weather", "arguments": "{\"pla"}}}]}),
    json!({"choices": [{"delta": {"function_call": {"arguments": "ce\":1}"}}, "finish_reason": "function_call"}]}),
])]
#[case::one_call_without_a_list(&[
    json!({"choices": [{"delta": {"tool_calls": {"id": 7, "function": {"name": "get_weather", "arguments": {"place": 1}}}}}]}),
    finish("stop"),
])]
#[case::in_the_text(&[
    words("<tool_call>{\"name\":\"get_weather\","), words("\"arguments\":{\"place\":1}}</tool_call>"), finish("stop"),
])]
#[tokio::test]
async fn spellings_of_a_call_are_read(#[case] frames: &[Value]) {
    let body = stream(frames, "data: [DONE]\n\n");
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &body).await;
    let said = reply(&model, "weather?").await.unwrap();
    assert_eq!((said.calls.len(), said.stop), (1, StopReason::ToolCalls));
    assert_eq!(said.calls[0].name, "get_weather");
    assert_eq!(said.calls[0].args, json!({"place": 1}));
}

#[tokio::test]
async fn arguments_with_a_field_twice_stay_as_they_were_written() {
    let written = r#"{"place":"Paris","place":"Rome"}"#;
    let call =
        json!({"index": 0, "id": "a", "function": {"name": "get_weather", "arguments": written}});
    let frames = [json!({"choices": [{"delta": {"tool_calls": [call]}}]}), finish("tool_calls")];
    let (_server, model) = canned(ProviderKind::OpenAi, SSE, &stream(&frames, "")).await;
    assert_eq!(reply(&model, "weather?").await.unwrap().calls[0].args, json!(written));
}
