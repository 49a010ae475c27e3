//! SHA-256 digests of bytes, and of JSON regardless of the order of fields.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Returns the SHA-256 of some bytes in lower-case hex.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the SHA-256, in lower-case hex, of a JSON value whose objects have their fields sorted
/// by name.
#[must_use]
pub fn of_json(value: &Value) -> String {
    let mut text = String::new();
    canonical(value, &mut text);
    of_bytes(text.as_bytes())
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (n, (name, field)) in sorted.into_iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                canonical(field, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.push_str(&value.to_string());
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, b| {
        let _ = write!(out, "{b:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_fields_does_not_matter_and_that_of_items_does() {
        let a: Value = serde_json::from_str(r#"{"a":1,"b":{"c":[1,2],"d":null}}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"b":{"d":null,"c":[1,2]},"a":1}"#).unwrap();
        assert_eq!(of_json(&a), of_json(&b));
        assert_ne!(of_json(&json!([1, 2])), of_json(&json!([2, 1])));
        assert_ne!(of_json(&json!("1")), of_json(&json!(1)));
    }
}
