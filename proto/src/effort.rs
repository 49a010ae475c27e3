//! The effort that a model spends on reasoning before it answers.

use serde::{Deserialize, Serialize};

/// The effort of a model's reasoning. Each provider has names of its own for some of these levels;
/// the nearest one is asked for. Providers may refuse an effort for a model that does not reason.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Effort {
    /// As little as the model can, none at all if possible.
    Minimal,
    /// Little: short tasks, quick answers.
    Low,
    /// The usual effort.
    Medium,
    /// Much: hard tasks.
    High,
    /// As much as the model can.
    Max,
}

impl Effort {
    /// Returns the word of agent files and records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
