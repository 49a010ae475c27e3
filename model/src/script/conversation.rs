//! A request of an OpenAI-compatible client, reduced to the parts that rules and templates read.

use proto::message::Message;
use serde::Deserialize;

use super::format::RoleDoc;
use crate::{port::ModelRequest, provider::effort_level};

/// A request: the conversation so far and its settings.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) model: String,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    /// The effort of the reasoning, in the words of OpenAI.
    pub(super) effort: Option<String>,
    pub(super) tools: Vec<String>,
    pub(super) stream: bool,
    /// `true` if the client requested a final frame with the token usage.
    pub(super) include_usage: bool,
    messages: Vec<ScriptedMessage>,
}

#[derive(Debug)]
struct ScriptedMessage {
    role: RoleDoc,
    text: String,
    /// For a tool's result: name of the tool.
    tool: Option<String>,
}

impl Conversation {
    /// Parses a request body.
    pub(super) fn parse(body: &[u8]) -> Result<Self, String> {
        let body: Body = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if body.messages.is_empty() {
            return Err("messages: at least one message is needed".to_owned());
        }
        let mut called: Vec<(String, String)> = Vec::new();
        let mut messages = Vec::with_capacity(body.messages.len());
        for message in body.messages {
            for call in message.tool_calls.unwrap_or_default() {
                called.push((call.id, call.function.name));
            }
            let tool = match message.role {
                Role::Tool => {
                    let id = message.tool_call_id.as_deref().unwrap_or_default();
                    // Ids may repeat between replies: the latest call with the id is the answered
                    // one.
                    let by_id = called
                        .iter()
                        .rev()
                        .find(|(called, _)| called == id)
                        .map(|(_, name)| name.clone());
                    Some(by_id.or(message.name).unwrap_or_default())
                }
                Role::System | Role::Developer | Role::User | Role::Assistant => None,
            };
            messages.push(ScriptedMessage {
                role: message.role.into(),
                text: message.content.map(Content::into_text).unwrap_or_default(),
                tool,
            });
        }
        Ok(Self {
            model: body.model,
            temperature: body.temperature,
            top_p: body.top_p,
            effort: body.reasoning_effort,
            tools: body
                .tools
                .unwrap_or_default()
                .into_iter()
                .map(|tool| tool.function.name)
                .collect(),
            stream: body.stream.unwrap_or(false),
            include_usage: body
                .stream_options
                .is_some_and(|options| options.include_usage.unwrap_or(false)),
            messages,
        })
    }

    /// Converts a request from within this process.
    pub(super) fn of(request: &ModelRequest, model: &str) -> Self {
        let said = |message: &Message| match message {
            Message::System { text } => {
                ScriptedMessage { role: RoleDoc::System, text: text.clone(), tool: None }
            }
            Message::User { text } => {
                ScriptedMessage { role: RoleDoc::User, text: text.clone(), tool: None }
            }
            Message::Assistant { text, .. } => {
                ScriptedMessage { role: RoleDoc::Assistant, text: text.clone(), tool: None }
            }
            Message::Tool { name, text, .. } => ScriptedMessage {
                role: RoleDoc::Tool,
                text: text.clone(),
                tool: Some(name.clone()),
            },
        };
        Self {
            model: request.params.model.clone().unwrap_or_else(|| model.to_owned()),
            temperature: request.params.temperature,
            top_p: request.params.top_p,
            effort: request.params.effort.map(|effort| effort_level(effort).to_owned()),
            tools: request.tools.iter().map(|tool| tool.name.to_string()).collect(),
            stream: true,
            include_usage: true,
            messages: request.messages.iter().map(said).collect(),
        }
    }

    pub(super) fn last_role(&self) -> Option<RoleDoc> {
        self.messages.last().map(|message| message.role)
    }

    pub(super) fn last_text(&self) -> Option<&str> {
        self.messages.last().map(|message| message.text.as_str())
    }

    /// Returns the text of the user's last message.
    pub(super) fn last_user(&self) -> &str {
        let said = self.messages.iter().rev().find(|message| message.role == RoleDoc::User);
        said.map_or("", |message| message.text.as_str())
    }

    /// Iterates over texts in order, of one role or of all.
    pub(super) fn texts(&self, role: Option<RoleDoc>) -> impl Iterator<Item = &str> {
        let wanted = move |message: &&ScriptedMessage| role.is_none_or(|role| message.role == role);
        self.messages.iter().filter(wanted).map(|message| message.text.as_str())
    }

    /// Iterates over tool results in order, each with its tool's name.
    pub(super) fn results(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        self.messages
            .iter()
            .filter_map(|message| Some((message.tool.as_deref()?, message.text.as_str())))
    }

    /// Returns the number of this call in the conversation, from 1: one more than the model's
    /// messages.
    pub(super) fn turn(&self) -> u32 {
        let said =
            self.messages.iter().filter(|message| message.role == RoleDoc::Assistant).count();
        u32::try_from(said).unwrap_or(u32::MAX).saturating_add(1)
    }

    /// Estimates the input tokens: four characters per token.
    pub(super) fn input_tokens(&self) -> u64 {
        let characters: usize =
            self.messages.iter().map(|message| message.text.chars().count()).sum();
        u64::try_from(characters.div_ceil(4)).unwrap_or(u64::MAX)
    }
}

#[derive(Deserialize)]
struct Body {
    #[serde(default)]
    model: String,
    temperature: Option<f64>,
    top_p: Option<f64>,
    reasoning_effort: Option<String>,
    messages: Vec<RawMessage>,
    tools: Option<Vec<RawTool>>,
    stream: Option<bool>,
    stream_options: Option<RawStreamOptions>,
}

#[derive(Deserialize)]
struct RawStreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct RawMessage {
    role: Role,
    content: Option<Content>,
    tool_calls: Option<Vec<RawCall>>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    System,
    /// The system role of newer OpenAI models.
    Developer,
    User,
    Assistant,
    Tool,
}

impl From<Role> for RoleDoc {
    fn from(role: Role) -> Self {
        match role {
            Role::System | Role::Developer => Self::System,
            Role::User => Self::User,
            Role::Assistant => Self::Assistant,
            Role::Tool => Self::Tool,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

impl Content {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().map(|part| part.text).collect(),
        }
    }
}

#[derive(Deserialize)]
struct RawCall {
    #[serde(default)]
    id: String,
    function: RawFunction,
}

#[derive(Deserialize)]
struct RawTool {
    function: RawFunction,
}

#[derive(Deserialize)]
struct RawFunction {
    name: String,
}
