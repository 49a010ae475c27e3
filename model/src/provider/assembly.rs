//! Assembly of a reply from its frames, common to all protocols. A whole reply is read as a single
//! frame. Pure.

use std::sync::Arc;

use proto::strict;
use serde_json::Value;

use super::{
    anthropic,
    calls::Calls,
    failure, gemini,
    kept::Kept,
    ollama, openai,
    reply::{Counted, End, Event, bad_calls, cut, refused, stop},
};
use crate::{
    config::ProviderKind,
    error::{ErrorKind, ModelError},
    words::Redactor,
};

/// Maximum length of the model name that a provider reports, in characters.
const MODEL_NAME_CHARS: usize = 256;

/// A reply in arrival.
pub(super) struct Assembly {
    kind: ProviderKind,
    redactor: Arc<Redactor>,
    ready: Vec<Event>,
    pub(super) calls: Calls,
    /// Parts that only the same model reads.
    pub(super) kept: Kept,
    counted: Counted,
    model: Option<String>,
    /// Reason for the end, once it was reported.
    finish: Option<String>,
    is_refused: bool,
    is_done: bool,
    /// `true` once a frame had a delta (OpenAI).
    pub(super) has_deltas: bool,
}

impl Assembly {
    pub(super) fn new(kind: ProviderKind, calls: Calls, redactor: Arc<Redactor>) -> Self {
        Self {
            kind,
            redactor,
            ready: Vec::new(),
            calls,
            kept: Kept::default(),
            counted: Counted::default(),
            model: None,
            finish: None,
            is_refused: false,
            is_done: false,
            has_deltas: false,
        }
    }

    /// `true` after the end mark of the stream.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// `true` once the reply is complete. Token counts may follow.
    pub(super) fn is_finished(&self) -> bool {
        self.is_done || self.finish.is_some()
    }

