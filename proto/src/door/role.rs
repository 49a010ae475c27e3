//! The roles of people at the front door.

use serde::{Deserialize, Serialize};

/// The role of a person at the front door.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Role {
    /// Submits jobs.
    Submit,
    /// Answers questions.
    Answer,
    /// Cancels, pauses and resumes jobs.
    Operate,
    /// Sees jobs, questions and tools.
    Read,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Submit, Self::Answer, Self::Operate, Self::Read];

    /// Its word in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
