//! The work of a workflow's visit: a question or a pause in place of a command, and its end.

use jiff::Timestamp;
use proto::{
    id::{AskId, TimerName, ToolName, WorkId},
    interaction::Field,
    retry::RetryPolicy,
};
use serde_json::Value;

/// The settings of a visit that differ from those of the job's agent.
#[derive(Debug, Clone, Default)]
pub(super) struct VisitRules {
    /// Retries of a call; the agent's when absent.
    pub(super) retry: Option<RetryPolicy>,
    /// System prompt of a model turn.
    pub(super) system: Option<String>,
    /// Name of the model.
    pub(super) model: Option<String>,
    /// JSON Schema of a model's reply.
    pub(super) reply: Option<Value>,
    /// Tools that a model may call. An empty list for a turn without tools.
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

/// A pause that is a whole step.
#[derive(Debug, Clone)]
pub(super) struct Sleep {
    pub(super) work: WorkId,
    pub(super) until: Timestamp,
    /// Timer of the pause, once it is stored.
    pub(super) timer: Option<TimerName>,
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
