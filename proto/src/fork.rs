//! The origin of a forked job, with the records of the original job up to the fork. The fork's
//! first record holds them, so the fork stays complete when the original job is purged.

mod read;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{JobId, Seq};

/// The offset that each fork adds to the positions of the records that it copies. No stream ever
/// has so many records.
const LEVEL: u64 = 1 << 48;

/// Maximum depth of forks of forks; deeper ones are refused.
pub const DEPTH_MAX: u64 = 8;

/// The origin of a forked job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Forked {
    /// Job that was forked.
    pub job: JobId,
    /// Last record of that job that the fork includes.
    pub seq: Seq,
    /// Log of that job up to `seq`.
    pub records: Vec<ForkedRecord>,
}

/// A record of the original job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ForkedRecord {
    /// Position in the original job's log.
    pub seq: Seq,
    /// Server time of the write.
    pub time: Timestamp,
    /// Family of the subject: `in.crew`, `do.call.builtin`.
    pub family: String,
    /// JSON of the record.
    pub record: Value,
}

impl Seq {
    /// Returns this position as a fork refers to it. It differs from every position of the fork's
    /// own log.
    #[must_use]
    pub fn taken_along(self) -> Self {
        Self(self.0.saturating_add(LEVEL))
    }

    /// Returns the number of forks between the record at this position and the job that refers to
    /// it.
    #[must_use]
    pub fn forks(self) -> u64 {
        self.0 / LEVEL
    }

    /// Returns a position that `record` refers to, as the job that copied `record` refers to it.
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
