//! The body of a request in OpenAI's format.

use proto::message::{Message, ModelCall, ToolOffer};
use serde_json::{Map, Value, json};

use crate::{
    port::ModelRequest,
    provider::{Provider, request::sent_args},
};

/// Beginnings of the names of models that refuse `max_tokens` and take `max_completion_tokens`.
const COMPLETION_TOKENS: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];

/// Builds the body of a streaming request.
pub(in crate::provider) fn body(provider: &Provider, model: &str, request: &ModelRequest) -> Value {
    let params = &request.params;
    let mut body = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        body.extend(value.map(|value| (name.to_owned(), value)));
    };
    let has_tools = !request.tools.is_empty();
    let is_newer = COMPLETION_TOKENS.iter().any(|start| model.starts_with(start));
    let max_tokens = if is_newer { "max_completion_tokens" } else { "max_tokens" };
    set("model", Some(json!(model)));
    set("stream", Some(json!(true)));
    set("tools", has_tools.then(|| request.tools.iter().map(tool).collect()));
    set("messages", Some(request.messages.iter().map(message).collect()));
    set("response_format", params.json.then(|| json!({"type": "json_object"})));
    set("stream_options", Some(json!({"include_usage": true})));
    set("temperature", params.temperature.or(provider.temperature).map(Value::from));
    set(max_tokens, params.max_tokens.or(provider.max_tokens).map(Value::from));
    set("top_p", params.top_p.or(provider.top_p).map(Value::from));
    let is_one_call = has_tools && !params.parallel_tool_calls;
    set("parallel_tool_calls", is_one_call.then(|| json!(false)));
    Value::Object(body)
}

fn message(message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls } => {
            let calls: Vec<_> = calls.iter().map(call).collect();
            json!({"role": "assistant", "content": text, "tool_calls": calls})
        }
        Message::Tool { call, text, .. } => {
            json!({"role": "tool", "content": text, "tool_call_id": call})
        }
    }
}

fn call(call: &ModelCall) -> Value {
    let args = sent_args(call.args.clone()).to_string();
    json!({"type": "function", "id": call.id, "function": {"name": call.name, "arguments": args}})
}

fn tool(offer: &ToolOffer) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": offer.name,
            "description": offer.description,
            "parameters": offer.schema,
            "strict": false,
        }
    })
}
