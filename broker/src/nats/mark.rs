//! The mark of a stored message: a header with the subject on which its writer published it.
//!
//! A sender can make the server write in its own name, with the reply subject of a request. Such an
//! answer has no mark, or, as a copy of another message, the mark of another subject. It is not
//! trusted: a message without its mark does not exist for readers. The mark is no protection against
//! a writer who lies; the broker's permissions are.
//!
//! Installations of older releases hold messages without a mark. Their marker names the position in
//! each stream up to which such messages count.

use std::collections::BTreeMap;

use async_nats::HeaderMap;
use proto::id::Seq;

use super::publish;

/// The header of the mark.
const MARK: &str = "Callboard-Subject";

/// The last position in each stream up to which a message without a mark counts.
pub(super) type UnmarkedUntil = BTreeMap<String, Seq>;

/// Marks a message for the subject that will store it.
pub(super) fn mark(headers: &mut HeaderMap, subject: &str) {
    headers.insert(MARK, publish::plain(subject));
}

/// `true` if the message was published on this subject by a writer that marks its messages.
pub(super) fn is_marked(headers: &HeaderMap, subject: &str) -> bool {
    headers.get_last(MARK).is_some_and(|marked| marked.as_str() == subject)
}

/// `true` if the headers contain a mark, of whichever subject.
pub(super) fn has_mark(headers: &HeaderMap) -> bool {
    headers.get(MARK).is_some()
}
