//! The sources of facts.

use serde::{Deserialize, Serialize};

/// Who may append a fact: the last token of its subject, so that broker permissions can say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The front door: submissions and signals.
    Door,
    /// Workers: plans, turns and tool results.
    Crew,
    /// The interaction actor, for people.
    People,
    /// The broker's scheduler.
    Clock,
}

impl Source {
    /// All sources.
    pub const ALL: [Self; 4] = [Self::Door, Self::Crew, Self::People, Self::Clock];

    /// The token in subjects.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Door => "door",
            Self::Crew => "crew",
            Self::People => "people",
            Self::Clock => "clock",
        }
    }
}
