//! The versions of the rules by which a log is folded. A job keeps the version of its submission: a
//! newer Callboard folds an older log exactly as before, and changes of the rules affect new jobs
//! only.

use serde::{Deserialize, Serialize};

/// A version of the fold's rules. Records from before the versions were introduced have the first
/// one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules(u32);

impl Rules {
    /// The rules of logs that name no version.
    pub const FIRST: Self = Self(0);
    /// The second version of the rules. It differs from the first as follows:
    /// * a step that starts with a question to a user counts with `budget.counts: [step]`;
    /// * retries of a call that broke and retries of a step whose tool reported a failure are
    ///   counted apart;
    /// * a malformed placeholder that names a dependency fails its step, and `{{"{{"}}` stands for
    ///   two braces;
    /// * an instruction causes a replan regardless of `replan.max`, and does not count towards it;
    /// * a planner in phases may think as long as items get done;
    /// * a completed step with another task is progress of a plan, regardless of its result;
    /// * turns of a child are turns of the job, and not steps of its budget;
    /// * the id of a child depends on the first position of the parent's log;
    /// * an agent at the maximum depth, or without children left, is told so and continues;
    /// * a job that exceeds its deadline or its replans ends with a report, and reports list
    ///   unfinished items where there are no steps.
    pub const SECOND: Self = Self(1);
    /// The rules of new jobs.
    pub const NOW: Self = Self::SECOND;

    /// Returns whether this version of Callboard knows the rules. It cannot fold a job under newer
    /// rules.
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
