//! What the machine has to say to a model beside its task: that a tool keeps failing, that it goes
//! round in circles, that something runs out. Stored with the command, told in the job's language.

use serde::{Deserialize, Serialize};

use crate::{budget::Gauge, lang::Language};

messages::texts!(notice);

/// Something a model is told, and people see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    /// A tool failed again and again.
    ToolFailure {
        /// The name as the model wrote it.
        tool: String,
        /// How often in a row.
        times: u32,
    },
    /// A tool was called with the same arguments again and again.
    Repeated {
        /// The name as the model wrote it.
        tool: String,
        /// In how many turns.
        times: u32,
        /// Whether nothing but an answer is taken now.
        must_answer: bool,
    },
    /// Nothing new came of some turns, or rounds of planning.
    NoProgress {
        /// How many.
        turns: u32,
    },
    /// The model called tools when nothing but an answer was wanted.
    NoAnswer,
    /// Something runs out.
    BudgetLow {
        /// What, and how far.
        #[serde(flatten)]
        gauge: Gauge,
    },
}

impl Notice {
    /// The words.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::ToolFailure { tool, times } => Text::ToolFailure { tool, times },
            Self::Repeated { tool, times, must_answer: false } => Text::Repeated { tool, times },
            Self::Repeated { tool, times, must_answer: true } => {
                Text::RepeatedAnswer { tool, times }
            }
            Self::NoProgress { turns } => Text::NoProgress { turns },
            Self::NoAnswer => Text::NoAnswer,
            Self::BudgetLow { gauge } => {
                return Text::BudgetLow { figures: &gauge.text(language) }.text(language);
            }
        };
        text.text(language)
    }
}
