//! What a forked job takes with it: the records of the job it was forked from, up to the point from
//! which it goes on. They stand in its first record, so that it stays whole when the other job is
//! purged.

mod read;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{JobId, Seq};

/// What a position of a record that was taken along is moved up by, each time that it is: no stream
/// ever has so many records.
const LEVEL: u64 = 1 << 48;

/// Forks of forks: deeper ones are refused.
pub const DEPTH_MAX: u64 = 8;

/// Where a job was forked from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forked {
    /// The other job.
    pub job: JobId,
    /// The last of its records that was taken along.
    pub seq: Seq,
    /// Its log up to there.
    pub records: Vec<ForkedRecord>,
}

/// A record of another job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForkedRecord {
    /// Where it stands in that job's log.
    pub seq: Seq,
    /// When it was stored, by the server's clock.
    pub time: Timestamp,
    /// The family and kind: `in.crew`, `do.call.builtin`.
    pub family: String,
    /// The record, as it was stored.
    pub record: Value,
}

impl Seq {
    /// The name of this position of a log in a job that was forked from it: another one than any
    /// position of its own.
    #[must_use]
    pub fn taken_along(self) -> Self {
        Self(self.0.saturating_add(LEVEL))
    }

    /// How many forks lie between the record at this position and the job that names it.
    #[must_use]
    pub fn forks(self) -> u64 {
        self.0 / LEVEL
    }

    /// A position that a record names, as the job that took that record along names it.
    #[must_use]
    pub fn as_seen_from(self, record: Self) -> Self {
        Self(self.0.saturating_add(record.forks().saturating_mul(LEVEL)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_that_was_taken_along_is_none_of_the_forks_own() {
        let along = Seq(17).taken_along();
        assert_eq!((Seq(17).forks(), along.forks(), along.taken_along().forks()), (0, 1, 2));
        assert_ne!(along, Seq(17));
        assert_eq!(Seq(9).as_seen_from(along), Seq(9).taken_along());
        assert_eq!(Seq(9).as_seen_from(Seq(17)), Seq(9));
        let deepest = (0..DEPTH_MAX).fold(Seq(LEVEL - 1), |seq, _| seq.taken_along());
        assert!(deepest.0 < 1 << 53, "a number of JavaScript");
    }
}
