//! Replies in OpenAI's format: one JSON object, or server-sent events.

use serde_json::{Value, json};

use super::{conversation::Conversation, format::FinishDoc, reply::Rendered};

/// The fields common to all frames of a reply.
pub(super) struct Frames<'a> {
    id: String,
    model: &'a str,
    created: i64,
    include_usage: bool,
}

/// A streamed reply: the events with content, and the closing events.
pub(super) struct Streamed {
    pub(super) pieces: Vec<String>,
    pub(super) close: String,
}

impl<'a> Frames<'a> {
    pub(super) fn new(talk: &'a Conversation, request: u64, created: i64) -> Self {
        Self {
            id: format!("chatcmpl-{request}"),
            model: &talk.model,
            created,
            include_usage: talk.include_usage,
        }
    }

    /// Renders the reply as one JSON object.
    pub(super) fn whole(&self, reply: &Rendered) -> String {
        let mut message = json!({"role": "assistant", "content": reply.text});
        if !reply.thought.is_empty() {
            message["reasoning_content"] = json!(reply.thought);
        }
        if !reply.calls.is_empty() {
            let call = |call: &super::reply::RenderedCall| json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}});
            message["tool_calls"] = reply.calls.iter().map(call).collect();
        }
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
            "usage": usage(reply),
        })
        .to_string()
    }

    pub(super) fn streamed(&self, reply: &Rendered) -> Streamed {
        let mut pieces = Vec::new();
        let mut deltas = |delta: Value| pieces.push(self.frame(&delta, None));
        for part in parts(&reply.thought, reply.pace.chunk) {
            deltas(json!({"reasoning_content": part}));
        }
        for part in parts(&reply.text, reply.pace.chunk) {
            deltas(json!({"content": part}));
        }
        for (index, call) in reply.calls.iter().enumerate() {
            let mut written = parts(&call.arguments, reply.pace.chunk);
            let first = written.next().unwrap_or_default();
            deltas(json!({"tool_calls": [{"index": index, "id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": first}}]}));
            for part in written {
                deltas(json!({"tool_calls": [{"index": index, "function": {"arguments": part}}]}));
            }
        }
        if let Some(first) = pieces.first_mut() {
            first.insert_str(0, &self.frame(&json!({"role": "assistant", "content": ""}), None));
        }
        let mut close = self.frame(&json!({}), Some(reply.finish));
        if self.include_usage {
            let last = json!({"id": self.id, "object": "chat.completion.chunk", "created": self.created,
                "model": self.model, "choices": [], "usage": usage(reply)});
            close.push_str(&event(&last));
        }
        close.push_str("data: [DONE]\n\n");
        Streamed { pieces, close }
    }

    fn frame(&self, delta: &Value, finish: Option<FinishDoc>) -> String {
        event(&json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
        }))
    }
}

/// Renders an error body in OpenAI's format.
pub(super) fn error(message: &str, kind: &str, code: Option<&str>) -> String {
    json!({"error": {"message": message, "type": kind, "code": code}}).to_string()
}

pub(super) fn models(names: &[String]) -> String {
    let model = |name: &String| json!({"id": name, "object": "model", "created": 0, "owned_by": "callboard"});
    json!({"object": "list", "data": names.iter().map(model).collect::<Vec<_>>()}).to_string()
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn usage(reply: &Rendered) -> Value {
    let usage = reply.usage;
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input.saturating_add(usage.output),
    })
}

/// Cuts a text into parts of `characters` characters; an empty text has none.
fn parts(text: &str, characters: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(characters).map_or(rest.len(), |(at, _)| at);
        let (part, left) = rest.split_at(end);
        rest = left;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(parts("先标记任务ok", 2).collect::<Vec<_>>(), ["先标", "记任", "务o", "k"]);
        assert_eq!(parts("", 2).count(), 0);
        assert_eq!(parts("abc", usize::MAX).collect::<Vec<_>>(), ["abc"]);
    }
}
