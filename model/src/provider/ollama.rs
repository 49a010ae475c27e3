//! Ollama's native API, whose streams are lines of JSON. Pure.

use proto::{
    effort::Effort,
    message::{Message, ModelCall, ToolOffer},
};
use serde_json::{Map, Value, json};

use super::{
    assembly::{Assembly, tokens},
    calls::Piece,
    reply::{Counted, bad_calls},
    request::{Asked, Sampling, object, sent_args},
};
use crate::error::ModelError;

/// Builds the body of a streaming request.
pub(super) fn body(asked: Asked<'_>) -> Value {
    let Asked { provider, model, request, .. } = asked;
    let Sampling { temperature, top_p, effort, max_tokens } =
        Sampling::of(provider, &request.params);
    let options =
        object([("temperature", temperature), ("top_p", top_p), ("num_predict", max_tokens)]);
    let tools: Vec<_> = request.tools.iter().map(tool).collect();
    object([
        ("model", Some(json!(model))),
        ("stream", Some(json!(true))),
        ("options", options.as_object().is_some_and(|it| !it.is_empty()).then_some(options)),
        ("tools", (!tools.is_empty()).then(|| json!(tools))),
        ("messages", Some(request.messages.iter().map(|said| message(asked, said)).collect())),
        ("think", effort.map(level)),
        ("format", asked.schema().cloned().or_else(|| request.params.json.then(|| json!("json")))),
    ])
}

/// Returns Ollama's name of an effort.
fn level(effort: Effort) -> Value {
    match effort {
        Effort::Minimal => json!(false),
        Effort::Low | Effort::Medium | Effort::High => json!(effort.as_str()),
        Effort::Max => json!("high"),
    }
}

fn message(asked: Asked<'_>, message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls, opaque } => {
            let kept = asked.parts(opaque.as_ref()).first();
            let calls: Vec<_> = calls.iter().map(call).collect();
            object([
                ("role", Some(json!("assistant"))),
                ("content", Some(json!(text))),
                ("thinking", kept.and_then(|part| part.get("thinking")).cloned()),
                ("tool_calls", (!calls.is_empty()).then(|| json!(calls))),
            ])
        }
        Message::Tool { text, .. } => json!({"role": "tool", "content": text}),
    }
}

fn call(call: &ModelCall) -> Value {
    json!({"function": {"name": call.name, "arguments": sent_args(call.args.clone())}})
}

fn tool(offer: &ToolOffer) -> Value {
    let ToolOffer { name, description, schema } = offer;
    let function = json!({"name": name, "description": description, "parameters": schema});
    json!({"type": "function", "function": function})
}

/// `true` for a piece of a reply, or a whole one.
pub(super) fn is_frame(value: &Value) -> bool {
    value.get("message").is_some_and(Value::is_object) || value.get("done").is_some()
}

/// Reads a line of a stream, or a whole reply.
pub(super) fn frame(reply: &mut Assembly, frame: &Value) -> Result<(), ModelError> {
    if !is_frame(frame) {
        return Err(reply.foreign(frame));
    }
    reply.name(frame.get("model"));
    let part = |name: &str| frame.get("message")?.get(name).filter(|part| !part.is_null());
    reply.think(part("thinking").or_else(|| part("reasoning_content")));
    if let Some(words) = part("thinking").and_then(Value::as_str).filter(|it| !it.is_empty()) {
        let piece = Map::from_iter([("index".into(), json!(0)), ("thinking".into(), json!(words))]);
        reply.kept.merge(&piece, &["thinking"]);
    }
    reply.say(part("content"));
    for call in part("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        reply.calls.add(Piece::of(call).ok_or_else(bad_calls)?);
    }
    let count = |name| tokens(frame.get(name)?);
    reply.count(Counted {
        input: count("prompt_eval_count"),
        output: count("eval_count"),
        cached: None,
        written: None,
    });
    reply.finish(frame.get("done_reason"));
    if frame.get("done") == Some(&Value::Bool(true)) {
        reply.done();
    }
    Ok(())
}
