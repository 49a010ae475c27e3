//! Anthropic, Gemini and Ollama in their own wire formats, as recorded from their documentation.

use model::{ErrorKind, ProviderKind, complete};
use proto::{
    effort::Effort,
    message::{Message, ModelCall, StopReason, Usage},
};
use rstest::rstest;
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use crate::support::{ask, canned, local, reply};

pub(crate) const SSE: &str = "text/event-stream";
const NDJSON: &str = "application/x-ndjson";

pub(crate) const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-x","stop_reason":null,"usage":{"input_tokens":25,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I will "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"place\": \"Pa"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"ris\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}

"#;

pub(crate) const GEMINI: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"I will "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":25,"totalTokenCount":25},"modelVersion":"gemini-x"}

data: {"candidates":[{"content":{"parts":[{"text":"look."}],"role":"model"},"index":0}],"modelVersion":"gemini-x"}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"get_weather","args":{"place":"Paris"}}}],"role":"model"},"index":0}],"modelVersion":"gemini-x"}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"get_weather","args":{"place":"Rome"}}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":25,"candidatesTokenCount":15,"totalTokenCount":40},"modelVersion":"gemini-x"}

"#;

pub(crate) const OLLAMA: &str = r#"{"model":"qwen3:8b","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"I will "},"done":false}
{"model":"qwen3:8b","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"look."},"done":false}
{"model":"qwen3:8b","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"place":"Paris"}}}]},"done":false}
{"model":"qwen3:8b","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done_reason":"stop","done":true,"prompt_eval_count":25,"eval_count":15}
"#;

#[rstest]
#[case(ProviderKind::Anthropic, SSE, ANTHROPIC, "claude-x", 1)]
#[case(ProviderKind::Gemini, SSE, GEMINI, "gemini-x", 2)]
#[case(ProviderKind::Ollama, NDJSON, OLLAMA, "qwen3:8b", 1)]
#[tokio::test]
async fn text_calls_usage_and_name_are_read(
    #[case] kind: ProviderKind,
    #[case] content_type: &str,
    #[case] body: &str,
    #[case] name: &str,
    #[case] calls: usize,
) {
    let (_server, model) = canned(kind, content_type, body).await;
    let reply = reply(&model, "weather?").await.unwrap();
    assert_eq!(reply.text, "I will look.");
    assert_eq!((reply.calls.len(), reply.calls[0].name.as_str()), (calls, "get_weather"));
    assert_eq!(reply.calls[0].args, json!({"place": "Paris"}));
    assert_eq!(reply.usage, Usage::reported(25, 15));
    assert_eq!((reply.stop, reply.model.as_str()), (StopReason::ToolCalls, name));
}

/// Returns the first half of a recorded reply, cut at the end of a frame or line.
fn half<'a>(body: &'a str, mark: &str) -> &'a str {
    &body[..body.find(mark).unwrap()]
}

