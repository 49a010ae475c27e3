//! Bars of a job's history: when the job, its steps, model turns, calls and their attempts began and
//! ended, and when they waited. A pure function of the job's events.
//!
//! Events can be taken one by one, as a watch delivers them. A bar keeps its number, and only its end
//! changes afterwards, so a screen can draw what it has at any moment.

mod builder;
mod tree;

use jiff::Timestamp;
use proto::{
    event::{Event, EventId},
    id::{StepId, WorkId},
};
use serde::{Deserialize, Serialize};

pub use self::{
    builder::Spans,
    tree::{Branch, tree},
};

/// Number of a bar: its place in the list, from 0. A bar always follows its parent.
pub type SpanId = usize;

/// A bar.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// Number of the bar.
    pub id: SpanId,
    /// Bar that this one lies within; absent for the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SpanId>,
    /// Kind of the bar.
    pub kind: SpanKind,
    /// Text from the job for screens: a goal, a step's label, a tool or a question. Empty where the
    /// kind says it all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Step that the bar belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Unit of work of a turn, a call and their attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<WorkId>,
    /// Number of an attempt, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Begin of the bar.
    pub begin: Timestamp,
    /// End of the bar; absent while it grows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
    /// Condition at the end, or now.
    pub state: SpanState,
    /// Event at which the bar began.
    pub event: EventId,
    /// `true` if a rollback took the begin of the bar out of the job's history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub taken_out: bool,
}

/// The kinds of bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum SpanKind {
    /// The job. A job that is rolled back after its end goes on in the same bar.
    Job,
    /// A step, over its runs. A step that a rollback lets run again has another bar.
    Step,
    /// A model turn of a step, or a round of planning, over its attempts.
    Turn,
    /// A tool call, over its attempts.
    Call,
    /// One of several attempts at a turn, a call or a step.
    Attempt,
    /// The bar around it waits: for a person, for a timer, or because the job is paused.
    Waiting,
    /// The bar around it is queued for a worker.
    Queue,
}

/// The conditions of a bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum SpanState {
    /// It has not ended.
    Open,
    /// It ended as intended.
    Done,
    /// It ended with an error.
    Failed,
    /// It was ended by the end of the job, a rollback or a later plan.
    Canceled,
}

impl SpanKind {
    /// All kinds.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the word in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl SpanState {
    /// Returns the word in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Returns the bars of a job's events, each after its parent.
pub fn spans<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Span> {
    let mut spans = Spans::default();
    events.into_iter().for_each(|event| spans.take(event));
    spans.into_list()
}

#[cfg(test)]
mod tests;
