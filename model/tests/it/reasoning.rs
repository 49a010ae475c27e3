//! Reasoning that only the same model reads: kept from a reply, and sent with the next request.

use model::{ModelRequest, ProviderKind, complete};
use proto::message::Message;
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    native::SSE,
    support::{Lines, ask, canned},
};

const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-x","stop_reason":null,"usage":{"input_tokens":25,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Paris, "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"then."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBsig1"}}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgB"}}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I will look."}}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"place\": \"Paris\"}"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}

"#;

const GEMINI: &str = r#"data: {"candidates":[{"content":{"parts":[{"text":"Paris, then.","thought":true}],"role":"model"},"index":0}],"modelVersion":"gemini-x"}

data: {"candidates":[{"content":{"parts":[{"text":"I will look."}],"role":"model"},"index":0}],"modelVersion":"gemini-x"}

data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"fc_1","name":"get_weather","args":{"place":"Paris"}},"thoughtSignature":"CiQBsig1"},{"functionCall":{"id":"fc_2","name":"get_weather","args":{"place":"Rome"}}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":25,"candidatesTokenCount":15,"thoughtsTokenCount":9},"modelVersion":"gemini-x"}

"#;

const GATEWAY: &str = r#"data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Paris, ","reasoning_details":[{"type":"reasoning.text","text":"Paris, ","format":"anthropic-claude-v1","index":0,"signature":null}]}}]}

data: {"model":"m","choices":[{"index":0,"delta":{"reasoning":"then.","reasoning_details":[{"type":"reasoning.text","text":"then.","index":0}]}}]}

data: {"model":"m","choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.text","signature":"EqQBsig1","index":0}]}}]}

data: {"model":"m","choices":[{"index":0,"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"gAAAAABo","id":"rs_1","format":"openai-responses-v1","index":1}],"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"place\":\"Paris\"}"},"extra_content":{"google":{"thought_signature":"CiQBsig1"}}}]}}]}

data: {"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":25,"completion_tokens":15}}

data: [DONE]

"#;

const DEEPSEEK: &str = r#"data: {"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"Paris, "}}]}

data: {"model":"m","choices":[{"index":0,"delta":{"reasoning_content":"then."}}]}

data: {"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{}"}}]}}]}

data: {"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":25,"completion_tokens":15}}

data: [DONE]

"#;