#[rstest]
#[case::anthropic_cut(
    ProviderKind::Anthropic,
    SSE,
    half(ANTHROPIC, "event: message_delta"),
    ErrorKind::CutStream
)]
#[case::gemini_cut(ProviderKind::Gemini, SSE, &GEMINI[..GEMINI.rfind("data: ").unwrap()], ErrorKind::CutStream)]
#[case::ollama_cut(ProviderKind::Ollama, NDJSON, &OLLAMA[..OLLAMA.rfind("{\"model\"").unwrap()], ErrorKind::CutStream)]
#[case::anthropic_malformed(
    ProviderKind::Anthropic,
    SSE,
    "event: content_block_delta\ndata: {\"typ\n\n",
    ErrorKind::Malformed
)]
#[case::gemini_malformed(ProviderKind::Gemini, SSE, "data: {\"cand\n\n", ErrorKind::Malformed)]
#[case::ollama_malformed(ProviderKind::Ollama, NDJSON, "{\"mess\n", ErrorKind::Malformed)]
#[case::anthropic_length(ProviderKind::Anthropic, SSE, &ANTHROPIC.replace("\"tool_use\",\"stop_seq", "\"max_tokens\",\"stop_seq"), ErrorKind::CutByLength)]
#[case::gemini_length(ProviderKind::Gemini, SSE, &GEMINI.replace("STOP", "MAX_TOKENS"), ErrorKind::CutByLength)]
#[case::ollama_length(ProviderKind::Ollama, NDJSON, &OLLAMA.replace("\"stop\"", "\"length\""), ErrorKind::CutByLength)]
#[case::anthropic_refusal(ProviderKind::Anthropic, SSE, &ANTHROPIC.replace("\"tool_use\",\"stop_seq", "\"refusal\",\"stop_seq"), ErrorKind::Refused)]
#[case::gemini_safety(ProviderKind::Gemini, SSE, &GEMINI.replace("STOP", "SAFETY"), ErrorKind::Refused)]
#[case::gemini_blocked_prompt(
    ProviderKind::Gemini,
    SSE,
    "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n",
    ErrorKind::Refused
)]
#[case::gemini_malformed_call(ProviderKind::Gemini, SSE, &GEMINI.replace("STOP", "MALFORMED_FUNCTION_CALL"), ErrorKind::Malformed)]
#[case::anthropic_same_id(ProviderKind::Anthropic, SSE, &twice(ANTHROPIC, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1", "event: message_delta"), ErrorKind::DuplicateCall)]
#[tokio::test]
async fn replies_that_must_not_be_acted_upon_have_kinds(
    #[case] kind: ProviderKind,
    #[case] content_type: &str,
    #[case] body: &str,
    #[case] expected: ErrorKind,
) {
    let (_server, model) = canned(kind, content_type, body).await;
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!(error.kind(), expected, "{error}");
}

/// Returns the body with one passage repeated.
fn twice(body: &str, from: &str, to: &str) -> String {
    let (from, to) = (body.find(from).unwrap(), body.find(to).unwrap());
    format!("{}{}{}", &body[..to], &body[from..to], &body[to..])
}

#[tokio::test]
async fn an_overload_inside_an_anthropic_stream_is_tried_again() {
    let server = MockServer::start().await;
    let busy = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(busy, SSE))
        .up_to_n_times(1)
        .mount(&server)
        .await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(ANTHROPIC, SSE))
        .mount(&server)
        .await;
    let model = model::connect(&local(ProviderKind::Anthropic, &server.uri())).unwrap();
    assert_eq!(reply(&model, "x").await.unwrap().text, "I will look.");
}

#[rstest]
#[case(
    ProviderKind::Anthropic,
    529,
    r#"{"type":"error","error":{"type":"overloaded_error"}}"#,
    ErrorKind::Overloaded
)]
#[case(
    ProviderKind::Anthropic,
    401,
    r#"{"type":"error","error":{"type":"authentication_error"}}"#,
    ErrorKind::Auth
)]
#[case(
    ProviderKind::Gemini,
    429,
    r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#,
    ErrorKind::RateLimited
)]
#[case(
    ProviderKind::Gemini,
    400,
    r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#,
    ErrorKind::InvalidRequest
)]
#[case(ProviderKind::Ollama, 404, r#"{"error":"model 'x' not found"}"#, ErrorKind::InvalidRequest)]
#[case(ProviderKind::Ollama, 503, "", ErrorKind::Overloaded)]
#[tokio::test]
async fn error_answers_have_kinds(
    #[case] kind: ProviderKind,
    #[case] status: u16,
    #[case] body: &str,
    #[case] expected: ErrorKind,
) {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(status).set_body_string(body))
        .mount(&server)
        .await;
    let model = model::connect(&local(kind, &server.uri())).unwrap();
    let error = reply(&model, "x").await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (expected, Some(status)));
}

