//! Access to a job's questions, for code that shows them to users and checks answers.

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

use super::state::{ActiveJob, AskState, AskedQuestion, Job};

/// The status of a question, for a user who wants to answer it.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionStatus<'a> {
    /// The question waits for a person.
    Open {
        /// The question as it was stored.
        question: &'a Question,
        /// Time of storage, by the server's clock.
        asked: Timestamp,
    },
    /// The question has been answered.
    Answered {
        /// The first valid answer.
        winner: &'a Arc<Answered>,
        /// Position of the answer.
        seq: Seq,
    },
    /// The question closed without an answer.
    Closed {
        /// The reason for which it closed.
        because: Closed,
    },
}

impl Job {
    /// Returns the status of a question, or `None` if it was never asked.
    #[must_use]
    pub fn question(&self, ask: &AskId) -> Option<QuestionStatus<'_>> {
        let open = self.open.as_ref()?;
        open.questions.get(ask).map(|asking| asking.status(open))
    }

    /// Returns the position of the last fact on `in.people`, counted or not. An answer is stored
    /// only right after it.
    #[must_use]
    pub fn last_answer(&self) -> Seq {
        self.last_answer
    }

    /// Returns the goal, or an empty string if the job was never submitted.
    #[must_use]
    pub fn goal(&self) -> &str {
        self.open.as_ref().map_or("", |open| &open.brief.goal)
    }

    /// Returns the language in which users are addressed.
    #[must_use]
    pub fn language(&self) -> Language {
        self.open.as_ref().map_or_else(Language::default, |open| open.language())
    }

    /// Returns the agent with its policies, or `None` if the job was never submitted.
    #[must_use]
    pub fn agent(&self) -> Option<&Agent> {
        self.open.as_ref().map(|open| &open.brief.agent)
    }
}

impl ActiveJob {
    /// Returns `true` if the job is being canceled or its outcome is settled, so that it asks
    /// nothing more.
    fn only_ends(&self) -> bool {
        self.steering.canceled().is_some()
            || self.family.concluded().is_some()
            || self.outcome().is_some()
    }
}

impl AskedQuestion {
    fn status(&self, open: &ActiveJob) -> QuestionStatus<'_> {
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
