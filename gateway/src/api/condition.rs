//! Tags of revisions, and `If-Match`: a request that counts only for what its sender saw.

use axum::{
    Json,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use proto::error::{Code, Failure};
use serde::Serialize;

use super::body::{Answered, reply};
use crate::{caller::Caller, problem::Problem, words::Text};

/// Reads one tag of the form that a `GET` of the same thing returns. `why` says which that is.
pub(super) fn tag<T>(
    caller: &Caller,
    headers: &HeaderMap,
    read: impl Fn(&str) -> Option<T>,
    why: Text<'_>,
) -> Result<Option<T>, Problem> {
    let mut tags = headers.get_all(header::IF_MATCH).iter();
    let (tag, more) = (tags.next(), tags.next());
    let Some(tag) = tag else { return Ok(None) };
    let tag = tag.to_str().ok().filter(|_| more.is_none());
    match tag.and_then(|tag| read(tag.trim().strip_prefix('"')?.strip_suffix('"')?)) {
        Some(seen) => Ok(Some(seen)),
        None => Err(caller.wrong_field("If-Match", &why.into())),
    }
}

/// Reads the revision that a `GET` of an agent or a workflow gives as its tag.
pub(super) fn revision(caller: &Caller, headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    tag(caller, headers, |tag| tag.parse().ok(), Text::RevisionTag)
}

/// Returns a reply with the revision of its value as the tag; 0 for a value that a bucket lacks.
pub(super) fn tagged<T: Serialize>(revision: Option<u64>, body: T) -> Response {
    let tag = [(header::ETAG, format!("\"{}\"", revision.unwrap_or_default()))];
    (tag, Json(body)).into_response()
}

/// Returns the reply; a condition that did not hold has a status of its own.
pub(super) fn reply_if<T: Serialize>(
    caller: &Caller,
    is_conditional: bool,
    replied: Result<T, Failure>,
) -> Answered {
    match replied {
        Err(failure) if failure.code == Code::Stale && is_conditional => {
            Err(caller.refused(failure).with_status(StatusCode::PRECONDITION_FAILED))
        }
        replied => reply(caller, replied),
    }
}
