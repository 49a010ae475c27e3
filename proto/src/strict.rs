//! The strict parser of JSON from outside. It bounds the nesting, refuses duplicate fields and
//! names the path of a wrong field.

use std::fmt;

use serde::{
    Deserializer,
    de::{self, DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

use crate::limits;

/// The refusal of a JSON text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The text is empty.
    #[error("the body is empty; a JSON object is expected")]
    Empty,
    /// The text exceeds [`limits::REQUEST_BYTES_MAX`] and was not parsed.
    #[error("the body has {0} bytes; at most {max} are allowed", max = limits::REQUEST_BYTES_MAX)]
    TooLarge(usize),
    /// The bytes are not UTF-8.
    #[error("the body is not UTF-8 text")]
    NotText,
    /// The nesting exceeds [`limits::JSON_DEPTH_MAX`].
    #[error("the body is nested deeper than {max} levels", max = limits::JSON_DEPTH_MAX)]
    TooDeep,
    /// The text is not JSON, or an object has a duplicate field.
    #[error("the body is not valid JSON: {0}")]
    Malformed(String),
    /// A field does not fit the type.
    #[error("{field}: {why}")]
    Field {
        /// Dotted path of the field; `.` for the whole value.
        field: String,
        /// Error of the field.
        why: String,
    },
}

/// Parses a value of a known type.
///
/// # Errors
/// Fails when the text exceeds a bound, is not JSON, has a duplicate field, or does not fit the
/// type.
pub fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refused> {
    from_value(value_from_slice(bytes)?)
}

/// Reads a request: a JSON object of a known form. A request without required fields may be empty.
///
/// # Errors
/// Fails like [`from_slice`], and when the value is not an object. Serde would accept a list for a
/// struct otherwise.
pub fn request<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refused> {
    if bytes.is_empty() {
        return serde_json::from_str("{}").map_err(|_| Refused::Empty);
    }
    request_from_value(value_from_slice(bytes)?)
}

/// Converts JSON that was parsed strictly to a request.
///
/// # Errors
/// Fails when the value is not an object, or does not fit the type.
pub fn request_from_value<T: DeserializeOwned>(value: Value) -> Result<T, Refused> {
    if value.is_object() {
        return from_value(value);
    }
    Err(Refused::Field { field: ".".to_owned(), why: "a JSON object is expected".to_owned() })
}

/// Converts JSON that was parsed strictly to a value of a known type.
///
/// # Errors
/// Fails when the value does not fit the type.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, Refused> {
    serde_path_to_error::deserialize(value).map_err(|e| {
        let (at, why) = (e.path().to_string(), e.inner().to_string());
        // The error names the missing field, and not the object that lacks it.
        let missing = why.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
        let field = match missing {
            Some(name) if at == "." => name.to_owned(),
            Some(name) => format!("{at}.{name}"),
            None => at,
        };
        Refused::Field { field, why }
    })
}

/// Parses any JSON value.
///
/// # Errors
/// Fails when the text exceeds a bound, is not JSON, or an object has a duplicate field.
pub fn value_from_slice(bytes: &[u8]) -> Result<Value, Refused> {
    if bytes.len() > limits::REQUEST_BYTES_MAX {
        return Err(Refused::TooLarge(bytes.len()));
    }
    value_from_str(std::str::from_utf8(bytes).map_err(|_| Refused::NotText)?)
}

/// Parses any JSON value, of any size.
///
/// # Errors
/// Fails when the text is not JSON, is nested too deep, or an object has a duplicate field.
pub fn value_from_str(text: &str) -> Result<Value, Refused> {
    if text.trim().is_empty() {
        return Err(Refused::Empty);
    }
    if too_deep(text) {
        return Err(Refused::TooDeep);
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut json).and_then(|v| json.end().map(|()| v));
    value.map_err(|e| Refused::Malformed(e.to_string()))
}

/// `true` if an object in a valid JSON text has a field twice. Other parsers keep only the last one.
#[must_use]
pub fn repeats_a_field(text: &str) -> bool {
    Strict.deserialize(&mut serde_json::Deserializer::from_str(text)).is_err()
}

