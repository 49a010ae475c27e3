//! Collection of the opaque parts of a reply from its pieces. Pure.

use proto::opaque::{OPAQUE_BYTES_MAX, OPAQUE_PARTS_MAX};
use serde_json::{Map, Value};

use crate::complete::json_len;

/// The opaque parts of a reply, in order of their first pieces.
#[derive(Default)]
pub(super) struct Kept {
    parts: Vec<(Option<u64>, Map<String, Value>)>,
    bytes: usize,
    /// `true` if the parts exceed their bound. None are kept then, since a model needs all of them.
    is_too_large: bool,
}

impl Kept {
    /// Adds a part, which pieces with the same index continue. Anything but an object is left out.
    pub(super) fn open(&mut self, index: Option<u64>, part: Value) {
        let bytes = json_len(&part);
        if let Value::Object(part) = part
            && self.has_room_for(bytes)
        {
            self.parts.push((index, part));
        }
    }

    /// Adds text to a field of the last part with an index.
    pub(super) fn extend(&mut self, index: Option<u64>, field: &str, more: &str) {
        if more.is_empty() || !self.has_room_for(more.len()) {
            return;
        }
        let Some((_, part)) = self.parts.iter_mut().rfind(|(own, _)| *own == index) else { return };
        match part.get_mut(field) {
            Some(Value::String(text)) => text.push_str(more),
            Some(_) | None => {
                part.insert(field.to_owned(), Value::from(more));
            }
        }
    }

    /// Adds a piece of a part whose texts are sent in pieces: it continues the last part if index and
    /// type are the same.
    pub(super) fn merge(&mut self, piece: &Map<String, Value>, texts: &[&str]) {
        let index = piece.get("index").and_then(Value::as_u64);
        let is_same = |(own, part): &&mut (Option<u64>, Map<String, Value>)| {
            index.is_some() && *own == index && part.get("type") == piece.get("type")
        };
        if !self.has_room_for(piece.iter().map(|(name, value)| name.len() + json_len(value)).sum())
        {
            return;
        }
        let Some((_, part)) = self.parts.last_mut().filter(|last| is_same(last)) else {
            return self.parts.push((index, piece.clone()));
        };
        for (name, value) in piece {
            match (part.get_mut(name), value) {
                (Some(Value::String(text)), Value::String(more)) if texts.contains(&&**name) => {
                    text.push_str(more);
                }
                (Some(_), Value::Null) => {}
                (Some(own), value) => *own = value.clone(),
                (None, value) => {
                    part.insert(name.clone(), value.clone());
                }
            }
        }
    }

    fn has_room_for(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > OPAQUE_BYTES_MAX || self.parts.len() >= OPAQUE_PARTS_MAX {
            self.is_too_large = true;
            self.parts.clear();
        }
        !self.is_too_large
    }

    /// Returns the parts; none if all of them only mark places of other content.
    pub(super) fn finish(&mut self, is_mark: impl Fn(&Map<String, Value>) -> bool) -> Vec<Value> {
        let parts = std::mem::take(&mut self.parts);
        if parts.iter().all(|(_, part)| is_mark(part)) {
            return Vec::new();
        }
        parts.into_iter().map(|(_, part)| Value::Object(part)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pieces_with_one_index_are_one_part() {
        let mut kept = Kept::default();
        let piece = |value: Value| value.as_object().unwrap().clone();
        for (text, signature) in [("let me ", json!(null)), ("see", json!("s1"))] {
            let part = json!({"type": "t", "index": 0, "text": text, "signature": signature});
            kept.merge(&piece(part), &["text"]);
        }
        kept.merge(&piece(json!({"type": "e", "index": 0, "data": "d"})), &["text"]);
        let expected = json!([
            {"type": "t", "index": 0, "text": "let me see", "signature": "s1"},
            {"type": "e", "index": 0, "data": "d"},
        ]);
        assert_eq!(json!(kept.finish(|_| false)), expected);
    }

    #[test]
    fn parts_beyond_their_bound_are_left_out_together() {
        let mut kept = Kept::default();
        kept.open(Some(0), json!({"signature": "s"}));
        kept.extend(Some(0), "signature", &"x".repeat(OPAQUE_BYTES_MAX));
        kept.open(Some(1), json!({"signature": "s"}));
        assert!(kept.finish(|_| false).is_empty());
    }
}
