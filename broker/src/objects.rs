//! Large values, named by their SHA-256: what is too large to travel travels as a reference.
//!
//! A value is stored once, however many records refer to it, so no job may remove it when it ends.
//! Garbage collection removes values without references: it lists the values, reads every record
//! for references, and removes the versions that it has listed. That is safe beside writers because
//! putting a value again rewrites it if it is older than [`RENEWED_AFTER`], and a rewritten value
//! is another version.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use proto::id::Seq;

/// The age above which a stored value is rewritten when it is put again. Garbage collection must
/// keep values that are not much older.
pub const RENEWED_AFTER: Duration = Duration::from_secs(12 * 60 * 60);

/// An operation on the object store failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ObjectError {
    /// The broker cannot be reached.
    #[error("the object store cannot be reached: {0}")]
    Unavailable(String),
    /// There is no such object, or it is damaged.
    #[error("object {0} is missing or damaged")]
    Missing(String),
    /// There is no room.
    #[error("the object store is full: {0}")]
    Full(String),
}

/// A version of a stored value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its name: SHA-256 in lower-case hex.
    pub sha256: String,
    /// Its size, in bytes.
    pub bytes: u64,
    /// The age of its newest part, by the broker's clock.
    pub age: Duration,
    /// The position of its newest part.
    pub until: Seq,
}

/// Large values. Writing the same bytes twice stores them once.
#[async_trait]
pub trait Objects: Send + Sync + 'static {
    /// Stores bytes and returns their SHA-256 in lower-case hex. They are durable once this
    /// returns. A value that exists and is older than [`RENEWED_AFTER`] is rewritten.
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError>;
    /// The bytes of that name, checked against it.
    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError>;
    /// Every stored value with a well-formed name, without its bytes. Takes about 150 bytes of
    /// memory for each.
    async fn list(&self) -> Result<Vec<Kept>, ObjectError>;
    /// Removes a version of a value: later versions stay.
    async fn remove(&self, seen: &Kept) -> Result<(), ObjectError>;
}

/// A name is well-formed.
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.len() == 64 && text.as_bytes().iter().all(is_hex)
}

/// Every run of 64 lower-case hex digits in a stored record: a reference to a large value contains
/// its name, in records of every version of Callboard.
#[must_use]
pub fn names_in(payload: &[u8]) -> Vec<String> {
    let runs = payload.split(|byte| !is_hex(byte)).filter(|run| run.len() == 64);
    runs.map(|run| String::from_utf8_lossy(run).into_owned()).collect()
}

fn is_hex(byte: &u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_whatever_is_stored() {
        let (one, two) = ("0a".repeat(32), "bc".repeat(32));
        let text = format!(r#"{{"v":9,"refs":["{one}"],"x":{{"sha256":"{two}"}}}}"#);
        assert_eq!(names_in(text.as_bytes()), [one.clone(), two]);
        for none in [format!("{one}0"), one[1..].to_owned(), one.to_uppercase(), String::new()] {
            assert_eq!(names_in(none.as_bytes()), Vec::<String>::new(), "{none}");
        }
    }
}
