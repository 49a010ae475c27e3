//! Messages as JSON in the format of the GenAI conventions. Each text is redacted separately, so
//! truncation keeps the JSON valid; the number of messages is limited.

use proto::message::{Message, ModelCall, StopReason};
use serde_json::{Value, json};

use crate::port::Delta;

/// Number of the latest messages in a span; earlier ones are in earlier spans.
const MESSAGES_MAX: usize = 16;

/// A request, as the values of two attributes.
pub(super) struct Input {
    /// Value of `gen_ai.system_instructions`.
    pub(super) system: Option<String>,
    /// Value of `gen_ai.input.messages`.
    pub(super) messages: String,
}

/// Converts the messages of a request.
pub(super) fn input(messages: &[Message], show: &dyn Fn(&str) -> String) -> Input {
    let system: Vec<Value> = messages
        .iter()
        .filter_map(|message| match message {
            Message::System { text } => Some(self::text(text, show)),
            Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
        })
        .collect();
    let mut said: Vec<Value> = messages
        .iter()
        .rev()
        .filter_map(|message| self::message(message, show))
        .take(MESSAGES_MAX)
        .collect();
    said.reverse();
    Input {
        system: (!system.is_empty()).then(|| Value::Array(system).to_string()),
        messages: Value::Array(said).to_string(),
    }
}

fn message(message: &Message, show: &dyn Fn(&str) -> String) -> Option<Value> {
    match message {
        Message::System { .. } => None,
        Message::User { text } => Some(json!({"role": "user", "parts": [self::text(text, show)]})),
        Message::Assistant { text, calls, opaque: _ } => {
            let words = (!text.is_empty()).then(|| self::text(text, show));
            let calls = calls.iter().map(|call| self::call(call, show));
            let parts: Vec<Value> = words.into_iter().chain(calls).collect();
            Some(json!({"role": "assistant", "parts": parts}))
        }
        Message::Tool { call, text, .. } => {
            let part = json!({"type": "tool_call_response", "id": call, "response": show(text)});
            Some(json!({"role": "tool", "parts": [part]}))
        }
    }
}

fn text(text: &str, show: &dyn Fn(&str) -> String) -> Value {
    json!({"type": "text", "content": show(text)})
}

/// Converts a call; the arguments become text, as truncated JSON is invalid.
fn call(call: &ModelCall, show: &dyn Fn(&str) -> String) -> Value {
    let arguments = show(&call.args.to_string());
    json!({"type": "tool_call", "id": call.id, "name": show(&call.name), "arguments": arguments})
}

/// The reply received so far.
#[derive(Default)]
pub(super) struct Output {
    text: String,
    thought: String,
    calls: Vec<ModelCall>,
}

impl Output {
    pub(super) fn take(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Thought(thought) => self.thought.push_str(thought),
            Delta::Call(call) => self.calls.push(call.clone()),
            Delta::Opaque(_) | Delta::End { .. } => {}
        }
    }

    /// Returns the value of `gen_ai.output.messages`.
    pub(super) fn json(&self, stop: Option<StopReason>, show: &dyn Fn(&str) -> String) -> String {
        let thought = (!self.thought.is_empty())
            .then(|| json!({"type": "reasoning", "content": show(&self.thought)}));
        let words = (!self.text.is_empty()).then(|| text(&self.text, show));
        let calls = self.calls.iter().map(|made| call(made, show));
        let parts: Vec<Value> = thought.into_iter().chain(words).chain(calls).collect();
        let reason = stop.map_or("error", finish_reason);
        json!([{"role": "assistant", "parts": parts, "finish_reason": reason}]).to_string()
    }
}

/// Returns the conventions' name of a stop reason.
pub(super) const fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::End => "stop",
        StopReason::ToolCalls => "tool_call",
        StopReason::Length => "length",
        StopReason::ContentFilter => "content_filter",
    }
}

#[cfg(test)]
mod tests {
    use proto::opaque::Opaque;

    use super::*;

    fn call(id: &str) -> ModelCall {
        ModelCall { id: id.to_owned(), name: "echo".to_owned(), args: json!({"value": 1}) }
    }

    #[test]
    fn a_conversation_has_the_shape_of_the_conventions() {
        let user = |text: &str| Message::User { text: text.to_owned() };
        let messages = [
            Message::System { text: "be brief".to_owned() },
            user("hello"),
            Message::Assistant {
                text: String::new(),
                calls: vec![call("c1")],
                opaque: Some(Opaque { model: "m".into(), parts: vec![json!("canary")] }),
            },
            Message::Tool { call: "c1".to_owned(), name: "echo".to_owned(), text: "1".to_owned() },
        ];
        let Input { system, messages } = input(&messages, &str::to_uppercase);
        assert_eq!(system.as_deref(), Some(r#"[{"type":"text","content":"BE BRIEF"}]"#));
        let expected = json!([
            {"role": "user", "parts": [{"type": "text", "content": "HELLO"}]},
            {"role": "assistant", "parts": [
                {"type": "tool_call", "id": "c1", "name": "ECHO", "arguments": "{\"VALUE\":1}"}]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "1"}]},
        ]);
        assert_eq!(serde_json::from_str::<Value>(&messages).unwrap(), expected);
    }

    #[test]
    fn only_the_last_messages_of_a_long_conversation_are_shown() {
        let messages: Vec<_> = (0..40).map(|n| Message::User { text: format!("m{n}") }).collect();
        let shown = input(&messages, &str::to_owned).messages;
        assert!(
            shown.contains("m39") && shown.contains("m24") && !shown.contains("m23"),
            "{shown}"
        );
    }

    #[test]
    fn a_reply_has_its_reasoning_words_and_calls() {
        let mut output = Output::default();
        for delta in [
            Delta::Thought("hm".to_owned()),
            Delta::Text("I ".to_owned()),
            Delta::Text("call".to_owned()),
            Delta::Call(call("c2")),
        ] {
            output.take(&delta);
        }
        let json = output.json(Some(StopReason::ToolCalls), &str::to_owned);
        let expected = json!([{"role": "assistant", "finish_reason": "tool_call", "parts": [
            {"type": "reasoning", "content": "hm"},
            {"type": "text", "content": "I call"},
            {"type": "tool_call", "id": "c2", "name": "echo", "arguments": "{\"value\":1}"},
        ]}]);
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), expected);
        assert!(Output::default().json(None, &str::to_owned).contains("\"error\""));
    }
}
