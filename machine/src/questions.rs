//! The questions of a job, for those who show them to people and check answers.

use std::sync::Arc;

use jiff::Timestamp;
use proto::{
    agent::Agent,
    decision::Closed,
    fact::Answered,
    id::{AskId, Seq},
    interaction::Question,
    lang::Language,
};

use super::state::{AskState, Asking, Job, Open};

/// The status of a question for a person who wants to answer it.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionStatus<'a> {
    /// It waits for a person.
    Open {
        /// The question.
        question: &'a Question,
        /// When it was stored, by the server's clock.
        asked: Timestamp,
    },
    /// It has an answer.
    Answered {
        /// The first valid one.
        winner: &'a Arc<Answered>,
        /// Its position.
        seq: Seq,
    },
    /// It closed without one.
    Closed {
        /// The reason.
        because: Closed,
    },
}

impl Job {
    /// The status of a question; nothing when it was never asked.
    #[must_use]
    pub fn question(&self, ask: &AskId) -> Option<QuestionStatus<'_>> {
        let open = self.open.as_ref()?;
        open.questions.get(ask).map(|asking| asking.status(open))
    }

    /// The last fact from a person, whether it counts or not; an answer is stored only right after it.
    #[must_use]
    pub fn last_answer(&self) -> Seq {
        self.last_answer
    }

    /// The goal; empty when the job was never submitted.
    #[must_use]
    pub fn goal(&self) -> &str {
        self.open.as_ref().map_or("", |open| &open.brief.goal)
    }

    /// The language in which people are answered.
    #[must_use]
    pub fn language(&self) -> Language {
        self.open.as_ref().map_or_else(Language::default, |open| open.brief.language)
    }

    /// The agent with its policies; nothing when the job was never submitted.
    #[must_use]
    pub fn agent(&self) -> Option<&Agent> {
        self.open.as_ref().map(|open| &open.brief.agent)
    }
}

impl Open {
    /// Whether the job is being canceled or its outcome is settled: nothing is asked any more.
    fn only_ends(&self) -> bool {
        self.steering.canceled().is_some()
            || self.family.concluded().is_some()
            || self.outcome().is_some()
    }
}

impl Asking {
    fn status(&self, open: &Open) -> QuestionStatus<'_> {
        match self.state() {
            AskState::Open if open.only_ends() => {
                QuestionStatus::Closed { because: Closed::JobEnded }
            }
            AskState::Open => QuestionStatus::Open { question: &self.question, asked: self.asked },
            AskState::Answered { winner, seq } => QuestionStatus::Answered { winner, seq: *seq },
            AskState::ToClose(because) | AskState::Closed(because) => {
                QuestionStatus::Closed { because: *because }
            }
        }
    }
}
