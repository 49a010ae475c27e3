//! Assembly of a reply from its frames. A whole reply is read as a single frame. Pure.

use std::sync::Arc;

use proto::strict;
use serde_json::Value;

use super::calls::{Calls, Piece};
use crate::{
    error::{ErrorKind, ModelError},
    provider::{
        failure,
        reply::{Counted, End, Event, bad_calls, cut, refused, stop},
    },
    words::Redactor,
};

/// Maximum length of the model name that a provider reports, in characters.
const MODEL_NAME_CHARS: usize = 256;

/// A reply in arrival.
pub(super) struct Assembly {
    redactor: Arc<Redactor>,
    ready: Vec<Event>,
    calls: Calls,
    counted: Counted,
    model: Option<String>,
    /// Reason for the end, once it was reported.
    finish: Option<String>,
    is_refused: bool,
    is_done: bool,
    /// `true` once a frame had a delta.
    has_deltas: bool,
}

impl Assembly {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            ready: Vec::new(),
            calls: Calls::default(),
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
            self.is_done = true;
            return Ok(());
        }
        let frame = json(data)?;
        self.refuse_repeated_fields(&frame, data)?;
        self.frame(&frame)
    }

    /// Refuses arguments that are an object with a field twice: parsing keeps only the last one.
    fn refuse_repeated_fields(&self, frame: &Value, text: &str) -> Result<(), ModelError> {
        let calls = ["/choices/0/delta/tool_calls", "/choices/0/message/tool_calls"];
        let is_object = |call: &Value| {
            call.pointer("/function/arguments").is_some_and(|arguments| arguments.is_object())
        };
        let has_objects = calls.iter().filter_map(|place| frame.pointer(place)).any(|calls| {
            calls.as_array().map_or_else(|| is_object(calls), |calls| calls.iter().any(is_object))
        });
        if has_objects && strict::value_from_slice(text.as_bytes()).is_err() {
            return Err(bad_calls());
        }
        Ok(())
    }

    /// Reads a body that is no stream: a whole reply or an error.
    pub(super) fn take_whole(&mut self, body: &str) -> Result<(), ModelError> {
        let whole = json(body)?;
        self.refuse_repeated_fields(&whole, body)?;
        // Some providers put an error into a list.
        let body = whole.as_array().and_then(|items| items.first()).unwrap_or(&whole);
        if body.get("choices").is_none() {
            return Err(failure::from_event(body, &self.redactor));
        }
        self.frame(body)?;
        self.is_done = true;
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
        Ok(End {
            stop: stop(self.finish.as_deref())?,
            calls: self.calls.finish(),
            counted: self.counted,
            model: self.model,
        })
    }

    fn frame(&mut self, frame: &Value) -> Result<(), ModelError> {
        if frame.get("error").is_some_and(|error| !error.is_null()) {
            return Err(failure::from_event(frame, &self.redactor));
        }
        if self.model.is_none() {
            let name = frame.get("model").and_then(Value::as_str);
            let plain = |name: &str| -> String {
                name.chars().filter(|c| !c.is_control()).take(MODEL_NAME_CHARS).collect()
            };
            self.model = name.filter(|name| !name.is_empty()).map(plain);
        }
        for place in ["/usage", "/x_groq/usage", "/choices/0/usage"] {
            self.counted = counted(frame.pointer(place)).or(self.counted);
        }
        let Some(choice) = frame.pointer("/choices/0") else { return Ok(()) };
        let part = |name| choice.get(name).filter(|part: &&Value| part.is_object());
        if let Some(delta) = part("delta") {
            self.has_deltas = true;
            self.delta(delta)?;
        } else if let Some(message) = part("message").filter(|_| !self.has_deltas) {
            // A message after deltas repeats them.
            self.delta(message)?;
        }
        // Some servers send an empty reason with every frame.
        let finish = choice.get("finish_reason").and_then(Value::as_str);
        let finish = finish.filter(|word| !word.is_empty());
        self.finish = finish.map(str::to_owned).or(self.finish.take());
        Ok(())
    }

    fn delta(&mut self, delta: &Value) -> Result<(), ModelError> {
        let thought = ["reasoning_content", "reasoning"]
            .iter()
            .find_map(|name| delta.get(name)?.as_str().filter(|words| !words.is_empty()));
        self.ready.extend(thought.map(|words| Event::Thought(words.to_owned())));
        match delta.get("content") {
            Some(Value::String(words)) => self.ready.push(Event::Text(words.clone())),
            Some(Value::Array(parts)) => self.ready.extend(parts.iter().filter_map(part)),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
        }
        let refusal = delta.get("refusal").and_then(Value::as_str);
        self.is_refused |= refusal.is_some_and(|words| !words.is_empty());
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
            self.calls.add(Piece::of(call).ok_or_else(bad_calls)?);
        }
        if self.calls.too_many {
            return Err(bad_calls());
        }
        if !calls.is_empty() || older.is_some() {
            self.ready.push(Event::Calls(self.calls.bytes));
        }
        Ok(())
    }
}

fn json(text: &str) -> Result<Value, ModelError> {
    serde_json::from_str(text).map_err(|_| {
        ModelError::new(ErrorKind::Malformed, "the provider's reply is not in its own format")
    })
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
    }
}

/// Reads a count; `None` if it cannot be one.
fn tokens(count: &Value) -> Option<u64> {
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
        assert_eq!(counted(Some(&usage)), Counted { input, output });
    }
}
