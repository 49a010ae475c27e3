//! Notices of the machine to a model, beside its task: repeated failures, loops without progress, a
//! budget that is nearly used up. A command stores its notices; the prompt has them in the job's
//! language.

use serde::{Deserialize, Serialize};

use crate::{budget::Gauge, lang::Language};

messages::texts!(notice);

/// A notice that the model receives and that users see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    /// A tool failed repeatedly.
    ToolFailure {
        /// Name of the tool, as the model wrote it.
        tool: String,
        /// Number of consecutive failures.
        times: u32,
    },
    /// A tool was called repeatedly with the same arguments.
    Repeated {
        /// Name of the tool, as the model wrote it.
        tool: String,
        /// Number of turns with the call.
        times: u32,
        /// `true` if the model must now end the step.
        must_answer: bool,
    },
    /// Turns, or rounds of planning, made no progress.
    NoProgress {
        /// Number of turns or rounds.
        turns: u32,
    },
    /// The model called tools although it had to end the step.
    NoAnswer,
    /// A limit of the budget is nearly reached.
    BudgetLow {
        /// Axis of the budget, with its figures.
        #[serde(flatten)]
        gauge: Gauge,
    },
}

impl Notice {
    /// Returns the text of the notice in `language`.
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
