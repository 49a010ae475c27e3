//! A record as bytes: what is too large to travel goes to the object store and travels as a
//! reference (claim check). The one place where records are encoded and decoded, on every broker.
//!
//! It must never lose a field it does not know, and must never call a record damaged because the
//! object store could not be reached for a moment: that would park a healthy job.

use bytes::Bytes;
use proto::{
    limits,
    record::{Body, BodyRef, Record, Unreadable},
};
use serde_json::value::RawValue;

use super::LogError;
use crate::objects::{ObjectError, Objects};

/// The bytes that are stored for a record. A body above [`limits::INLINE_BYTES_MAX`] bytes is in
/// the object store once this returns.
///
/// # Errors
/// When the object store cannot be reached or is full.
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

/// The record stored as these bytes, with its body. The inner result never changes: a record that
/// cannot be read now cannot be read later.
///
/// # Errors
/// When the object store could not be reached. The record may be well: try again.
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

/// The name of the body, of a stored submission that is too large to travel.
pub(super) fn submission(payload: &[u8]) -> Option<String> {
    let record = Record::from_slice(payload).ok()?;
    match record.body {
        Body::Stored(reference) if record.kind == "submitted" => Some(reference.sha256),
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
