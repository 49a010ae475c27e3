//! Encoding and decoding of records, with claim checks: a body too large to travel goes to the
//! object store, and the record carries a reference. Every broker encodes and decodes records here
//! and nowhere else.
//!
//! Decoding must not lose an unknown field. It must not call a record damaged because the object
//! store was unreachable for a moment: that would park a healthy job.

use bytes::Bytes;
use proto::{
    limits,
    record::{Body, BodyRef, Record, Unreadable},
};
use serde_json::value::RawValue;

use super::LogError;
use crate::objects::{ObjectError, Objects};

/// Encodes a record for storage. A body above [`limits::INLINE_BYTES_MAX`] bytes is in the object
/// store once this returns.
///
/// # Errors
/// [`LogError::Unavailable`] if the object store cannot be reached, [`LogError::Full`] if it is
/// full.
pub async fn encode(mut record: Record, objects: &dyn Objects) -> Result<Bytes, LogError> {
    if let Body::Inline(body) = &record.body
        && body.get().len() > limits::INLINE_BYTES_MAX
    {
        let bytes = body.get().len() as u64;
        let sha256 = objects.put(Bytes::from(body.get().to_owned())).await?;
        record.body = Body::Stored(BodyRef { sha256, bytes });
    }
    Ok(Bytes::from(record.to_vec()))
}

/// Decodes a stored record and fetches its body. The inner result is final: a record that is
/// unreadable now will not become readable later.
///
/// # Errors
/// [`LogError::Unavailable`] if the object store could not be reached. The record may be intact:
/// retry.
pub async fn decode(
    payload: &[u8],
    objects: &dyn Objects,
) -> Result<Result<Record, Unreadable>, LogError> {
    let mut record = match Record::from_slice(payload) {
        Ok(record) => record,
        Err(unreadable) => return Ok(Err(unreadable)),
    };
    if let Body::Stored(reference) = &record.body {
        let bytes = match objects.get(&reference.sha256).await {
            Ok(bytes) => bytes,
            Err(ObjectError::Missing(name)) => return Ok(Err(Unreadable::Missing(name))),
            Err(error @ (ObjectError::Unavailable(_) | ObjectError::Full(_))) => {
                return Err(LogError::Unavailable(error.to_string()));
            }
        };
        match body(reference, &bytes) {
            Ok(body) => record.body = Body::Inline(body),
            Err(unreadable) => return Ok(Err(unreadable)),
        }
    }
    Ok(Ok(record))
}

/// Returns the object name of the body of a record that may name files, if that body is in the object
/// store.
pub(super) fn body_with_files(payload: &[u8]) -> Option<String> {
    let record = Record::from_slice(payload).ok()?;
    match record.body {
        Body::Stored(reference)
            if matches!(record.kind.as_str(), "submitted" | "called" | "done") =>
        {
            Some(reference.sha256)
        }
        Body::Stored(_) | Body::Inline(_) => None,
    }
}

fn body(reference: &BodyRef, bytes: &[u8]) -> Result<Box<RawValue>, Unreadable> {
    let malformed = |why: String| {
        Unreadable::Malformed(format!("its body {} in the object store {why}", reference.sha256))
    };
    if bytes.len() as u64 != reference.bytes {
        return Err(malformed(format!("has {} bytes, not {}", bytes.len(), reference.bytes)));
    }
    serde_json::from_slice(bytes).map_err(|e| malformed(format!("is not JSON: {e}")))
}

impl From<ObjectError> for LogError {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::Unavailable(_) | ObjectError::Missing(_) => {
                Self::Unavailable(error.to_string())
            }
            ObjectError::Full(_) => Self::Full(error.to_string()),
        }
    }
}