    /// Takes the events that were read.
    pub(super) fn ready(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.ready)
    }

    /// Reads a frame of a stream.
    pub(super) fn take(&mut self, data: &str) -> Result<(), ModelError> {
        if self.is_done {
            return Ok(());
        }
        if data == "[DONE]" {
            self.is_done = self.kind == ProviderKind::OpenAi || self.is_finished();
            return Ok(());
        }
        let frame = json(data)?;
        self.frames(frames(&frame), data)
    }

    /// Reads a body that is no stream: a whole reply, the frames of one in a list, or an error.
    pub(super) fn take_whole(&mut self, body: &str) -> Result<(), ModelError> {
        let whole = json(body)?;
        let frames = frames(&whole);
        let Some(last) = frames.last() else { return Err(self.foreign(&whole)) };
        if let Some(other) = frames.iter().find(|frame| !is_reply(self.kind, frame)) {
            return Err(self.foreign(other));
        }
        self.frames(frames, body)?;
        // Ollama marks every piece of a reply that is not the last one.
        self.is_done |= last.get("done") != Some(&Value::Bool(false));
        Ok(())
    }

    /// Returns the end of the reply.
    ///
    /// # Errors
    /// If the reply is incomplete, refused or malformed.
    pub(super) fn end(mut self) -> Result<End, ModelError> {
        if !self.is_finished() {
            return Err(cut());
        }
        if self.is_refused {
            return Err(refused());
        }
        let calls = self.calls.finish();
        // Only a conversation that goes on with results sends them back.
        let mut opaque = self.kept.finish(anthropic::is_mark);
        if calls.is_empty() {
            opaque.clear();
        }
        Ok(End {
            stop: stop(self.finish.as_deref())?,
            calls,
            opaque,
            counted: self.counted,
            model: self.model,
        })
    }

    /// Adds text to the reply.
    pub(super) fn say(&mut self, words: Option<&Value>) {
        self.ready.extend(words.and_then(Value::as_str).map(|words| Event::Text(words.to_owned())));
    }

    /// Adds reasoning to the reply.
    pub(super) fn think(&mut self, words: Option<&Value>) {
        let words = words.and_then(Value::as_str).filter(|words| !words.is_empty());
        self.ready.extend(words.map(|words| Event::Thought(words.to_owned())));
    }

    /// Adds an event to the reply.
    pub(super) fn push(&mut self, event: Event) {
        self.ready.push(event);
    }

    /// Takes token counts, which replace earlier ones.
    pub(super) fn count(&mut self, counted: Counted) {
        self.counted = counted.or(self.counted);
    }

    /// Takes the name of the model that answers.
    pub(super) fn name(&mut self, name: Option<&Value>) {
        if self.model.is_none() {
            let plain = |name: &str| -> String {
                name.chars().filter(|c| !c.is_control()).take(MODEL_NAME_CHARS).collect()
            };
            let name = name.and_then(Value::as_str).filter(|name| !name.is_empty());
            self.model = name.map(plain);
        }
    }

    /// Takes the reason for the end. Some servers send an empty reason with every frame.
    pub(super) fn finish(&mut self, reason: Option<&Value>) {
        let reason = reason.and_then(Value::as_str).filter(|word| !word.is_empty());
        self.finish = reason.map(str::to_owned).or(self.finish.take());
    }

    /// Takes a refusal of the model or a filter.
    pub(super) fn refuse(&mut self) {
        self.is_refused = true;
    }

    /// Takes the end mark.
    pub(super) fn done(&mut self) {
        self.is_done = true;
    }

    /// Returns the error of a value that is no frame of this protocol.
    pub(super) fn foreign(&self, frame: &Value) -> ModelError {
        failure::from_event(frame, &self.redactor)
    }

    /// Reads frames, which were written as `text`.
    fn frames(&mut self, frames: &[Value], text: &str) -> Result<(), ModelError> {
        let bytes = self.calls.bytes;
        for frame in frames {
            if frame.get("error").is_some_and(|error| !error.is_null()) {
                return Err(self.foreign(frame));
            }
            match self.kind {
                ProviderKind::OpenAi => openai::frame(self, frame)?,
                ProviderKind::Anthropic => anthropic::frame(self, frame)?,
                ProviderKind::Gemini => gemini::frame(self, frame)?,
                ProviderKind::Ollama => ollama::frame(self, frame)?,
            }
        }
        let has_values = std::mem::take(&mut self.calls.has_values);
        if self.calls.too_many || has_values && strict::repeats_a_field(text) {
            return Err(bad_calls());
        }
        if self.calls.bytes > bytes {
            self.ready.push(Event::Calls(self.calls.bytes));
        }
        Ok(())
    }
}

/// Returns the frames of a value. Some providers put a reply or an error into a list.
fn frames(value: &Value) -> &[Value] {
    match value {
        Value::Array(frames) => frames,
        one @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Object(_)) => std::slice::from_ref(one),
    }
}

/// `true` if a value is a whole reply.
fn is_reply(kind: ProviderKind, value: &Value) -> bool {
    match kind {
        ProviderKind::OpenAi => value.get("choices").is_some(),
        ProviderKind::Anthropic => anthropic::is_message(value),
        ProviderKind::Gemini => gemini::is_frame(value),
        ProviderKind::Ollama => ollama::is_frame(value),
    }
}

fn json(text: &str) -> Result<Value, ModelError> {
    serde_json::from_str(text).map_err(|_| {
        ModelError::new(ErrorKind::Malformed, "the provider's reply is not in its own format")
    })
}

/// Reads a count; `None` if it cannot be one.
pub(super) fn tokens(count: &Value) -> Option<u64> {
    let written = match count {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    // A fraction of a token is rounded up.
    let (whole, fraction) = written.split_once('.').unwrap_or((&written, ""));
    let is_fraction = fraction.chars().all(|c| c.is_ascii_digit());
    let more = u64::from(fraction.contains(|c| c != '0'));
    whole.parse::<u64>().ok().filter(|_| is_fraction)?.checked_add(more)
}
