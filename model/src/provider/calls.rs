//! Assembly of the tool calls of a reply from their pieces. Pure.

use proto::{
    message::{Message, ModelCall},
    strict,
};
use serde_json::{Map, Value, json};

/// Largest number of calls in a reply.
pub(super) const CALLS_MAX: usize = 128;

/// A piece of a tool call. A whole call is a single piece.
#[derive(Debug)]
pub(super) struct Piece {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    is_value: bool,
}

impl Piece {
    /// Reads a piece; `None` if it is not one. Ids may be numbers, and arguments may be an object
    /// in place of its text.
    pub(super) fn of(written: &Value) -> Option<Self> {
        let call = written.as_object()?;
        let function = match call.get("function") {
            None => call,
            Some(function) => function.as_object()?,
        };
        Some(Self {
            index: call.get("index").and_then(Value::as_u64),
            id: text(call.get("id"))?,
            name: text(function.get("name"))?,
            arguments: text(function.get("arguments"))?,
            is_value: function.get("arguments").is_some_and(Value::is_object),
        })
    }
}

/// Returns a text as it is and any other value as JSON; `None` for a constant.
fn text(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(value @ (Value::Number(_) | Value::Object(_) | Value::Array(_))) => {
            Some(value.to_string())
        }
        Some(Value::Bool(_)) => None,
    }
}

/// `true` if the text is a complete JSON value.
fn is_whole(arguments: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
}

/// The calls of one reply, in order of their first pieces.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Number of the first made id.
    first: usize,
    open: Vec<PartialCall>,
    /// Number of bytes collected so far.
    pub(super) bytes: usize,
    /// `true` if the server sent more than [`CALLS_MAX`] calls.
    pub(super) too_many: bool,
    /// `true` if arguments came as a value. Parsing keeps only the last one of two equal fields.
    pub(super) has_values: bool,
}

#[derive(Debug)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Arguments that came with the beginning; pieces replace them.
    initial: String,
}

impl Calls {
    /// Creates the calls of the reply to a conversation, whose made ids are not used again.
    pub(super) fn after(conversation: &[Message]) -> Self {
        let ids = conversation.iter().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => &[],
        });
        let numbers = ids.filter_map(|call| call.id.strip_prefix("call_")?.parse::<usize>().ok());
        Self { first: numbers.max().map_or(0, |last| last.saturating_add(1)), ..Self::default() }
    }

    /// Begins a call whose arguments are a value.
    pub(super) fn open(&mut self, index: Option<u64>, id: String, name: String, args: &Value) {
        let is_empty = args.is_null() || args.as_object().is_some_and(Map::is_empty);
        let initial = if is_empty { String::new() } else { args.to_string() };
        self.bytes = self.bytes.saturating_add(id.len() + name.len() + initial.len());
        self.has_values |= !is_empty;
        self.push(PartialCall { index, id, name, arguments: String::new(), initial });
    }

    /// Adds to the arguments of the call with an index, if there is one, or of the last one without
    /// an index.
    pub(super) fn extend(&mut self, index: Option<u64>, more: &str) {
        if let Some(call) =
            self.open.iter_mut().rfind(|call| index.is_none() || call.index == index)
        {
            self.bytes = self.bytes.saturating_add(more.len());
            call.arguments.push_str(more);
        }
    }

    /// Number of calls so far.
    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Adds a piece to its call, or begins one.
    pub(super) fn add(&mut self, piece: Piece) {
        let Piece { index, id, name, arguments, is_value } = piece;
        self.has_values |= is_value;
        self.bytes = self.bytes.saturating_add(id.len() + name.len() + arguments.len());
        let is_other = |call: &PartialCall| {
            // Some servers give every call the same index.
            let has_other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
            let has_other_name = !call.name.is_empty() && call.name != name;
            !name.is_empty() && (has_other_id || has_other_name)
        };
        // Some servers repeat id and name in every piece, and some give two calls one id.
        let is_continued =
            |call: &PartialCall| !id.is_empty() && call.id == id && !is_whole(&call.arguments);
        let found = match index {
            Some(_) => self.open.iter_mut().rfind(|call| call.index == index),
            None if !id.is_empty() => self.open.iter_mut().rfind(|call| is_continued(call)),
            // Without an index and an id, a piece with a name starts a call, and any other piece
            // continues the last one.
            None if name.is_empty() => self.open.last_mut(),
            None => None,
        };
        if let Some(call) = found.filter(|call| !is_other(call)) {
            if call.id.is_empty() {
                call.id = id;
            }
            if call.name.is_empty() {
                call.name = name;
            }
            call.arguments.push_str(&arguments);
        } else {
            self.push(PartialCall { index, id, name, arguments, initial: String::new() });
        }
    }

    fn push(&mut self, call: PartialCall) {
        if self.open.len() >= CALLS_MAX {
            self.too_many = true;
        } else {
            self.open.push(call);
        }
    }

    /// Returns the complete calls. A call without an id gets one from its index.
    pub(super) fn finish(&mut self) -> Vec<ModelCall> {
        let first = self.first;
        std::mem::take(&mut self.open)
            .into_iter()
            .enumerate()
            .map(|(position, call)| ModelCall {
                id: if call.id.is_empty() {
                    format!("call_{}", first.saturating_add(position))
                } else {
                    call.id
                },
                name: call.name,
                args: arguments(if call.arguments.is_empty() {
                    call.initial
                } else {
                    call.arguments
                }),
            })
            .collect()
    }
}

