//! Tools: their announcements, their results and their faults.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    id::{Pool, ToolName},
    lang::Language,
    strict::is_deep,
    work_error::ErrorClass,
};

/// The effect class of a tool: the consequence of running a call more than once.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Effect {
    /// The call changes nothing and may run any number of times.
    Pure,
    /// The call has an effect, and repetitions under the same idempotency key have no further
    /// effect.
    Idempotent,
    /// The call must not run twice. An interrupted call is reported as `unknown` and is never
    /// retried automatically.
    Once,
}

impl Effect {
    /// Returns the word in records.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The need for an approval before a tool runs.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Calls run without an approval.
    #[default]
    Never,
    /// A user approves every call and sees its complete arguments.
    Always,
}

/// A tool, as its worker announces it to the registry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolSpec {
    /// Name in plans and models' calls.
    pub name: ToolName,
    /// Description for models and users.
    pub description: String,
    /// JSON Schema of the arguments. Remote references are never fetched.
    pub schema: Value,
    /// Effect class of the tool.
    pub effect: Effect,
    /// Pool of the workers that run the tool: the last token of `do.call.<pool>`.
    pub pool: Pool,
    /// Maximum run time of one call, in milliseconds (1 to 86,400,000).
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    /// Maximum number of concurrent calls of one worker.
    #[serde(default = "default_concurrency")]
    pub concurrency: u32,
    /// Need for an approval.
    #[serde(default)]
    pub approval: Approval,
    /// `true` if a call removes or overwrites something, such as a task or a file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub destructive: bool,
    /// `true` if results hold content from outside, such as a web page. A job that has seen such a
    /// result is marked, and its agent's policy may narrow the calls that follow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Version of the tool. An approval is bound to it.
    #[serde(default = "default_version")]
    pub version: String,
    /// Slash commands that call the tool, besides its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<SlashCommand>,
    /// Texts in further languages, by the language's code. Jobs in one of these languages show them
    /// to their models. A code that Callboard has no language for is kept and never read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub translations: BTreeMap<String, Translation>,
}

/// The texts of a tool in one language.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Translation {
    /// Description for models and users.
    pub description: String,
    /// Descriptions of arguments, by name. An argument without one keeps that of the schema.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
}

/// A slash command: a word that calls a tool in a conversation, without a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SlashCommand {
    /// Word after the slash.
    pub name: ToolName,
    /// Words, in lower case, of which one must follow the name. Without any, every text fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Description, in one line.
    pub about: String,
    /// Description in further languages, by the language's code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub about_in: BTreeMap<String, String>,
    /// Argument that receives the text after the word. Without this field, only a JSON object with
    /// the arguments may follow the word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// `true` if that argument receives the whole line, with the slash and the word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
    /// Rule that passes the last part of the text to another argument.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split: Option<Split>,
}

impl SlashCommand {
    /// Returns the description in a language, or the usual one if that language has none.
    #[must_use]
    pub fn about(&self, language: Language) -> &str {
        self.about_in.get(language.code()).unwrap_or(&self.about)
    }
}

/// The rule that splits the text of a slash command at the last of some words that has text on both
/// sides. The text after that word belongs to another argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Split {
    /// Argument for the text after the word.
    pub argument: String,
    /// Words to split at, in lower case.
    pub after: Vec<String>,
}

impl Split {
    /// Returns the text before and after the word, or `None` when no such word has text on both
    /// sides.
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

/// The properties of a tool that the job machine needs. A plan or turn freezes them, so a later
/// change of the tool does not change an earlier decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Binding {
    /// Pool of the workers that run the tool.
    pub pool: Pool,
    /// Effect class of the tool.
    pub effect: Effect,
    /// The need for an approval.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub approval: Approval,
    /// `true` if a call removes or overwrites something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub destructive: bool,
    /// `true` if results hold content from outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Version that the planner or the model saw.
    pub version: String,
}

impl ToolSpec {
    /// Returns the tool with the texts of a language, as far as the tool has them.
    #[must_use]
    pub fn in_language(&self, language: Language) -> Cow<'_, Self> {
        let Some(Translation { description, arguments }) = self.translations.get(language.code())
        else {
            return Cow::Borrowed(self);
        };
        let mut tool = Self { description: description.clone(), ..self.clone() };
        for (name, text) in arguments {
            let schema = tool.schema.get_mut("properties").and_then(|all| all.get_mut(name));
            if let Some(Value::Object(argument)) = schema {
                argument.insert("description".to_owned(), json!(text));
            }
        }
        Cow::Owned(tool)
    }

    /// Returns the properties that a plan or turn freezes.
    #[must_use]
    pub fn binding(&self) -> Binding {
        Binding {
            pool: self.pool.clone(),
            effect: self.effect,
            approval: self.approval,
            destructive: self.destructive,
            untrusted: self.untrusted,
            version: self.version.clone(),
        }
    }
}

/// The result of a tool call, with the same four fields for every tool and language.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolResult {
    /// `true` if the tool did its work.
    pub success: bool,
    /// Value that the tool returned. Placeholders such as `{{step1.id}}` read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Error, with a hint to its remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Description of the outcome, for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ToolResult {
    /// Creates a success with data.
    #[must_use]
    pub fn ok(data: Value) -> Self {
        Self { success: true, data: Some(data), error: None, message: None }
    }

    /// Creates a failure with its error.
    #[must_use]
    pub fn failed(error: impl Into<String>) -> Self {
        Self { success: false, data: None, error: Some(error.into()), message: None }
    }

    /// Sets the description for users.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }

    /// Returns the result in a form that fits into further records. Data that is nested deeper than
    /// [`limits::JSON_DEPTH_MAX`](crate::limits::JSON_DEPTH_MAX) becomes its JSON text, because a
    /// record that holds it some levels further down could not be read again.
    #[must_use]
    pub fn flattened(mut self) -> Self {
        if self.data.as_ref().is_some_and(is_deep) {
            self.data = self.data.map(|data| Value::String(data.to_string()));
        }
        self
    }

    /// Returns the value for later steps: the data, or the whole result when it has no data.
    #[must_use]
    pub fn value(&self) -> Value {
        self.data.clone().unwrap_or_else(|| serde_json::to_value(self).unwrap_or(Value::Null))
    }
}

/// The fault of a call that has no result of the tool's own.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Fault {
    /// The arguments do not fit the tool's schema, so a retry cannot help.
    InvalidArguments,
    /// The worker does not have the tool.
    UnknownTool,
    /// The worker's version of the tool is not the planned or approved one.
    VersionMismatch,
    /// The call exceeded its run time.
    Timeout,
    /// A service that the tool needs is unavailable for the moment. Nothing was done.
    Unavailable,
    /// Several workers died while they ran the call.
    WorkerLost,
    /// The tool failed because of an error of its own.
    Internal,
    /// A call of a `once` tool was interrupted: it may or may not have had its effect.
    Unknown,
}

impl Fault {
    /// Returns the word in records and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the prospects of another attempt without a change of the call or the tool.
    #[must_use]
    pub fn class(self) -> ErrorClass {
        match self {
            Self::Timeout | Self::Unavailable | Self::WorkerLost | Self::Internal => {
                ErrorClass::Transient
            }
            Self::InvalidArguments | Self::UnknownTool | Self::VersionMismatch | Self::Unknown => {
                ErrorClass::Permanent
            }
        }
    }
}
