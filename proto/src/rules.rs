//! The versions of the rules by which a log is folded. A job keeps the version of its submission, so
//! that a change of the rules after the first release affects new jobs only.

use derive_more::Display;
use serde::{Deserialize, Serialize};

/// A version of the fold's rules.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    schemars::JsonSchema,
)]
#[serde(transparent)]
pub struct Rules(u32);

impl Rules {
    /// The rules of new jobs. Logs that name version 0, or none, were written before the first
    /// release and fold as under version 1.
    pub const NOW: Self = Self(3);

    /// The rules of jobs that run a workflow. A release that cannot run one does not know them, so it
    /// reports such a job and does not take it for one with a plan.
    pub const WORKFLOWS: Self = Self(4);

    /// Returns whether this version of Callboard knows the rules. It cannot fold a job under newer
    /// rules.
    #[must_use]
    pub fn are_known(self) -> bool {
        self <= Self::WORKFLOWS
    }

    /// Returns whether a job without a plan ends with its answer, without a heading and a number.
    #[must_use]
    pub fn answer_stands_alone(self) -> bool {
        self.0 >= 2
    }

    /// Returns whether a plan of one step is confirmed in the singular.
    #[must_use]
    pub fn know_the_singular(self) -> bool {
        self.0 >= 2
    }

    /// Returns whether a replaced plan leaves the steps that began in sight, and no others.
    #[must_use]
    pub fn begun_steps_stay(self) -> bool {
        self.0 >= 2
    }

    /// Returns whether the summary of a job names its steps beside their responses.
    #[must_use]
    pub fn summaries_name_steps(self) -> bool {
        self.0 >= 3
    }

    /// Returns whether a job that completes with open items of its steps' outlines names them.
    #[must_use]
    pub fn open_items_are_told(self) -> bool {
        self.0 >= 3
    }

    /// Returns whether changes that a goal taken for simple leads to become a plan that a person
    /// confirms.
    #[must_use]
    pub fn simple_goals_confirm_changes(self) -> bool {
        self.0 >= 3
    }
}
