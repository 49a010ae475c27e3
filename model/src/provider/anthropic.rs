//! Anthropic's Messages API. Pure.

use std::collections::BTreeSet;

use proto::{
    effort::Effort,
    message::{Message, ToolOffer},
};
use serde_json::{Map, Value, json};

use super::{
    assembly::{Assembly, tokens},
    reply::Counted,
    request::{Asked, Sampling, object, sent_args, system},
    schema,
};
use crate::error::ModelError;

/// Version of the API, a header of every request.
pub(super) const VERSION: &str = "2023-06-01";
/// Longest reply if none is configured: Anthropic requires a limit.
const MAX_TOKENS: u32 = 8192;

/// Builds the body of a streaming request.
pub(super) fn body(asked: Asked<'_>) -> Value {
    let Asked { provider, model, request, .. } = asked;
    let Sampling { temperature, top_p, effort, max_tokens } =
        Sampling::of(provider, &request.params);
    let mut tools: Vec<_> = request.tools.iter().map(tool).collect();
    let mut choice = (!tools.is_empty() && !request.params.parallel_tool_calls)
        .then(|| json!({"type": "auto", "disable_parallel_tool_use": true}));
    if tools.is_empty() {
        let stub = |name| json!({"name": name, "input_schema": {"type": "object"}});
        tools = called(&request.messages).map(stub).collect();
        choice = (!tools.is_empty()).then(|| json!({"type": "none"}));
    }
    let mut system = system(&request.messages, "\n\n");
    let mut messages: Vec<_> =
        request.messages.iter().filter_map(|said| message(asked, said)).collect();
    if provider.prompt_caching {
        system = system.map(|text| json!([marked(json!({"type": "text", "text": text}))]));
        // Messages after the last result are hints of this turn, which the next one does not repeat.
        let is_result = |message: &Message| matches!(message, Message::Tool { .. });
        let sent = request.messages.iter().filter(|said| !matches!(said, Message::System { .. }));
        let after = sent.rev().position(is_result);
        let last = after.and_then(|after| messages.iter_mut().nth_back(after));
        if let Some(result) = last.and_then(|message| message.pointer_mut("/content/0")) {
            *result = marked(result.take());
        }
    }
    object([
        ("model", Some(json!(model))),
        ("stream", Some(json!(true))),
        ("system", system),
        ("tools", (!tools.is_empty()).then(|| json!(tools))),
        ("messages", Some(json!(messages))),
        ("temperature", temperature),
        ("max_tokens", max_tokens.or(Some(json!(MAX_TOKENS)))),
        ("top_p", top_p),
        ("tool_choice", choice),
        ("output_config", output_config(asked, effort)),
    ])
}

/// Returns the effort and the schema of a reply, as far as a request has them.
fn output_config(asked: Asked<'_>, effort: Option<Effort>) -> Option<Value> {
    let schema = asked.schema().and_then(schema::for_anthropic);
    let config = object([
        ("effort", effort.map(|effort| json!(level(effort)))),
        ("format", schema.map(|schema| json!({"type": "json_schema", "schema": schema}))),
    ]);
    config.as_object().is_some_and(|config| !config.is_empty()).then_some(config)
}

/// Returns Anthropic's name of an effort.
fn level(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "max",
    }
}

/// Has the prompt kept in the cache up to a block. The mark of the system text covers the tools, which
/// come before it, and that of the last result the conversation.
fn marked(mut block: Value) -> Value {
    if let Some(block) = block.as_object_mut() {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
    block
}

/// Returns the names of the tools that a conversation called. Anthropic refuses a conversation with
/// calls of tools that the request does not define.
fn called(messages: &[Message]) -> impl Iterator<Item = &str> {
    let names = messages.iter().flat_map(|message| match message {
        Message::Assistant { calls, .. } => calls.as_slice(),
        Message::System { .. } | Message::User { .. } | Message::Tool { .. } => &[],
    });
    names.map(|call| call.name.as_str()).collect::<BTreeSet<_>>().into_iter()
}

fn message(asked: Asked<'_>, message: &Message) -> Option<Value> {
    match message {
        Message::System { .. } => None,
        Message::User { text } => Some(json!({"role": "user", "content": text})),
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            Some(json!({"role": "assistant", "content": text}))
        }
        Message::Assistant { text, calls, opaque } => {
            let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
            let calls = calls.iter().map(|call| {
                let input = sent_args(call.args.clone());
                json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
            });
            let blocks = in_order(asked.parts(opaque.as_ref()), text, calls);
            Some(json!({"role": "assistant", "content": blocks}))
        }
        Message::Tool { call, text, .. } => {
            let block = json!({"type": "tool_result", "content": text, "tool_use_id": call});
            Some(json!({"role": "user", "content": [block]}))
        }
    }
}

/// Puts thoughts between the other blocks as they were in the reply: Anthropic refuses them elsewhere.
fn in_order(
    parts: &[Value],
    mut text: Option<Value>,
    mut calls: impl Iterator<Item = Value>,
) -> Vec<Value> {
    let mut blocks = Vec::new();
    for part in parts {
        match part.get("type").and_then(Value::as_str) {
            Some("text") => blocks.extend(text.take()),
            Some("tool_use") => {
                blocks.extend(text.take());
                blocks.extend(calls.next());
            }
            Some(_) | None => blocks.push(part.clone()),
        }
    }
    blocks.extend(text);
    blocks.extend(calls);
    blocks
}