/// Parses arguments. An empty text means no arguments. A text that is not valid JSON, or has a
/// field twice, stays a text. Some servers write the object as JSON twice.
fn arguments(written: String) -> Value {
    if written.trim().is_empty() {
        return json!({});
    }
    let once = |text: &str| strict::value_from_str(text).ok();
    match once(&written) {
        Some(Value::String(inner)) => {
            once(&inner).filter(Value::is_object).unwrap_or(Value::String(inner))
        }
        Some(value) => value,
        None => Value::String(written),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn collect(pieces: &[&str]) -> Vec<ModelCall> {
        let mut calls = Calls::default();
        for piece in pieces {
            calls.add(Piece::of(&serde_json::from_str(piece).unwrap()).unwrap());
        }
        calls.finish()
    }

    fn call(id: &str, name: &str, args: Value) -> ModelCall {
        ModelCall { id: id.to_owned(), name: name.to_owned(), args }
    }

    #[test]
    fn large_arguments_are_read() {
        let text = "x".repeat(300_000);
        let written = json!({"content": text}).to_string();
        let piece = json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": written}});
        let calls = collect(&[&piece.to_string()]);
        assert_eq!(calls, [call("a", "f", json!({"content": text}))]);
    }

    #[test]
    fn a_made_id_is_not_that_of_an_earlier_call() {
        let earlier = ["call_7", "fc_9", "call_x", "call_3"];
        let calls = earlier.map(|id| call(id, "f", json!({}))).to_vec();
        let conversation = [Message::Assistant { text: String::new(), calls, opaque: None }];
        let mut calls = Calls::after(&conversation);
        for piece in [r#"{"function":{"name":"f"}}"#, r#"{"function":{"name":"g"}}"#] {
            calls.add(Piece::of(&serde_json::from_str(piece).unwrap()).unwrap());
        }
        let ids: Vec<_> = calls.finish().into_iter().map(|call| call.id).collect();
        assert_eq!(ids, ["call_8", "call_9"]);
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
    #[case::same_index_is_two(
        &[r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}"#, r#"{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}"#],
        vec![call("a", "f", json!({})), call("b", "f", json!({}))])]
    #[case::repeated_id(
        &[r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}"#, r#"{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}"#],
        vec![call("a", "f", json!({}))])]
    #[case::numeric_id_and_object(&[r#"{"id":7,"function":{"name":"f","arguments":{"x":1}}}"#], vec![call("7", "f", json!({"x": 1}))])]
    #[case::without_function(&[r#"{"id":"a","name":"f","arguments":"{}"}"#], vec![call("a", "f", json!({}))])]
    #[case::json_twice(&[r#"{"id":"a","function":{"name":"f","arguments":"\"{\\\"x\\\":1}\""}}"#], vec![call("a", "f", json!({"x": 1}))])]
    #[case::a_field_twice(&[r#"{"id":"a","function":{"name":"f","arguments":"{\"x\":1,\"x\":2}"}}"#], vec![call("a", "f", json!(r#"{"x":1,"x":2}"#))])]
    #[case::not_json(&[r#"{"index":0,"id":"a","function":{"name":"f","arguments":"{x"}}"#], vec![call("a", "f", json!("{x"))])]
    fn pieces_become_calls(#[case] pieces: &[&str], #[case] expected: Vec<ModelCall>) {
        assert_eq!(collect(pieces), expected);
    }

    #[test]
    fn too_many_calls_are_noticed() {
        let mut calls = Calls::default();
        for index in 0..=CALLS_MAX {
            let piece = json!({"index": index, "function": {"name": "f"}});
            calls.add(Piece::of(&piece).unwrap());
        }
        assert!(calls.too_many);
    }
}
