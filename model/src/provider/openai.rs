//! OpenAI's chat completions, as OpenAI and the many servers that imitate it speak them. Pure.

use proto::{
    effort::Effort,
    message::{Message, ModelCall, ToolOffer},
};
use serde_json::{Value, json};

use super::{
    Provider,
    assembly::{Assembly, tokens},
    calls::Piece,
    reply::{Counted, Event, bad_calls},
    request::{Sampling, object, sent_args},
};
use crate::{error::ModelError, port::ModelRequest};

/// Beginnings of the names of models that refuse `max_tokens` and take `max_completion_tokens`.
const COMPLETION_TOKENS: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];

/// Builds the body of a streaming request.
pub(super) fn body(provider: &Provider, model: &str, request: &ModelRequest) -> Value {
    let params = &request.params;
    let Sampling { temperature, top_p, effort, max_tokens } = Sampling::of(provider, params);
    let has_tools = !request.tools.is_empty();
    let is_newer = COMPLETION_TOKENS.iter().any(|start| model.starts_with(start));
    let is_one_call = has_tools && !params.parallel_tool_calls;
    object([
        ("model", Some(json!(model))),
        ("stream", Some(json!(true))),
        ("tools", has_tools.then(|| request.tools.iter().map(tool).collect())),
        ("messages", Some(request.messages.iter().map(message).collect())),
        ("response_format", params.json.then(|| json!({"type": "json_object"}))),
        ("stream_options", Some(json!({"include_usage": true}))),
        ("temperature", temperature),
        (if is_newer { "max_completion_tokens" } else { "max_tokens" }, max_tokens),
        ("top_p", top_p),
        ("reasoning_effort", effort.map(|effort| json!(effort_level(effort)))),
        ("parallel_tool_calls", is_one_call.then(|| json!(false))),
    ])
}

/// Returns OpenAI's name of an effort.
pub(crate) fn effort_level(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal | Effort::Low | Effort::Medium | Effort::High => effort.as_str(),
        Effort::Max => "xhigh",
    }
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

/// Reads a frame of a stream, or a whole reply.
pub(super) fn frame(reply: &mut Assembly, frame: &Value) -> Result<(), ModelError> {
    reply.name(frame.get("model"));
    for place in ["/usage", "/x_groq/usage", "/choices/0/usage"] {
        reply.count(counted(frame.pointer(place)));
    }
    let Some(choice) = frame.pointer("/choices/0") else { return Ok(()) };
    let part = |name| choice.get(name).filter(|part: &&Value| part.is_object());
    if let Some(part) = part("delta") {
        reply.has_deltas = true;
        delta(reply, part)?;
    } else if let Some(message) = part("message").filter(|_| !reply.has_deltas) {
        // A message after deltas repeats them.
        delta(reply, message)?;
    }
    reply.finish(choice.get("finish_reason"));
    Ok(())
}

fn delta(reply: &mut Assembly, delta: &Value) -> Result<(), ModelError> {
    let has_words = |words: &&Value| words.as_str().is_some_and(|words| !words.is_empty());
    let thought = ["reasoning_content", "reasoning"];
    reply.think(thought.iter().filter_map(|name| delta.get(name)).find(has_words));
    match delta.get("content") {
        Some(Value::Array(parts)) => parts.iter().filter_map(part).for_each(|it| reply.push(it)),
        words => reply.say(words),
    }
    if delta.get("refusal").filter(has_words).is_some() {
        reply.refuse();
    }
    let calls = match delta.get("tool_calls") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(calls)) => calls.as_slice(),
        Some(one @ Value::Object(_)) => std::slice::from_ref(one),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => return Err(bad_calls()),
    };
    // The older spelling of a single call, which some servers send beside the newer one.
    let has_content = |call: &&Value| {
        ["name", "arguments"]
            .iter()
            .any(|field| call.get(field).is_some_and(|value| !value.is_null() && value != ""))
    };
    let older = delta.get("function_call").filter(|_| calls.is_empty()).filter(has_content);
    for call in calls.iter().chain(older) {
        reply.calls.add(Piece::of(call).ok_or_else(bad_calls)?);
    }
    Ok(())
}

/// Reads a part of a content list: text, or the reasoning of some models.
fn part(part: &Value) -> Option<Event> {
    if let Some(words) = part.get("text").and_then(Value::as_str) {
        return Some(Event::Text(words.to_owned()));
    }
    match part.get("thinking")? {
        Value::String(words) => Some(Event::Thought(words.clone())),
        Value::Array(parts) => {
            let words = parts.iter().filter_map(|part| part.get("text")?.as_str());
            Some(Event::Thought(words.collect()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// Reads token counts. Servers write them as numbers, fractions or texts, under two pairs of names.
fn counted(usage: Option<&Value>) -> Counted {
    let count = |names: [&str; 2]| names.iter().find_map(|name| tokens(usage?.get(name)?));
    Counted {
        input: count(["prompt_tokens", "input_tokens"]),
        output: count(["completion_tokens", "output_tokens"]),
        cached: ["prompt_tokens_details", "input_tokens_details"]
            .iter()
            .find_map(|name| tokens(usage?.get(name)?.get("cached_tokens")?)),
        written: None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::numbers(json!({"prompt_tokens": 7, "completion_tokens": 3}), Some(7), Some(3))]
    #[case::other_names(json!({"input_tokens": 7, "output_tokens": 3}), Some(7), Some(3))]
    #[case::texts(json!({"prompt_tokens": "7", "completion_tokens": " 3 "}), Some(7), Some(3))]
    #[case::fractions(json!({"prompt_tokens": 6.2, "completion_tokens": 3.0}), Some(7), Some(3))]
    #[case::negative(json!({"prompt_tokens": -7, "completion_tokens": "-3"}), None, None)]
    #[case::not_numbers(json!({"prompt_tokens": null, "completion_tokens": "many"}), None, None)]
    #[case::beyond_any_number(json!({"prompt_tokens": 1e300, "completion_tokens": "NaN"}), None, None)]
    #[case::one_of_two(json!({"prompt_tokens": 7}), Some(7), None)]
    #[case::absent(json!(null), None, None)]
    fn token_counts_are_read_in_several_forms(
        #[case] usage: Value,
        #[case] input: Option<u64>,
        #[case] output: Option<u64>,
    ) {
        let counted = counted(Some(&usage));
        assert_eq!((counted.input, counted.output), (input, output));
    }

    #[rstest]
    #[case::completions(json!({"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}}), Some(4))]
    #[case::responses(json!({"input_tokens": 7, "input_tokens_details": {"cached_tokens": 4}}), Some(4))]
    #[case::absent(json!({"prompt_tokens": 7, "prompt_tokens_details": null}), None)]
    fn cached_tokens_are_read(#[case] usage: Value, #[case] cached: Option<u64>) {
        assert_eq!(counted(Some(&usage)).cached, cached);
    }
}
