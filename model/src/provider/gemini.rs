//! Google's Gemini API. Pure.
//!
//! Gemini may send calls without ids. Such a call gets an id of this program, which is never sent
//! back: Gemini matches results without ids in their order.

use std::collections::BTreeSet;

use proto::{
    effort::Effort,
    message::{Message, ModelCall, ToolOffer},
    opaque::Opaque,
};
use serde_json::{Value, json};

use super::{
    assembly::{Assembly, tokens},
    reply::Counted,
    request::{Asked, Sampling, object, sent_args, system},
    schema,
};
use crate::error::ModelError;

/// Field of a part with the signature of the thoughts before it.
const SIGNATURE: &str = "thoughtSignature";
/// Accepted in place of the thought signature that Gemini 3 requires of the first call of a turn.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Builds the body of a streaming request.
pub(super) fn body(asked: Asked<'_>) -> Value {
    let Asked { provider, model, request, .. } = asked;
    let Sampling { temperature, top_p, effort, max_tokens } =
        Sampling::of(provider, &request.params);
    let tools: Vec<_> = request.tools.iter().map(tool).collect();
    // Gemini rejects JSON mode together with tools.
    let is_json = request.params.json && tools.is_empty();
    let config = object([
        ("responseMimeType", is_json.then(|| json!("application/json"))),
        ("responseJsonSchema", asked.schema().map(schema::for_gemini)),
        ("temperature", temperature),
        ("topP", top_p),
        ("maxOutputTokens", max_tokens),
        ("thinkingConfig", effort.map(|effort| thinking(model, effort))),
    ]);
    let system = system(&request.messages, "\n");
    object([
        ("systemInstruction", system.map(|text| json!({"parts": [{"text": text}]}))),
        ("tools", (!tools.is_empty()).then(|| json!([{"functionDeclarations": tools}]))),
        ("contents", Some(contents(model, &request.messages, |opaque| asked.parts(opaque)))),
        ("generationConfig", config.as_object().is_some_and(|it| !it.is_empty()).then_some(config)),
    ])
}

/// Returns the settings of an effort: a number of tokens for Gemini 2.5, which takes no levels, and a
/// level for its successors.
fn thinking(model: &str, effort: Effort) -> Value {
    if model.contains("gemini-2.5") {
        let tokens = match effort {
            Effort::Minimal => 512,
            Effort::Low => 2_048,
            Effort::Medium => 8_192,
            Effort::High | Effort::Max => 24_576,
        };
        return json!({"thinkingBudget": tokens});
    }
    let level = match effort {
        Effort::Minimal | Effort::Low | Effort::Medium | Effort::High => effort.as_str(),
        Effort::Max => "high",
    };
    json!({"thinkingLevel": level})
}

/// Translates a conversation. Gemini wants the results of one turn in one message.
fn contents<'a>(
    model: &str,
    messages: &'a [Message],
    parts: impl Fn(Option<&'a Opaque>) -> &'a [Value],
) -> Value {
    let mut contents: Vec<(&str, Vec<Value>)> = Vec::new();
    let mut called = BTreeSet::new();
    let mut after_result = false;
    for message in messages {
        match message {
            Message::System { .. } => {}
            Message::User { text } => contents.push(("user", vec![json!({"text": text})])),
            Message::Assistant { text, calls, opaque } => {
                called.extend(calls.iter().map(|call| call.id.as_str()));
                let signatures = parts(opaque.as_ref());
                let signature = |place: Value| {
                    let own = signatures.iter().rfind(|part| part.get("of") == Some(&place));
                    own.and_then(|part| part.get(SIGNATURE)).cloned()
                };
                let of_text = signature(json!("text"));
                let has_text = !text.is_empty() || of_text.is_some();
                let text =
                    has_text.then(|| object([("text", Some(json!(text))), (SIGNATURE, of_text)]));
                let needs_one = signatures.is_empty() && model.contains("gemini-3");
                let stands_in =
                    |position| (needs_one && position == 0).then(|| json!(NO_SIGNATURE));
                let calls = calls.iter().enumerate();
                let calls = calls.map(|(position, call)| {
                    sent(call, signature(json!(position)).or_else(|| stands_in(position)))
                });
                let parts: Vec<_> = text.into_iter().chain(calls).collect();
                if !parts.is_empty() {
                    contents.push(("model", parts));
                }
            }
            Message::Tool { call, name, text } => {
                let id = Some(call.as_str()).filter(|id| called.contains(id) && is_own(id));
                let result = json!({"functionResponse": object([
                    ("name", Some(json!(name))),
                    ("response", Some(json!({"name": name, "content": text}))),
                    ("id", id.map(Value::from)),
                ])});
                match contents.last_mut().filter(|_| after_result) {
                    Some((_, parts)) => parts.push(result),
                    None => contents.push(("user", vec![result])),
                }
            }
        }
        after_result = matches!(message, Message::Tool { .. });
    }
    contents.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect()
}

