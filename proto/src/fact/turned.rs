//! The end of a model turn: the calls of the model, or the result of the step.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Asked;
use crate::{
    fallback::AnsweredBy,
    id::{Attempt, ToolName, WorkId},
    message::Usage,
    observe::{Shortened, Summary},
    opaque::Opaque,
    outline::OutlineChange,
    output::Misfit,
    tool::Binding,
    work_error::WorkError,
};

/// The end of a model turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Turned {
    /// Unit of work of the turn.
    pub work: WorkId,
    /// Attempt that the reply belongs to.
    pub attempt: Attempt,
    /// Content of the reply.
    pub reply: TurnReply,
    /// Tokens that the turn used.
    #[serde(default)]
    pub usage: Usage,
    /// Reasoning of the model, if its provider returns it, with its middle left out if it is long
    /// ([`crate::limits::REASONING_CHARS`]).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    /// Parts of the reply that only the same model reads, for the next turn of the run. Nobody is
    /// shown them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<Opaque>,
    /// Model that was asked in the end, when others did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered: Option<AnsweredBy>,
}

/// The content of a model turn's reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TurnReply {
    /// The model calls tools, with or without accompanying text.
    Calls {
        /// Text beside the calls.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// Calls, in the model's order.
        calls: Vec<TurnCall>,
    },
    /// The step has ended, successfully or not.
    Done {
        /// `true` if the step achieved its purpose.
        success: bool,
        /// Result, for users and for later steps.
        response: String,
        /// Files and addresses that belong to the result, at most
        /// [`crate::limits::ATTACHMENTS_MAX`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<String>,
        /// Result of the job, which fits the schema of the command; null when the command has none.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        value: Value,
    },
    /// The reply is not JSON that fits the schema of the command.
    Misfit {
        /// Reply, with its middle left out if it is long.
        text: String,
        /// Places that do not fit, at most [`crate::output::MISFITS_MAX`].
        misfits: Vec<Misfit>,
    },
    /// The conversation exceeded the model's context, and its oldest exchanges were summarised. The
    /// turn itself was not taken: its command is sent again, with the summary.
    Summarised {
        /// Replacement of the oldest exchanges.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<Summary>,
        /// Shortened versions of the previous turn's results that exceeded their bound.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        results: Vec<Shortened>,
    },
    /// The model gave no usable reply.
    Failed {
        /// Error of the model call.
        error: WorkError,
    },
}

/// A call of a model turn, resolved against the executor's tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TurnCall {
    /// Id that the model gave the call.
    pub id: String,
    /// Name of the tool, as the model wrote it.
    pub name: String,
    /// Arguments, as the model wrote them.
    pub args: Value,
    /// Resolution of the name and the arguments.
    pub target: CallTarget,
}

/// The resolution of a model's call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "target", rename_all = "snake_case")]
pub enum CallTarget {
    /// A registered tool, with arguments that fit its schema.
    Tool {
        /// Registered name of the tool.
        tool: ToolName,
        /// Registry's entry for the tool.
        binding: Binding,
    },
    /// A question to a user.
    Person {
        /// Question to ask.
        question: Asked,
    },
    /// A call that cannot run. The model receives the error.
    Refused {
        /// Error, for the model.
        error: String,
    },
    /// A change of the step's list of intended items.
    Outline {
        /// Change to apply.
        #[serde(flatten)]
        change: OutlineChange,
    },
}
