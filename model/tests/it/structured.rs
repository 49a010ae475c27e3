//! Replies that are held to a JSON Schema, in each provider's words.

use model::{ModelRequest, ProviderKind, complete};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{
    native::{ANTHROPIC, GEMINI, SSE},
    support::{ask, canned, local},
};

const OPENAI: &str = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"{}\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const OLLAMA: &str = "{\"model\":\"m\",\"message\":{\"content\":\"{}\"},\"done\":true}\n";

/// A schema in every provider's subset.
fn closed() -> Value {
    json!({
        "type": "object", "required": ["total"], "additionalProperties": false,
        "properties": {"total": {"type": "number"}}
    })
}

/// A schema with a keyword that only some providers take, and with an object that is not closed.
fn open() -> Value {
    json!({
        "type": "object", "required": ["total"],
        "properties": {"total": {"type": "number", "exclusiveMinimum": 0}, "note": {"type": "string"}}
    })
}

fn stating(schema: Value) -> ModelRequest {
    let mut request = ask("state it");
    request.tools.clear();
    (request.params.json, request.params.schema) = (true, Some(schema));
    request
}

#[rstest]
#[case::openai(ProviderKind::OpenAi, OPENAI, closed(), "/response_format", Some(json!(
    {"type": "json_schema", "json_schema": {"name": "result", "strict": true, "schema": closed()}}
)))]
#[case::openai_outside_its_subset(ProviderKind::OpenAi, OPENAI, open(), "/response_format", Some(json!(
    {"type": "json_schema", "json_schema": {"name": "result", "strict": false, "schema": open()}}
)))]
#[case::anthropic(ProviderKind::Anthropic, ANTHROPIC, closed(), "/output_config", Some(json!(
    {"format": {"type": "json_schema", "schema": closed()}}
)))]
#[case::anthropic_outside_its_subset(ProviderKind::Anthropic, ANTHROPIC, open(), "/output_config", Some(json!(
    {"format": {"type": "json_schema", "schema": {
        "type": "object", "required": ["total"], "additionalProperties": false,
        "properties": {"total": {"type": "number"}, "note": {"type": "string"}}
    }}}
)))]
#[case::anthropic_any_properties(ProviderKind::Anthropic, ANTHROPIC, json!({"type": "object"}), "/output_config", None)]
#[case::gemini(ProviderKind::Gemini, GEMINI, open(), "/generationConfig", Some(json!({
    "responseMimeType": "application/json",
    "responseJsonSchema": {
        "type": "object", "required": ["total"],
        "properties": {"total": {"type": "number"}, "note": {"type": "string"}}
    }
})))]
#[case::ollama(ProviderKind::Ollama, OLLAMA, open(), "/format", Some(open()))]
#[tokio::test]
async fn a_reply_is_held_to_a_schema_in_the_providers_words(
    #[case] kind: ProviderKind,
    #[case] body: &str,
    #[case] schema: Value,
    #[case] place: &str,
    #[case] expected: Option<Value>,
) {
    let content_type = if kind == ProviderKind::Ollama { "application/x-ndjson" } else { SSE };
    let (server, model) = canned(kind, content_type, body).await;
    complete(model.as_ref(), stating(schema), |_| {}).await.unwrap();
    let sent: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert_eq!(sent.pointer(place), expected.as_ref(), "{sent:#}");
}

#[rstest]
#[case::openai(ProviderKind::OpenAi, OPENAI, "/response_format", Some(json!({"type": "json_object"})))]
#[case::anthropic(ProviderKind::Anthropic, ANTHROPIC, "/output_config", None)]
#[case::gemini(ProviderKind::Gemini, GEMINI, "/generationConfig", Some(json!({"responseMimeType": "application/json"})))]
#[case::ollama(ProviderKind::Ollama, OLLAMA, "/format", Some(json!("json")))]
#[tokio::test]
async fn a_server_without_schemas_is_sent_none(
    #[case] kind: ProviderKind,
    #[case] body: &str,
    #[case] place: &str,
    #[case] expected: Option<Value>,
) {
    let content_type = if kind == ProviderKind::Ollama { "application/x-ndjson" } else { SSE };
    let (server, _) = canned(kind, content_type, body).await;
    let mut config = local(kind, &server.uri());
    config.structured_outputs = false;
    let model = model::connect(&config).unwrap();
    complete(model.as_ref(), stating(closed()), |_| {}).await.unwrap();
    let sent: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert_eq!(sent.pointer(place), expected.as_ref(), "{sent:#}");
    assert!(!sent.to_string().contains("additionalProperties"), "{sent}");
}

#[tokio::test]
async fn a_schema_is_not_sent_beside_tools() {
    let (server, model) = canned(ProviderKind::OpenAi, SSE, OPENAI).await;
    let mut request = stating(closed());
    request.tools = ask("x").tools;
    complete(model.as_ref(), request, |_| {}).await.unwrap();
    let sent: Value = server.received_requests().await.unwrap()[0].body_json().unwrap();
    assert_eq!(sent["response_format"], json!({"type": "json_object"}));
}
