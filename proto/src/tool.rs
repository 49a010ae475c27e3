//! What a tool is, and what calling one gives.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    id::{Pool, ToolName},
    strict::is_deep,
};

/// What may happen when a call is carried out more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It changes nothing; run it as often as you like.
    Pure,
    /// It changes something, but a repeat under the same idempotency key changes it once.
    Idempotent,
    /// It must not run twice. A call that was caught in the middle is reported `unknown` and is
    /// never re-run by itself.
    Once,
}

/// Whether a person must agree before a tool runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Runs without asking.
    #[default]
    Never,
    /// Every call is approved by a person, who sees the full arguments.
    Always,
}

/// A tool as its worker announces it to the registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name plans and models use.
    pub name: ToolName,
    /// What it does, for models and people.
    pub description: String,
    /// JSON Schema of the arguments. Remote references are never fetched.
    pub schema: Value,
    /// What a repeat does.
    pub effect: Effect,
    /// Who takes its calls: the last token of `do.call.<pool>`.
    pub pool: Pool,
    /// Longest run of one call, in milliseconds (1 to 86,400,000).
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    /// Calls one worker runs at the same time.
    #[serde(default = "default_concurrency")]
    pub concurrency: u32,
    /// Whether people are asked first.
    #[serde(default)]
    pub approval: Approval,
    /// The version of the tool; part of what an approval binds.
    #[serde(default = "default_version")]
    pub version: String,
    /// Slash commands that people call it by, beside its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<SlashCommand>,
}

/// A slash command: what somebody types in a conversation to call a tool, without any model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlashCommand {
    /// The word after the slash.
    pub name: ToolName,
    /// What it does, in a line.
    pub about: String,
    /// The argument of the tool that gets what is typed after the word, which is a text. Without one
    /// nothing may follow but a JSON object with the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Whether that argument gets the whole line, with the slash and the word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// What of that text another argument gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

/// Where the text of a slash command is parted: in front of the last of some words that has others
/// before and after it. What comes after that word is another argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The argument, which is a text.
    pub argument: String,
    /// The words, in small letters.
    pub after: Vec<String>,
}

impl Split {
    /// The two parts of a text; nothing where none of the words is between others.
    #[must_use]
    pub fn parts<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let begins = |(at, c): &(usize, char)| {
            !c.is_whitespace() && text[..*at].ends_with(char::is_whitespace)
        };
        text.char_indices().rev().filter(begins).find_map(|(at, _)| {
            let (before, rest) = text.split_at(at);
            let (word, after) = rest.split_once(char::is_whitespace)?;
            let is_one = self.after.contains(&word.to_lowercase());
            let (before, after) = (before.trim(), after.trim());
            (is_one && !before.is_empty() && !after.is_empty()).then_some((before, after))
        })
    }
}

fn default_timeout_ms() -> u64 {
    60_000
}

fn default_concurrency() -> u32 {
    16
}

fn default_version() -> String {
    "1".to_owned()
}

/// What the job machine must know of a tool, frozen into the plan or turn that calls it, so that a
/// tool changed later does not change a decision made before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Who takes the call.
    pub pool: Pool,
    /// What a repeat does.
    pub effect: Effect,
    /// Whether people are asked first.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub approval: Approval,
    /// The version the caller saw.
    pub version: String,
}

impl ToolSpec {
    /// The part of the announcement that a plan or turn freezes.
    #[must_use]
    pub fn binding(&self) -> Binding {
        Binding {
            pool: self.pool.clone(),
            effect: self.effect,
            approval: self.approval,
            version: self.version.clone(),
        }
    }
}

/// What a tool answers. The same four fields for every tool, in every language.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Whether the tool did what it was asked.
    pub success: bool,
    /// What it produced. Placeholders such as `{{step1.id}}` read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Why it did not, in words a person can act upon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What happened, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ToolResult {
    /// A success with data.
    #[must_use]
    pub fn ok(data: Value) -> Self {
        Self { success: true, data: Some(data), error: None, message: None }
    }

    /// A failure with its reason.
    #[must_use]
    pub fn failed(error: impl Into<String>) -> Self {
        Self { success: false, data: None, error: Some(error.into()), message: None }
    }

    /// Adds words for people.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// The result as it can be written into further records: data that is nested deeper than
    /// [`limits::JSON_DEPTH_MAX`](crate::limits::JSON_DEPTH_MAX) is given as its JSON text, because
    /// a record that holds it once more a few levels down could not be read again.
    #[must_use]
    pub fn flattened(mut self) -> Self {
        if self.data.as_ref().is_some_and(is_deep) {
            self.data = self.data.map(|data| Value::String(data.to_string()));
        }
        self
    }

    /// What later steps see of this result: the data, or the whole result without data.
    #[must_use]
    pub fn value(&self) -> Value {
        self.data.clone().unwrap_or_else(|| serde_json::to_value(self).unwrap_or(Value::Null))
    }
}

/// Why a call gave no answer of the tool's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The arguments do not fit the tool's schema. Asking again will not help.
    InvalidArguments,
    /// No such tool here.
    UnknownTool,
    /// The tool a worker has is not the one that was planned or approved.
    VersionMismatch,
    /// It did not finish in time.
    Timeout,
    /// Something it needs is not there; later it may be.
    Unavailable,
    /// The workers that took it died, several times.
    WorkerLost,
    /// The tool broke.
    Internal,
    /// A `once` tool was caught in the middle: it may or may not have had its effect.
    Unknown,
}

impl Fault {
    /// Whether another attempt could end differently without anybody changing anything.
    #[must_use]
    pub fn is_transient(self) -> bool {
        match self {
            Self::Timeout | Self::Unavailable | Self::WorkerLost | Self::Internal => true,
            Self::InvalidArguments | Self::UnknownTool | Self::VersionMismatch | Self::Unknown => {
                false
            }
        }
    }
}
