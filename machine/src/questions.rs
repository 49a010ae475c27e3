//! Access to a job's questions, for code that shows them to users and checks answers.

use std::sync::Arc;

use jiff::Timestamp;
use proto::{
    agent::Agent,
    decision::Closed,
    excerpt,
    fact::Answered,
    id::{AskId, Seq},
    interaction::{Answer, Choice, Input, Question, QuestionKind, edited},
    lang::Language,
    limits,
    view::{PastQuestion, QuestionEnd},
};
use serde_json::Value;

use super::state::{ActiveJob, AskState, AskedQuestion, Job};

/// Number of answered or closed questions that a view lists.
const PAST_SHOWN: usize = 20;

/// Characters that each end of a text of a past question keeps.
const PAST_CHARS: usize = 200;

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

impl ActiveJob {
    /// Returns the newest questions that were answered or closed, and the number of older ones.
    pub(super) fn past_questions(&self) -> (Vec<PastQuestion>, u32) {
        let past = self.questions.past_in_order();
        let older = past.len().saturating_sub(PAST_SHOWN);
        let newest = past.iter().skip(older).filter_map(|asked| asked.past()).collect();
        (newest, u32::try_from(older).unwrap_or(u32::MAX))
    }
}

impl AskedQuestion {
    /// Returns the question and its end for display, or `None` while it is open.
    fn past(&self) -> Option<PastQuestion> {
        let end = match self.state() {
            AskState::Open => return None,
            AskState::Answered { winner, seq: _ } => QuestionEnd::Answered {
                decision: winner.answer.decision,
                chosen: chosen(&self.question, &winner.answer).as_deref().map(shortened),
                text: winner.answer.text.as_deref().map(shortened),
                by: excerpt::line(&winner.by, limits::CALLER_BYTES_MAX),
            },
            AskState::ToClose(because) | AskState::Closed(because) => {
                let default = self.question.default.clone().map(Answer::respond);
                let default = default.filter(|_| *because == Closed::Expired);
                let chosen = default.and_then(|default| chosen(&self.question, &default));
                QuestionEnd::Closed { because: *because, chosen: chosen.as_deref().map(shortened) }
            }
        };
        Some(PastQuestion {
            id: self.question.id.clone(),
            kind: (&self.question.kind).into(),
            prompt: shortened(&self.question.prompt),
            step: self.question.step.clone(),
            end,
            asked: self.asked,
            ended: self.ended()?,
        })
    }

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

fn shortened(text: &str) -> String {
    excerpt::ends(text, PAST_CHARS)
}

/// Returns the value of an answer in the words of its question.
fn chosen(question: &Question, answer: &Answer) -> Option<String> {
    let value = answer.value.as_ref()?;
    match &question.kind {
        QuestionKind::ToolApproval { .. } => None,
        QuestionKind::PlanCheck { completed, .. } => {
            edited(answer, completed).ok().map(|plan| plan.title)
        }
        QuestionKind::Question => Some(plain(value)),
        QuestionKind::Choice { options, .. } => Some(labelled(options, value)),
        QuestionKind::Form { fields } => {
            let filled = fields.iter().filter_map(|field| {
                let value = value.get(&field.key)?;
                let value = match &field.input {
                    Input::Select { options, .. } => labelled(options, value),
                    Input::Text { .. } | Input::Number { .. } | Input::Boolean => plain(value),
                };
                Some(format!("{}: {value}", field.label))
            });
            Some(filled.collect::<Vec<_>>().join("; "))
        }
    }
}

/// Returns the labels of the chosen options.
fn labelled(options: &[Choice], value: &Value) -> String {
    let one = |value: &Value| {
        let option = options.iter().find(|option| *value == *option.value);
        option.and_then(|option| option.label.clone()).unwrap_or_else(|| plain(value))
    };
    match value.as_array() {
        Some(several) => several.iter().map(one).collect::<Vec<_>>().join(", "),
        None => one(value),
    }
}

/// Returns a text as it is, and any other value as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
