//! OpenAI's chat completions, as OpenAI and the many servers that imitate it speak them. Pure.

use proto::{
    effort::Effort,
    message::{Message, ModelCall, ToolOffer},
};
use serde_json::{Map, Value, json};

use super::{
    assembly::{Assembly, tokens},
    calls::Piece,
    reply::{Counted, Event, bad_calls},
    request::{Asked, Sampling, object, sent_args},
    schema,
};
use crate::error::ModelError;

/// Beginnings of the names of models that refuse `max_tokens` and take `max_completion_tokens`.
const COMPLETION_TOKENS: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];

/// Field of a message with reasoning that gateways sign or encrypt, in parts.
const DETAILS: &str = "reasoning_details";
/// Field of a message with reasoning in words, which some servers need back in a loop of tools.
const REASONING: &str = "reasoning_content";
/// Field of a call in which Gemini's imitation of this API puts signatures.
const EXTRA: &str = "extra_content";

/// Builds the body of a streaming request.
pub(super) fn body(asked: Asked<'_>) -> Value {
    let Asked { provider, model, request, .. } = asked;
    let params = &request.params;
    let Sampling { temperature, top_p, effort, max_tokens } = Sampling::of(provider, params);
    let has_tools = !request.tools.is_empty();
    let is_newer = COMPLETION_TOKENS.iter().any(|start| model.starts_with(start));
    let is_one_call = has_tools && !params.parallel_tool_calls;
    object([
        ("model", Some(json!(model))),
        ("stream", Some(json!(true))),
        ("tools", has_tools.then(|| request.tools.iter().map(tool).collect())),
        ("messages", Some(request.messages.iter().map(|said| message(asked, said)).collect())),
        ("response_format", response_format(asked)),
        ("stream_options", Some(json!({"include_usage": true}))),
        ("temperature", temperature),
        (if is_newer { "max_completion_tokens" } else { "max_tokens" }, max_tokens),
        ("top_p", top_p),
        ("reasoning_effort", effort.map(|effort| json!(effort_level(effort)))),
        ("parallel_tool_calls", is_one_call.then(|| json!(false))),
    ])
}

/// Returns the form of the reply. Outside its strict subset OpenAI takes a schema as advice.
fn response_format(asked: Asked<'_>) -> Option<Value> {
    if let Some(schema) = asked.schema() {
        let strict = schema::is_strict(schema);
        let named = json!({"name": "result", "strict": strict, "schema": schema});
        return Some(json!({"type": "json_schema", "json_schema": named}));
    }
    asked.request.params.json.then(|| json!({"type": "json_object"}))
}

/// Returns OpenAI's name of an effort.
pub(crate) fn effort_level(effort: Effort) -> &'static str {
    match effort {
        Effort::Minimal | Effort::Low | Effort::Medium | Effort::High => effort.as_str(),
        Effort::Max => "xhigh",
    }
}

fn message(asked: Asked<'_>, message: &Message) -> Value {
    match message {
        Message::System { text } => json!({"role": "system", "content": text}),
        Message::User { text } => json!({"role": "user", "content": text}),
        Message::Assistant { text, calls, .. } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Message::Assistant { text, calls, opaque } => {
            let parts = asked.parts(opaque.as_ref());
            let of_call = |position: usize| {
                let own = parts.iter().find(|part| part.get("of") == Some(&json!(position)));
                own.and_then(|part| part.get(EXTRA)).cloned()
            };
            let calls = calls.iter().enumerate();
            let calls: Vec<_> = calls.map(|(n, call)| sent(call, of_call(n))).collect();
            let is_detail = |part: &&Value| part.get("of").is_none();
            let details: Vec<_> = parts.iter().filter(is_detail).collect();
            let reasoning = parts.iter().find_map(|part| part.get(REASONING)).cloned();
            object([
                ("role", Some(json!("assistant"))),
                ("content", Some(json!(text))),
                ("tool_calls", Some(json!(calls))),
                (DETAILS, (!details.is_empty()).then(|| json!(details))),
                (REASONING, reasoning),
            ])
        }
        Message::Tool { call, text, .. } => {
            json!({"role": "tool", "content": text, "tool_call_id": call})
        }
    }
}

fn sent(call: &ModelCall, extra: Option<Value>) -> Value {
    let args = sent_args(call.args.clone()).to_string();
    object([
        ("type", Some(json!("function"))),
        ("id", Some(json!(call.id))),
        ("function", Some(json!({"name": call.name, "arguments": args}))),
        (EXTRA, extra),
    ])
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
    keep(reply, delta);
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
        if let Some(extra) = call.get(EXTRA).filter(|extra| extra.is_object()) {
            let of = reply.calls.len().saturating_sub(1);
            reply.kept.open(None, json!({"of": of, EXTRA: extra}));
        }
    }
    Ok(())
}

/// Keeps the reasoning that only the same model reads.
fn keep(reply: &mut Assembly, delta: &Value) {
    let details = delta.get(DETAILS).and_then(Value::as_array);
    for piece in details.into_iter().flatten().filter_map(Value::as_object) {
        reply.kept.merge(piece, &["text", "summary"]);
    }
    if let Some(words) = delta.get(REASONING).and_then(Value::as_str).filter(|it| !it.is_empty()) {
        let words = json!({"index": 0, "of": "message", REASONING: words});
        reply.kept.merge(words.as_object().unwrap_or(&Map::new()), &[REASONING]);
    }
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