/// `true` for a part that only marks the place of a text or a call between thoughts.
pub(super) fn is_mark(part: &Map<String, Value>) -> bool {
    matches!(part.get("type").and_then(Value::as_str), Some("text" | "tool_use"))
}

fn tool(offer: &ToolOffer) -> Value {
    let ToolOffer { name, description, schema } = offer;
    json!({"name": name, "input_schema": schema, "description": description})
}

/// `true` for a message, which is a whole reply, or the beginning of one in a stream.
pub(super) fn is_message(value: &Value) -> bool {
    value.get("content").is_some_and(Value::is_array)
}

/// Reads an event of a stream, or a whole reply.
pub(super) fn frame(reply: &mut Assembly, frame: &Value) -> Result<(), ModelError> {
    let index = frame.get("index").and_then(Value::as_u64);
    match frame.get("type").and_then(Value::as_str) {
        Some("message_start") => message_part(reply, frame.get("message").unwrap_or(&Value::Null)),
        Some("content_block_start") => {
            block(reply, index, frame.get("content_block").unwrap_or(&Value::Null));
        }
        Some("content_block_delta") => {
            let delta = |name: &str| frame.get("delta")?.get(name);
            reply.say(delta("text"));
            reply.think(delta("thinking"));
            for (name, field) in [("thinking", "thinking"), ("signature", "signature")] {
                let more = delta(name).and_then(Value::as_str).unwrap_or_default();
                reply.kept.extend(index, field, more);
            }
            if let Some(json) = delta("partial_json").and_then(Value::as_str) {
                reply.calls.extend(index, json);
            }
        }
        Some("message_delta") => {
            reply.count(counted(frame.get("usage")));
            reply.finish(frame.pointer("/delta/stop_reason"));
        }
        Some("message_stop") => reply.done(),
        _ if is_message(frame) => message_part(reply, frame),
        Some("error") => return Err(reply.foreign(frame)),
        // Anthropic adds kinds of events.
        Some(_) => {}
        None => return Err(reply.foreign(frame)),
    }
    Ok(())
}

fn message_part(reply: &mut Assembly, message: &Value) {
    reply.name(message.get("model"));
    reply.count(counted(message.get("usage")));
    let blocks = message.get("content").and_then(Value::as_array);
    for (index, part) in (0..).zip(blocks.into_iter().flatten()) {
        block(reply, Some(index), part);
    }
    reply.finish(message.get("stop_reason"));
}

fn block(reply: &mut Assembly, index: Option<u64>, block: &Value) {
    let text = |name| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    match text("type").as_str() {
        "text" => {
            reply.say(block.get("text"));
            reply.kept.open(index, json!({"type": "text"}));
        }
        "thinking" => {
            reply.think(block.get("thinking"));
            reply.kept.open(index, block.clone());
        }
        "redacted_thinking" => reply.kept.open(index, block.clone()),
        "tool_use" => {
            reply.kept.open(index, json!({"type": "tool_use"}));
            let input = block.get("input").unwrap_or(&Value::Null);
            reply.calls.open(index, text("id"), text("name"), input);
        }
        // Results of tools that run at the provider.
        _ => {}
    }
}

/// Reads token counts. Anthropic counts the cached part of a prompt apart from the rest.
fn counted(usage: Option<&Value>) -> Counted {
    let count = |name: &str| tokens(usage?.get(name)?);
    let written = count("cache_creation_input_tokens").filter(|tokens| *tokens > 0);
    let cached = count("cache_read_input_tokens").filter(|tokens| *tokens > 0);
    let apart = [written, cached].into_iter().flatten().fold(0, u64::saturating_add);
    let input = count("input_tokens").map(|tokens| tokens.saturating_add(apart));
    // A gateway that counts only at the end, or only at the beginning, writes zeros elsewhere.
    Counted {
        input: input.filter(|tokens| *tokens > 0),
        output: count("output_tokens").filter(|tokens| *tokens > 0),
        cached,
        written,
    }
}

#[cfg(test)]
mod tests {
    use proto::message::ModelCall;
    use rstest::rstest;

    use super::*;

    #[test]
    fn tools_that_a_conversation_called_are_named_once_each() {
        let call = |name: &str| ModelCall { id: name.into(), name: name.into(), args: json!({}) };
        let calls = vec![call("ask_user"), call("echo"), call("ask_user")];
        let messages = [
            Message::User { text: "plan".into() },
            Message::Assistant { text: String::new(), calls, opaque: None },
        ];
        assert_eq!(called(&messages).collect::<Vec<_>>(), ["ask_user", "echo"]);
    }

    #[rstest]
    #[case::cached(json!({"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 3}), Some(7), Some(3))]
    #[case::written(json!({"input_tokens": 5, "cache_creation_input_tokens": 9, "output_tokens": 3}), Some(14), Some(3))]
    #[case::end_of_a_stream(json!({"output_tokens": 3}), None, Some(3))]
    #[case::zeros(json!({"input_tokens": 0, "output_tokens": 0}), None, None)]
    #[case::cache_alone(json!({"cache_read_input_tokens": 2}), None, None)]
    fn token_counts_are_read(
        #[case] usage: Value,
        #[case] input: Option<u64>,
        #[case] output: Option<u64>,
    ) {
        let counted = counted(Some(&usage));
        assert_eq!((counted.input, counted.output), (input, output));
        let apart = |name| usage.get(name).and_then(Value::as_u64);
        assert_eq!(counted.cached, apart("cache_read_input_tokens"));
        assert_eq!(counted.written, apart("cache_creation_input_tokens"));
    }
}