/// Returns whether the nesting exceeds the bound. It counts brackets outside strings, before any
/// recursive parser runs.
fn too_deep(text: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for b in text.bytes() {
        match b {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > limits::JSON_DEPTH_MAX {
                    return true;
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_u64<E>(self, v: u64) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Value, E> {
        Number::from_f64(v)
            .map(Value::Number)
            .ok_or_else(|| E::custom("the number is out of range"))
    }

    fn visit_str<E>(self, v: &str) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_string<E>(self, v: String) -> Result<Value, E> {
        Ok(v.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let value = map.next_value_seed(Self)?;
            if fields.contains_key(&name) {
                let shown: String = name.chars().take(80).collect();
                return Err(de::Error::custom(format_args!("the field {shown:?} is there twice")));
            }
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
}

/// Returns whether a value is nested deeper than [`limits::JSON_DEPTH_MAX`]. A value in the log
/// must be readable inside its record.
#[must_use]
pub fn is_deep(value: &Value) -> bool {
    let mut level = vec![value];
    for _ in 0..limits::JSON_DEPTH_MAX {
        level = level
            .into_iter()
            .flat_map(|value| match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(fields) => fields.values().collect::<Vec<_>>(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
            })
            .collect();
    }
    level.iter().any(|value| value.is_array() || value.is_object())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], expected: &str) {
        let got = value_from_slice(text).map(|v| v.to_string()).unwrap_or_else(|e| e.to_string());
        assert!(
            got.contains(expected),
            "{:?} gave {got:?}",
            String::from_utf8_lossy(&text[..text.len().min(80)])
        );
    }

    #[test]
    fn hostile_json_is_refused_with_its_reason() {
        check(b"", "is empty");
        check(b" \n ", "is empty");
        check(b"\xff\xfe{}", "not UTF-8");
        check("[".repeat(100_000).as_bytes(), "nested deeper than 64");
        check(format!("{}1{}", "[".repeat(64), "]".repeat(64)).as_bytes(), "[1]");
        check(
            br#"{"a":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}"#,
            "[[[",
        );
        check(br#"{"tool":"a","tool":"b"}"#, "twice");
        check(br#"{"x":{"a":1,"\u0061":2}}"#, "twice");
        check(br#"{"n":1e400}"#, "out of range");
        check(br#"{"n":NaN}"#, "not valid JSON");
        check(br#"{"s":"\ud800"}"#, "not valid JSON");
        check(br#"{} trailing"#, "not valid JSON");
        check(&vec![b'x'; limits::REQUEST_BYTES_MAX + 1], "at most");
    }

    #[test]
    fn a_field_that_does_not_fit_is_named() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Inner {
            #[expect(dead_code)]
            n: u32,
        }
        #[derive(Debug, serde::Deserialize)]
        struct Outer {
            #[expect(dead_code)]
            inner: Vec<Inner>,
        }
        let err = from_slice::<Outer>(br#"{"inner":[{"n":1},{"n":1.5}]}"#).unwrap_err();
        assert!(matches!(&err, Refused::Field { field, .. } if field == "inner[1].n"), "{err}");
        let missing = from_slice::<Outer>(br#"{"inner":[{}]}"#).unwrap_err();
        assert!(
            matches!(&missing, Refused::Field { field, .. } if field == "inner[0].n"),
            "{missing}"
        );
        assert!(from_slice::<Outer>(b"[[]]").is_ok() && request::<Outer>(b"[[]]").is_err());
        assert!(from_slice::<Outer>(br#"{"inner":[{"n":9223372036854775808}]}"#).is_err());
        assert!(from_slice::<Outer>(br#"{"inner":[{"n":1.0}]}"#).is_err());
    }

    #[test]
    fn a_request_may_be_empty_when_no_field_is_required() {
        use crate::door::{Get, GetTools};

        assert!(request::<GetTools>(b"").is_ok() && request::<GetTools>(b" {} ").is_ok());
        assert_eq!(request::<Get>(b""), Err(Refused::Empty));
        let unknown = request::<GetTools>(br#"{"x":1}"#).unwrap_err();
        assert!(matches!(&unknown, Refused::Field { field, .. } if field == "x"), "{unknown}");
        assert!(request::<GetTools>(b"[]").is_err() && request::<GetTools>(b"null").is_err());
    }
}
