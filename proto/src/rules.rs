//! The versions of the rules by which a log is folded. A job keeps the version of its submission, so
//! that a change of the rules after the first release affects new jobs only.

use derive_more::Display;
use serde::{Deserialize, Serialize};

/// A version of the fold's rules.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display,
)]
#[serde(transparent)]
pub struct Rules(u32);

impl Rules {
    /// The rules of new jobs. Logs that name an earlier version, or none, were written before the
    /// first release and fold in the same way.
    pub const NOW: Self = Self(1);

    /// Returns whether this version of Callboard knows the rules. It cannot fold a job under newer
    /// rules.
    #[must_use]
    pub fn are_known(self) -> bool {
        self <= Self::NOW
    }
}
