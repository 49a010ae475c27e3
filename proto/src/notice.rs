//! Notices of the machine about work that goes wrong: repeated failures, loops without progress, a
//! budget that is nearly used up. A command stores its notices; the prompt has them in the job's
//! language, and users see them wherever they see the job.

use serde::{Deserialize, Serialize};

use crate::{budget::Gauge, lang::Language};

messages::texts!(notice);

/// A notice that the model receives and that users see.
#[derive(
    Debug, Clone, PartialEq, Serialize, Deserialize, strum::EnumDiscriminants, schemars::JsonSchema,
)]
#[serde(tag = "type", rename_all = "snake_case")]
#[strum_discriminants(name(NoticeKind))]
#[strum_discriminants(doc = "The kind of a [`Notice`].")]
#[strum_discriminants(derive(PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr))]
#[strum_discriminants(derive(schemars::JsonSchema))]
#[strum_discriminants(serde(rename_all = "snake_case"))]
#[strum_discriminants(strum(serialize_all = "snake_case"))]
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
    /// Returns the kind of the notice.
    #[must_use]
    pub fn kind(&self) -> NoticeKind {
        self.into()
    }

    /// Returns `true` if the other notice says the same of the same tool or limit, whatever the
    /// figures.
    #[must_use]
    pub fn repeats(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::ToolFailure { tool: a, .. }, Self::ToolFailure { tool: b, .. })
            | (Self::Repeated { tool: a, .. }, Self::Repeated { tool: b, .. }) => a == b,
            (Self::BudgetLow { gauge: a }, Self::BudgetLow { gauge: b }) => a.axis == b.axis,
            (
                Self::ToolFailure { .. }
                | Self::Repeated { .. }
                | Self::NoProgress { .. }
                | Self::NoAnswer
                | Self::BudgetLow { .. },
                _,
            ) => self.kind() == other.kind(),
        }
    }

    /// Returns the notice in the words for users.
    #[must_use]
    pub fn told(&self, language: Language) -> String {
        let text = match self {
            Self::ToolFailure { tool, times } => Text::ToldToolFailure { tool, times },
            Self::Repeated { tool, times, must_answer: _ } => Text::ToldRepeated { tool, times },
            Self::BudgetLow { gauge } => {
                return Text::ToldBudgetLow { figures: &gauge.text(language) }.text(language);
            }
            Self::NoProgress { .. } | Self::NoAnswer => return self.text(language),
        };
        text.text(language)
    }

    /// Returns the text of the notice for a model, in `language`.
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

impl NoticeKind {
    /// Returns the word in JSON and on screens.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
