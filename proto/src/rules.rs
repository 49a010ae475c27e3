//! The rules by which a job's log is folded. A job keeps those it was submitted under: a log that an
//! older Callboard has written folds under a newer one as it did, and a change of what follows from
//! the same records is for new jobs alone.

use serde::{Deserialize, Serialize};

/// Which rules a job is folded by. Records of before there was a choice say nothing: theirs are the
/// first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules(u32);

impl Rules {
    /// Those of the logs that name none.
    pub const FIRST: Self = Self(0);
    /// With these
    /// * a step counts with `budget.counts: [step]` that was begun by asking a person about it;
    /// * the retries of a call that broke and those of a step whose tool said no are counted apart;
    /// * a placeholder that leads nowhere fails its step, and a backslash makes one literal;
    /// * an instruction causes a replan whatever `replan.max` says, and does not count towards it;
    /// * planning item by item may think as long as items get done;
    /// * another task that was done is progress of plans, whatever its words are;
    /// * turns of a job's child are turns of the job and no steps of its budget;
    /// * the id of a job's child says where the log of the job begins, and with it which life of its id it has;
    /// * an agent at the deepest level, or that has handed over all it may, is told so and goes on;
    /// * a job that runs out of time or of replans ends with a report, and reports say what is left where no step is.
    pub const SECOND: Self = Self(1);
    /// Those that new jobs are submitted under.
    pub const NOW: Self = Self::SECOND;

    /// Whether this Callboard knows them. A job under rules that are newer than the program cannot be
    /// folded by it.
    #[must_use]
    pub fn are_known(self) -> bool {
        self <= Self::NOW
    }
}

impl std::fmt::Display for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