#[rstest]
#[case::anthropic(ProviderKind::Anthropic, SSE, ANTHROPIC, "x-api-key", "key-1", "/v1/messages")]
#[case::gemini(
    ProviderKind::Gemini,
    SSE,
    GEMINI,
    "x-goog-api-key",
    "key-1",
    "/v1beta/models/test-model:streamGenerateContent"
)]
#[case::ollama(ProviderKind::Ollama, NDJSON, OLLAMA, "authorization", "Bearer key-1", "/api/chat")]
#[tokio::test]
async fn requests_are_in_the_providers_words(
    #[case] kind: ProviderKind,
    #[case] content_type: &str,
    #[case] body: &str,
    #[case] header: &str,
    #[case] key: &str,
    #[case] path: &str,
) {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(200).set_body_raw(body.to_owned(), content_type))
        .mount(&server)
        .await;
    let mut config = local(kind, &server.uri());
    config.api_key = Some("key-1".into());
    let model = model::connect(&config).unwrap();
    let mut request = ask("weather?");
    request.messages.push(Message::Assistant {
        text: "I will look.".into(),
        calls: vec![ModelCall {
            id: "c1".into(),
            name: "get_weather".into(),
            args: json!("{\"pla"),
        }],
        opaque: None,
    });
    request.messages.push(Message::Tool {
        call: "c1".into(),
        name: "get_weather".into(),
        text: "not JSON".into(),
    });
    request.params.temperature = Some(0.5);
    request.params.top_p = Some(0.9);
    request.params.parallel_tool_calls = false;
    complete(model.as_ref(), request, |_| {}).await.unwrap();
    let sent = server.received_requests().await.unwrap().remove(0);
    assert_eq!((sent.url.path(), sent.headers[header].to_str().unwrap()), (path, key));
    insta::assert_json_snapshot!(format!("{kind:?}"), sent.body_json::<Value>().unwrap());
}

#[rstest]
#[case(ProviderKind::Anthropic, SSE, ANTHROPIC, &["/temperature", "/top_p"])]
#[case(ProviderKind::Gemini, SSE, GEMINI, &["/generationConfig/temperature", "/generationConfig/topP"])]
#[case(ProviderKind::Ollama, NDJSON, OLLAMA, &["/options/temperature", "/options/top_p"])]
#[tokio::test]
async fn what_is_configured_of_sampling_holds_where_a_request_names_nothing(
    #[case] kind: ProviderKind,
    #[case] content: &str,
    #[case] body: &str,
    #[case] fields: &[&str],
) {
    let (server, _) = canned(kind, content, body).await;
    let mut config = local(kind, &server.uri());
    (config.temperature, config.top_p) = (Some(0.25), Some(0.75));
    let model = model::connect(&config).unwrap();
    complete(model.as_ref(), ask("x"), |_| {}).await.unwrap();
    let mut own = ask("x");
    own.params.top_p = Some(0.5);
    complete(model.as_ref(), own, |_| {}).await.unwrap();
    let sent: Vec<Value> =
        server.received_requests().await.unwrap().iter().map(|r| r.body_json().unwrap()).collect();
    let read = |n: usize| -> Vec<f64> {
        fields.iter().map(|field| sent[n].pointer(field).unwrap().as_f64().unwrap()).collect()
    };
    assert_eq!((read(0), read(1)), (vec![0.25, 0.75], vec![0.25, 0.5]));
}

