//! Assembly of the tool calls of an OpenAI-compatible stream.
//!
//! It replaces `genai`'s own assembly, which grows a list to any index that the server claims (one
//! frame can request 4 billion entries), drops pieces without an index, and copies the collected
//! arguments for every piece.

use std::borrow::Cow;

use proto::message::ModelCall;
use serde::Deserialize;
use serde_json::{Value, json};

/// Largest number of calls in a reply.
pub(super) const CALLS_MAX: usize = 128;

/// A piece of a tool call, in the wire format.
#[derive(Debug, Deserialize)]
pub(super) struct Piece<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    function: Function<'a>,
}

#[derive(Debug, Default, Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Cow<'a, str>>,
}

/// The calls of one reply, in order of their first pieces.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: Vec<PartialCall>,
    /// Number of bytes collected so far.
    pub(super) bytes: usize,
    /// `true` if the server sent more than [`CALLS_MAX`] calls.
    pub(super) too_many: bool,
}

#[derive(Debug)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Calls {
    pub(super) fn add(&mut self, piece: &Piece<'_>) {
        let id = piece.id.as_deref().unwrap_or_default();
        let name = piece.function.name.as_deref().unwrap_or_default();
        let arguments = piece.function.arguments.as_deref().unwrap_or_default();
        self.bytes = self.bytes.saturating_add(id.len() + name.len() + arguments.len());
        let found = match piece.index {
            Some(index) => self.open.iter_mut().find(|call| call.index == Some(index)),
            // Without an index, a piece with a name starts a call, and any other piece continues
            // the last one.
            None if name.is_empty() => self.open.last_mut(),
            None => None,
        };
        if let Some(call) = found {
            if call.id.is_empty() {
                id.clone_into(&mut call.id);
            }
            if call.name.is_empty() {
                name.clone_into(&mut call.name);
            }
            call.arguments.push_str(arguments);
        } else if self.open.len() >= CALLS_MAX {
            self.too_many = true;
        } else {
            self.open.push(PartialCall {
                index: piece.index,
                id: id.to_owned(),
                name: name.to_owned(),
                arguments: arguments.to_owned(),
            });
        }
    }

    /// Returns the complete calls. A call without an id gets one from its index.
    pub(super) fn finish(&mut self) -> Vec<ModelCall> {
        std::mem::take(&mut self.open)
            .into_iter()
            .enumerate()
            .map(|(position, call)| ModelCall {
                id: if call.id.is_empty() { format!("call_{position}") } else { call.id },
                name: call.name,
                args: arguments(call.arguments),
            })
            .collect()
    }
}

/// Parses arguments. An empty text means no arguments; invalid JSON becomes a JSON string.
fn arguments(written: String) -> Value {
    if written.trim().is_empty() {
        return json!({});
    }
    serde_json::from_str(&written).unwrap_or(Value::String(written))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn collect(pieces: &[&str]) -> Vec<ModelCall> {
        let mut calls = Calls::default();
        for piece in pieces {
            calls.add(&serde_json::from_str(piece).unwrap());
        }
        calls.finish()
    }

    fn call(id: &str, name: &str, args: Value) -> ModelCall {
        ModelCall { id: id.to_owned(), name: name.to_owned(), args }
    }

    #[rstest]
    #[case::interleaved(
        &[r#"{"index":0,"id":"a","function":{"name":"f","arguments":""}}"#,
          r#"{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}"#,
          r#"{"index":0,"function":{"arguments":"{\"x\":1}"}}"#,
          r#"{"index":1,"function":{"arguments":"2}"}}"#],
        vec![call("a", "f", json!({"x": 1})), call("b", "g", json!({"y": 2}))])]
    #[case::no_index(
        &[r#"{"id":"a","function":{"name":"f","arguments":"{}"}}"#, r#"{"id":"b","function":{"name":"f","arguments":"{}"}}"#],
        vec![call("a", "f", json!({})), call("b", "f", json!({}))])]
    #[case::no_id(&[r#"{"index":0,"function":{"name":"f"}}"#], vec![call("call_0", "f", json!({}))])]
    #[case::hostile_index(&[r#"{"index":4294967295,"id":"a","function":{"name":"f"}}"#], vec![call("a", "f", json!({}))])]
    #[case::same_id_stays_two(
        &[r#"{"index":0,"id":"a","function":{"name":"f"}}"#, r#"{"index":1,"id":"a","function":{"name":"f"}}"#],
        vec![call("a", "f", json!({})), call("a", "f", json!({}))])]
    #[case::not_json(&[r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{x"}}"#], vec![call("a", "f", json!("{x"))])]
    fn pieces_become_calls(#[case] pieces: &[&str], #[case] expected: Vec<ModelCall>) {
        assert_eq!(collect(pieces), expected);
    }

    #[test]
    fn too_many_calls_are_noticed() {
        let mut calls = Calls::default();
        for index in 0..=CALLS_MAX {
            calls.add(
                &serde_json::from_str(&format!(r#"{{"index":{index},"function":{{"name":"f"}}}}"#))
                    .unwrap(),
            );
        }
        assert!(calls.too_many);
    }
}