const OLLAMA: &str = r#"{"model":"gpt-oss","message":{"role":"assistant","content":"","thinking":"Paris, "},"done":false}
{"model":"gpt-oss","message":{"role":"assistant","content":"","thinking":"then."},"done":false}
{"model":"gpt-oss","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"get_weather","arguments":{"place":"Paris"}}}]},"done":false}
{"model":"gpt-oss","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":25,"eval_count":15}
"#;

/// Returns the request after a reply with calls.
async fn next(model: &dyn model::Model) -> ModelRequest {
    let mut request = ask("weather?");
    let reply = complete(model, request.clone(), |_| {}).await.unwrap();
    assert!(reply.opaque.is_some(), "{reply:?}");
    let results = reply.calls.iter().map(|call| Message::Tool {
        call: call.id.clone(),
        name: call.name.clone(),
        text: "21".into(),
    });
    let results: Vec<_> = results.collect();
    let (text, calls, opaque) = (reply.text, reply.calls, reply.opaque);
    request.messages.push(Message::Assistant { text, calls, opaque });
    request.messages.extend(results);
    request
}

#[rstest]
#[case::anthropic(ProviderKind::Anthropic, SSE, ANTHROPIC, "/messages/1/content", json!([
    {"type": "thinking", "thinking": "Paris, then.", "signature": "EqQBsig1"},
    {"type": "redacted_thinking", "data": "EmwKAhgB"},
    {"type": "text", "text": "I will look."},
    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"place": "Paris"}},
]))]
#[case::gemini(ProviderKind::Gemini, SSE, GEMINI, "/contents/1/parts", json!([
    {"text": "I will look."},
    {"functionCall": {"id": "fc_1", "name": "get_weather", "args": {"place": "Paris"}}, "thoughtSignature": "CiQBsig1"},
    {"functionCall": {"id": "fc_2", "name": "get_weather", "args": {"place": "Rome"}}},
]))]
#[case::gateway(ProviderKind::OpenAi, SSE, GATEWAY, "/messages/2", json!({
    "role": "assistant", "content": "",
    "tool_calls": [{
        "type": "function", "id": "c1",
        "function": {"name": "get_weather", "arguments": "{\"place\":\"Paris\"}"},
        "extra_content": {"google": {"thought_signature": "CiQBsig1"}},
    }],
    "reasoning_details": [
        {"type": "reasoning.text", "text": "Paris, then.", "format": "anthropic-claude-v1", "index": 0, "signature": "EqQBsig1"},
        {"type": "reasoning.encrypted", "data": "gAAAAABo", "id": "rs_1", "format": "openai-responses-v1", "index": 1},
    ],
}))]
#[case::deepseek(ProviderKind::OpenAi, SSE, DEEPSEEK, "/messages/2/reasoning_content", json!("Paris, then."))]
#[case::ollama(ProviderKind::Ollama, "application/x-ndjson", OLLAMA, "/messages/2/thinking", json!("Paris, then."))]
#[tokio::test]
async fn the_second_turn_sends_exactly_the_parts_of_the_first(
    #[case] kind: ProviderKind,
    #[case] content_type: &str,
    #[case] body: &str,
    #[case] place: &str,
    #[case] expected: Value,
) {
    let lines = Lines::default();
    let _recording = lines.record();
    let (server, model) = canned(kind, content_type, body).await;
    let request = next(model.as_ref()).await;
    complete(model.as_ref(), request, |_| {}).await.unwrap();
    let sent: Value = server.received_requests().await.unwrap()[1].body_json().unwrap();
    assert_eq!(sent.pointer(place), Some(&expected), "{sent:#}");
    for secret in ["sig1", "EmwKAhgB", "gAAAAABo", "Paris, then"] {
        assert!(!lines.text().contains(secret), "{}", lines.text());
    }
}

#[rstest]
#[case::anthropic(ProviderKind::Anthropic, SSE, ANTHROPIC)]
#[case::gemini(ProviderKind::Gemini, SSE, GEMINI)]
#[case::gateway(ProviderKind::OpenAi, SSE, GATEWAY)]
#[case::deepseek(ProviderKind::OpenAi, SSE, DEEPSEEK)]
#[case::ollama(ProviderKind::Ollama, "application/x-ndjson", OLLAMA)]
#[tokio::test]
async fn another_model_is_not_sent_them(
    #[case] kind: ProviderKind,
    #[case] content_type: &str,
    #[case] body: &str,
) {
    let (server, model) = canned(kind, content_type, body).await;
    let mut request = next(model.as_ref()).await;
    request.params.model = Some("another-model".into());
    complete(model.as_ref(), request, |_| {}).await.unwrap();
    let sent = server.received_requests().await.unwrap()[1].body.clone();
    let sent = String::from_utf8(sent).unwrap();
    for part in ["sig1", "EmwKAhgB", "gAAAAABo", "Paris, then"] {
        assert!(!sent.contains(part), "{sent}");
    }
}

#[tokio::test]
async fn gemini_3_is_sent_a_word_in_place_of_the_signature_of_another_model() {
    let (server, model) = canned(ProviderKind::Gemini, SSE, GEMINI).await;
    let mut request = next(model.as_ref()).await;
    request.params.model = Some("gemini-3-pro".into());
    complete(model.as_ref(), request, |_| {}).await.unwrap();
    let sent: Value = server.received_requests().await.unwrap()[1].body_json().unwrap();
    let calls = &sent["contents"][1]["parts"];
    assert_eq!(calls[1]["thoughtSignature"], "skip_thought_signature_validator", "{sent:#}");
    assert_eq!(calls[2].get("thoughtSignature"), None);
}