#[rstest]
#[case::openai(ProviderKind::OpenAi, "m", "/reasoning_effort", json!(["minimal", "low", "medium", "high", "xhigh"]))]
#[case::anthropic(ProviderKind::Anthropic, "m", "/output_config/effort", json!(["low", "low", "medium", "high", "max"]))]
#[case::gemini(ProviderKind::Gemini, "gemini-3-pro", "/generationConfig/thinkingConfig/thinkingLevel", json!(["minimal", "low", "medium", "high", "high"]))]
#[case::gemini_2(ProviderKind::Gemini, "gemini-2.5-pro", "/generationConfig/thinkingConfig/thinkingBudget", json!([512, 2_048, 8_192, 24_576, 24_576]))]
#[case::ollama(ProviderKind::Ollama, "m", "/think", json!([false, "low", "medium", "high", "high"]))]
#[tokio::test]
async fn an_effort_is_asked_for_in_the_providers_words(
    #[case] kind: ProviderKind,
    #[case] name: &str,
    #[case] field: &str,
    #[case] words: Value,
) {
    let efforts = [Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Max];
    for (effort, word) in efforts.into_iter().zip(words.as_array().unwrap()) {
        let [own, configured, none] = sent_with(kind, name, effort).await;
        assert_eq!(own.pointer(field), Some(word), "{effort:?}");
        // The effort of a request counts more than the configured one.
        assert_eq!(configured.pointer(field), own.pointer(field), "{effort:?}");
        assert_eq!(none.pointer(field), None, "{effort:?}");
    }
}

/// Returns the bodies of requests with an effort of their own beside a configured one, with the configured
/// effort, and with none.
async fn sent_with(kind: ProviderKind, name: &str, effort: Effort) -> [Value; 3] {
    let server = MockServer::start().await;
    let other = if effort == Effort::Low { Effort::High } else { Effort::Low };
    let cases = [(Some(effort), Some(other)), (None, Some(effort)), (None, None)];
    for (own, configured) in cases {
        let mut config = local(kind, &server.uri());
        config.effort = configured;
        let mut request = ask("x");
        (request.params.effort, request.params.model) = (own, Some(name.to_owned()));
        // The server answers nothing that is a reply.
        let _ = complete(model::connect(&config).unwrap().as_ref(), request, |_| {}).await;
    }
    let bodies = server.received_requests().await.unwrap();
    let bodies = bodies.iter().map(|request| request.body_json().unwrap());
    bodies.collect::<Vec<_>>().try_into().unwrap()
}

#[rstest]
#[case::marks(true, 2)]
#[case::no_marks(false, 0)]
#[tokio::test]
async fn anthropic_is_asked_to_keep_a_prompt_up_to_the_last_result(
    #[case] caching: bool,
    #[case] marks: usize,
) {
    let (server, _) = canned(ProviderKind::Anthropic, SSE, ANTHROPIC).await;
    let mut config = local(ProviderKind::Anthropic, &server.uri());
    config.prompt_caching = caching;
    let model = model::connect(&config).unwrap();
    let mut request = ask("x");
    let calls = ["c1", "c2"];
    let called = |id: &&str| ModelCall { id: (*id).into(), name: "get".into(), args: json!({}) };
    request.messages.push(Message::Assistant {
        text: String::new(),
        calls: calls.iter().map(called).collect(),
        opaque: None,
    });
    request.messages.extend(calls.map(|id| Message::Tool {
        call: id.into(),
        name: "get".into(),
        text: "3".into(),
    }));
    // The next turn does not repeat this one.
    request.messages.push(Message::User { text: "One turn is left.".into() });
    complete(model.as_ref(), request, |_| {}).await.unwrap();
    let sent: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert_eq!(sent.to_string().matches("cache_control").count(), marks);
    let mark = caching.then(|| json!({"type": "ephemeral"}));
    let [.., last, _] = &sent["messages"].as_array().unwrap()[..] else { panic!("{sent}") };
    for block in [&sent["system"][0], &last["content"][0]] {
        assert_eq!(block.get("cache_control"), mark.as_ref(), "{sent}");
    }
}

#[tokio::test]
async fn gemini_is_asked_for_json_when_no_tools_are_offered() {
    let (server, model) = canned(ProviderKind::Gemini, SSE, GEMINI).await;
    let mut request = ask("x");
    request.tools.clear();
    request.params.json = true;
    request.params.temperature = Some(0.5);
    request.params.max_tokens = Some(9);
    complete(model.as_ref(), request, |_| {}).await.unwrap();
    let sent: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    let expected =
        json!({"responseMimeType": "application/json", "temperature": 0.5, "maxOutputTokens": 9});
    assert_eq!(sent["generationConfig"], expected);
}
