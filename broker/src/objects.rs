//! Large values, named by their SHA-256: what is too large to travel travels as a reference.
//!
//! A value is stored once, however many refer to it, so that nobody who ends may take it away. What
//! nobody refers to any more is collected from outside: whoever does that lists what is there, looks
//! who refers to it, and removes what was seen. That is safe beside writers because a value that is
//! older than [`RENEWED_AFTER`] is stored anew by whoever stores it again, and what is stored anew is
//! not what was seen.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use proto::id::Seq;

/// A value that is there and older than this is stored anew when it is stored again. Whoever collects
/// values must leave alone those that are not much older.
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

/// A value that is stored, as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Its name: SHA-256 in lower-case hex.
    pub sha256: String,
    /// Its size, in bytes.
    pub bytes: u64,
    /// How long ago the newest part of it was stored, by the clock of whoever keeps it.
    pub age: Duration,
    /// Where the newest part of it is.
    pub until: Seq,
}

/// Large values. Writing the same bytes twice stores them once.
#[async_trait]
pub trait Objects: Send + Sync + 'static {
    /// Stores bytes and gives their SHA-256 in lower-case hex. They are kept once this returns. What
    /// is there already and older than [`RENEWED_AFTER`] is stored anew.
    async fn put(&self, bytes: Bytes) -> Result<String, ObjectError>;
    /// The bytes of that name, checked against it.
    async fn get(&self, sha256: &str) -> Result<Bytes, ObjectError>;
    /// Every value that is there under a name of the form, without its bytes. Takes memory for each, about 150 bytes.
    async fn list(&self) -> Result<Vec<Kept>, ObjectError>;
    /// Removes a value as it was seen: what was stored of it since stays.
    async fn remove(&self, seen: &Kept) -> Result<(), ObjectError>;
}

/// Whether this has the form of a name.
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.len() == 64 && text.as_bytes().iter().all(is_hex)
}

/// Every run of 64 lower-case hex digits in what is stored of a record: whatever it says, and whatever
/// version of Callboard wrote it, a reference to a large value has its name in it.
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
