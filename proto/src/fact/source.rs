//! The sources of facts.

use serde::{Deserialize, Serialize};

/// The source of a fact: the last token of its subject, so that broker permissions can restrict it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray, strum::Display, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Source {
    /// Submissions, signals and messages between jobs, appended by the front door and the
    /// supervisors.
    Door,
    /// Results of planners, executors and tool workers, and intents to run `once` tools.
    Crew,
    /// Answers of users, appended by the interaction actor.
    People,
    /// Expired timers, appended by the broker's scheduler.
    Clock,
}

impl Source {
    /// Every source.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the token in subjects.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
