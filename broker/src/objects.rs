//! The object store: large values, named by their SHA-256, that records refer to.
//!
//! A value is stored once, however many records refer to it, so no job may remove it when it ends.
//! Garbage collection removes values without references: it lists the values, reads every record
//! for references, and removes the listed versions. Concurrent writers are safe: storing a value
//! again rewrites it if it is older than [`RENEWED_AFTER`], and a rewritten value is a new version.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use proto::id::Seq;

/// Age above which storing a value again rewrites it. Garbage collection must keep values that are
/// not much older.
pub const RENEWED_AFTER: Duration = Duration::from_secs(12 * 60 * 60);

/// A failed operation on the object store.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ObjectError {
    /// The broker is unreachable.
    #[error("the object store cannot be reached: {0}")]
    Unavailable(String),
    /// No value has this name, or the value is damaged.
    #[error("object {0} is missing or damaged")]
    Missing(String),
    /// A storage limit of the broker is reached.
    #[error("the object store is full: {0}")]
    Full(String),
}

/// One version of a stored value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Name of the value: its SHA-256 in lower-case hex.
    pub sha256: String,
    /// Size of the value, in bytes.
    pub bytes: u64,
    /// Age of the value's newest part, by the broker's clock.
    pub age: Duration,
    /// Position of the value's newest part.
    pub until: Seq,
}

/// Storage of large values. Identical bytes are stored once.
#[async_trait]
pub trait Objects: Send + Sync + 'static {
    /// Stores bytes durably and returns their SHA-256 in lower-case hex. Rewrites a value that is
    /// older than [`RENEWED_AFTER`].
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError>;
    /// Returns the value of that name, after checking its digest.
    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError>;
    /// Lists every stored value with a well-formed name, without its bytes. Needs about 150 bytes
    /// of memory for each.
    async fn list(&self) -> Result<Vec<Kept>, ObjectError>;
    /// Removes one version of a value. Later versions remain.
    async fn remove(&self, seen: &Kept) -> Result<(), ObjectError>;
}

/// `true` if the text is 64 lower-case hex digits.
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.len() == 64 && text.as_bytes().iter().all(is_hex)
}

/// Returns every run of 64 lower-case hex digits in a stored record. Every reference to a large
/// value contains its name, in records of every version of Callboard.
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