fn sent(call: &ModelCall, signature: Option<Value>) -> Value {
    let id = Some(call.id.as_str()).filter(|id| is_own(id));
    let function = object([
        ("id", id.map(Value::from)),
        ("name", Some(json!(call.name))),
        ("args", Some(sent_args(call.args.clone()))),
    ]);
    object([("functionCall", Some(function)), (SIGNATURE, signature)])
}

/// `true` for an id of the provider; `false` for one that [`made_id`] made.
fn is_own(id: &str) -> bool {
    let made = id.strip_prefix("call#").and_then(|rest| rest.rsplit_once('#'));
    !id.is_empty() && made.is_none_or(|(name, n)| name.is_empty() || n.parse::<usize>().is_err())
}

/// Returns the id of a call that has none. Stored conversations contain this form.
fn made_id(name: &str, position: usize) -> String {
    format!("call#{name}#{position}")
}

fn tool(offer: &ToolOffer) -> Value {
    json!({
        "name": offer.name,
        "description": offer.description,
        "parametersJsonSchema": offer.schema,
    })
}

/// `true` for a piece of a reply, or a whole one.
pub(super) fn is_frame(value: &Value) -> bool {
    ["candidates", "promptFeedback", "usageMetadata"].iter().any(|name| value.get(name).is_some())
}

/// Reads a frame of a stream, or a whole reply.
pub(super) fn frame(reply: &mut Assembly, frame: &Value) -> Result<(), ModelError> {
    if !is_frame(frame) {
        return Err(reply.foreign(frame));
    }
    reply.name(frame.get("modelVersion"));
    reply.count(counted(frame.get("usageMetadata")));
    if frame.pointer("/promptFeedback/blockReason").is_some_and(|reason| !reason.is_null()) {
        reply.refuse();
        reply.done();
    }
    let parts = frame.pointer("/candidates/0/content/parts").and_then(Value::as_array);
    for part in parts.into_iter().flatten() {
        sign(reply, part);
        if let Some(call) = part.get("functionCall") {
            let text = |name| call.get(name).and_then(Value::as_str).unwrap_or_default();
            let (id, name) = (text("id"), text("name"));
            let id = if id.is_empty() { made_id(name, reply.calls.len()) } else { id.to_owned() };
            let args = call.get("args").unwrap_or(&Value::Null);
            reply.calls.open(None, id, name.to_owned(), args);
        } else if part.get("thought") == Some(&Value::Bool(true)) {
            reply.think(part.get("text"));
        } else {
            reply.say(part.get("text"));
        }
    }
    reply.finish(frame.pointer("/candidates/0/finishReason"));
    Ok(())
}

/// Keeps the signature of a part with the part's place: the position of a call, or the text.
fn sign(reply: &mut Assembly, part: &Value) {
    let Some(signature) = part.get(SIGNATURE).filter(|signature| signature.is_string()) else {
        return;
    };
    let of =
        if part.get("functionCall").is_some() { json!(reply.calls.len()) } else { json!("text") };
    reply.kept.open(None, json!({"of": of, SIGNATURE: signature}));
}

/// Reads token counts. Gemini counts reasoning, and what its own tools add to a prompt, apart.
fn counted(usage: Option<&Value>) -> Counted {
    let sum = |names: [&str; 2]| {
        let counts = names.iter().filter_map(|name| tokens(usage?.get(name)?));
        counts.reduce(u64::saturating_add)
    };
    Counted {
        input: sum(["promptTokenCount", "toolUsePromptTokenCount"]),
        output: sum(["candidatesTokenCount", "thoughtsTokenCount"]),
        cached: usage.and_then(|usage| tokens(usage.get("cachedContentTokenCount")?)),
        written: None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::made(&made_id("get#weather", 3), false)]
    #[case::of_the_provider("fc_1", true)]
    #[case::alike("call#x", true)]
    #[case::empty("", false)]
    fn only_ids_of_the_provider_are_sent_back(#[case] id: &str, #[case] expected: bool) {
        assert_eq!(is_own(id), expected);
    }

    #[test]
    fn results_of_one_turn_are_one_message() {
        let call = |id: &str| ModelCall { id: id.into(), name: "look".into(), args: json!({}) };
        let result = |id: &str| Message::Tool {
            call: id.into(),
            name: "look".into(),
            text: format!("seen {id}"),
        };
        let made = made_id("look", 1);
        let messages = [
            Message::Assistant {
                text: String::new(),
                calls: vec![call("fc_1"), call(&made)],
                opaque: None,
            },
            result("fc_1"),
            result(&made),
        ];
        let response = |text: &str| json!({"name": "look", "content": text});
        let expected = json!([
            {"role": "model", "parts": [
                {"functionCall": {"id": "fc_1", "name": "look", "args": {}}, "thoughtSignature": NO_SIGNATURE},
                {"functionCall": {"name": "look", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "look", "response": response("seen fc_1"), "id": "fc_1"}},
                {"functionResponse": {"name": "look", "response": response("seen call#look#1")}},
            ]},
        ]);
        assert_eq!(contents("gemini-3-pro", &messages, |_| &[]), expected);
    }
}
