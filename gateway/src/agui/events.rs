//! The events of an AG-UI run, as AG-UI 1.0 spells them. Pure.

use serde::Serialize;
use serde_json::{Map, Value};

/// The version of the protocol.
pub(super) const PROTOCOL_VERSION: &str = "1.0";

/// The type of the activity that shows a plan.
pub(super) const PLAN: &str = "PLAN";

/// An event of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub(super) enum RunEvent {
    /// The run begins. Every other event follows it.
    RunStarted { thread_id: String, run_id: String, protocol_version: &'static str },
    /// The run has ended without an error.
    RunFinished {
        thread_id: String,
        run_id: String,
        /// The answer of a completed job.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<Value>,
        outcome: RunOutcome,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        usage: Vec<TokenUsage>,
    },
    /// The run has failed.
    RunError {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<String>,
    },
    /// A step of the plan runs.
    StepStarted { step_name: String },
    /// A step of the plan runs no longer.
    StepFinished { step_name: String },
    /// A message of the agent begins.
    TextMessageStart { message_id: String, role: &'static str },
    /// A part of its text.
    TextMessageContent { message_id: String, delta: String },
    /// The message ends.
    TextMessageEnd { message_id: String },
    /// A thought begins.
    ReasoningStart { message_id: String },
    /// The message of the thought begins.
    ReasoningMessageStart { message_id: String, role: &'static str },
    /// A part of its text.
    ReasoningMessageContent { message_id: String, delta: String },
    /// The message of the thought ends.
    ReasoningMessageEnd { message_id: String },
    /// The thought ends.
    ReasoningEnd { message_id: String },
    /// A tool call begins.
    ToolCallStart { tool_call_id: String, tool_call_name: String },
    /// The arguments of the call.
    ToolCallArgs { tool_call_id: String, delta: String },
    /// The arguments are complete.
    ToolCallEnd { tool_call_id: String },
    /// The outcome of the call.
    ToolCallResult { message_id: String, tool_call_id: String, content: String, role: &'static str },
    /// The state of the thread.
    StateSnapshot { snapshot: Map<String, Value> },
    /// The plan.
    ActivitySnapshot {
        message_id: String,
        activity_type: &'static str,
        content: Value,
        replace: bool,
    },
    /// A change of the plan.
    ActivityDelta { message_id: String, activity_type: &'static str, patch: Vec<Patch> },
}

/// An operation of a JSON Patch (RFC 6902).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub(super) enum Patch {
    /// Sets a member of an object, which may be there.
    Add { path: String, value: Value },
}

/// The outcome of a run that has not failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum RunOutcome {
    /// The job completed.
    Success,
    /// The job waits for a person.
    Interrupt { interrupts: Vec<Interrupt> },
    /// The job was canceled.
    Cancelled,
}

/// An open question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Interrupt {
    pub(super) id: String,
    pub(super) reason: &'static str,
    pub(super) message: String,
    pub(super) response_schema: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<String>,
    pub(super) metadata: Value,
}

/// The tokens of the model calls that a run shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
}

/// An event with the time of its record, in milliseconds since the Unix epoch.
#[derive(Debug, Serialize)]
pub(super) struct Stamped<'a> {
    #[serde(flatten)]
    pub(super) event: &'a RunEvent,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<i64>,
}
