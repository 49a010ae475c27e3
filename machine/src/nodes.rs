//! The parts of a workflow's visit that a step of a plan lacks: its settings, a question or a pause in
//! place of a command, and its end.

use jiff::Timestamp;
use proto::{
    decision::Wait,
    id::{AskId, Attempt, StepId, TimerName, ToolName, WorkId},
    interaction::{Field, QuestionKind},
    lang::Language,
    output::OutputSchema,
    retry::RetryPolicy,
    workflow::{EventName, WorkKind},
};
use serde_json::Value;

use super::{asking::QuestionRequest, text::Text};

/// The settings of a visit that differ from those of the job's agent.
#[derive(Debug, Clone, Default)]
pub(super) struct VisitRules {
    /// Type of the node when it was entered.
    pub(super) kind: Option<WorkKind>,
    /// Retries after transient errors; those of the agent when absent.
    pub(super) retry: Option<RetryPolicy>,
    /// System prompt of a model turn.
    pub(super) system: Option<String>,
    /// Name of the model.
    pub(super) model: Option<String>,
    /// JSON Schema of a model's reply.
    pub(super) reply: Option<OutputSchema>,
    /// Tools that a model may call.
    pub(super) tools: Option<Vec<ToolName>>,
    /// `true` if one model turn is the whole step.
    pub(super) is_one_turn: bool,
    /// `true` once the time of the visit was up.
    pub(super) timed_out: bool,
}

/// A question to a person that is a whole step.
#[derive(Debug, Clone)]
pub(super) struct Inquiry {
    pub(super) work: WorkId,
    pub(super) prompt: String,
    /// Fields of the form; none for a question that takes a text.
    pub(super) form: Vec<Field>,
    /// Time for an answer, in milliseconds; that of the agent when absent.
    pub(super) within_ms: Option<u64>,
    /// The question, once it is stored.
    pub(super) ask: Option<AskId>,
}

/// A pause, or a wait for an event, that is a whole step.
#[derive(Debug, Clone)]
pub(super) struct Sleep {
    pub(super) work: WorkId,
    /// Event that ends the step; `None` for a pause.
    pub(super) event: Option<EventName>,
    /// End of the pause or of the wait, by the server's clock. A pause has one.
    pub(super) until: Option<Timestamp>,
    /// Timer of the end, once it is stored.
    pub(super) timer: Option<TimerName>,
    /// `true` once the time for the event was up. The workflow goes on without the event then,
    /// unless one that it can receive arrived before.
    pub(super) is_late: bool,
}

/// The end of a visit's step.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum VisitEnd {
    /// The step has a result.
    Done(Value),
    /// The step failed for good.
    Failed(String),
    /// The time of the visit was up.
    TimedOut,
}

impl Inquiry {
    /// Returns the question, unless it is stored.
    pub(super) fn to_ask(&self, step: &StepId) -> Option<QuestionRequest> {
        let kind = match self.form.is_empty() {
            true => QuestionKind::Question,
            false => QuestionKind::Form { fields: self.form.clone() },
        };
        self.ask.is_none().then(|| QuestionRequest {
            work: self.work.clone(),
            prompt: self.prompt.clone(),
            kind,
            step: Some(step.clone()),
            default: None,
            within_ms: self.within_ms,
        })
    }
}

impl Sleep {
    pub(super) fn new(work: WorkId, event: Option<EventName>, until: Option<Timestamp>) -> Self {
        Self { work, event, until, timer: None, is_late: false }
    }

    /// Returns the decision to wait, unless it is stored.
    pub(super) fn to_wait(&self, timer: TimerName, language: Language) -> Option<Wait> {
        let until = self.until.filter(|_| self.timer.is_none())?;
        let reason = match &self.event {
            None => Text::Pauses.text(language),
            Some(event) => Text::AwaitsEvent { event: &event.as_str() }.text(language),
        };
        let (work, attempt) = (self.work.clone(), Attempt::FIRST);
        Some(Wait { work, attempt, until, timer, reason })
    }

    /// Returns `true` if nothing remains to be stored before the step waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.timer.is_some() || self.until.is_none()
    }
}
