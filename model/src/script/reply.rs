//! Rendering of a rule's reply for one request. Pure.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    conversation::Conversation,
    format::{DropDoc, FinishDoc, HangDoc, UsageDoc},
    matcher::Captures,
    template::{Context, Templates, Text, Tree},
};

/// The compiled reply of a rule.
#[derive(Debug)]
pub(super) struct ReplyPlan {
    pub(super) words: Words,
    pub(super) thought: Option<Text>,
    pub(super) calls: Vec<CallPlan>,
    pub(super) pace: Pace,
    pub(super) finish: Option<FinishDoc>,
    pub(super) usage: Option<UsageDoc>,
}

#[derive(Debug)]
pub(super) enum Words {
    None,
    Text(Text),
    /// A value rendered as JSON.
    Json(Tree),
}

#[derive(Debug)]
pub(super) struct CallPlan {
    pub(super) tool: Text,
    pub(super) args: Tree,
    pub(super) id: Option<Text>,
}

/// The chunks of a streamed reply and their timing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Number of characters per chunk.
    pub(super) chunk: usize,
    /// Delay before each chunk after the first.
    pub(super) delay: Duration,
    /// Delay before the first chunk.
    pub(super) first_delay: Duration,
}

impl Pace {
    pub(super) fn is_instant(&self) -> bool {
        self.delay.is_zero() && self.first_delay.is_zero()
    }
}

/// A fault to simulate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// An HTTP error instead of a reply.
    Status { status: u16, retry_after: Option<u64>, code: Option<String> },
    /// Half the reply, then bytes that are neither SSE nor JSON.
    Malformed,
    /// Half the reply, then a clean end of the stream without its end mark.
    Cut,
    /// Silence, before the first chunk or after half the reply.
    Hang(HangDoc),
    /// A closed connection, before the first byte or after half the reply.
    Drop(DropDoc),
}

#[derive(Debug)]
pub(super) struct Rendered {
    pub(super) text: String,
    pub(super) thought: String,
    pub(super) calls: Vec<RenderedCall>,
    pub(super) finish: FinishDoc,
    pub(super) usage: UsageDoc,
    pub(super) pace: Pace,
}

#[derive(Debug)]
pub(super) struct RenderedCall {
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments exactly as a model would write them.
    pub(super) arguments: String,
}

/// Counters available to templates.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counts {
    /// Number of this request to the server, from 1.
    pub(super) request: u64,
    /// Number of this answer of the rule, from 1.
    pub(super) seen: u64,
}

impl ReplyPlan {
    /// Renders the reply for one request.
    pub(super) fn render(
        &self,
        templates: &Templates,
        talk: &Conversation,
        captures: &Captures,
        counts: Counts,
    ) -> Result<Rendered, String> {
        let build = || view(talk, captures, counts);
        let context = Context::new(&build);
        let text = match &self.words {
            Words::None => String::new(),
            Words::Text(text) => templates.render(text, &context)?,
            Words::Json(tree) => templates.render_tree(tree, &context)?.to_string(),
        };
        let thought =
            self.thought.as_ref().map(|text| templates.render(text, &context)).transpose()?;
        let mut calls = Vec::with_capacity(self.calls.len());
        for (position, call) in self.calls.iter().enumerate() {
            calls.push(RenderedCall {
                id: match &call.id {
                    Some(id) => templates.render(id, &context)?,
                    None => format!("call_{}_{position}", counts.request),
                },
                name: templates.render(&call.tool, &context)?,
                arguments: written(&templates.render_tree(&call.args, &context)?),
            });
        }
        let thought = thought.unwrap_or_default();
        let characters = text.chars().count()
            + thought.chars().count()
            + calls
                .iter()
                .map(|call| call.name.len() + call.arguments.chars().count())
                .sum::<usize>();
        let usage = self.usage.unwrap_or_else(|| UsageDoc {
            input: talk.input_tokens(),
            output: u64::try_from(characters.div_ceil(4)).unwrap_or(u64::MAX),
        });
        let finish = self.finish.unwrap_or(if calls.is_empty() {
            FinishDoc::Stop
        } else {
            FinishDoc::ToolCalls
        });
        Ok(Rendered { text, thought, calls, finish, usage, pace: self.pace })
    }
}

/// Converts arguments to the model's text: a string unchanged, anything else as JSON.
fn written(args: &Value) -> String {
    args.as_str().map_or_else(|| args.to_string(), str::to_owned)
}

/// Builds the variables of templates.
fn view(talk: &Conversation, captures: &Captures, counts: Counts) -> Value {
    let results: Vec<Value> =
        talk.results().map(|(tool, text)| json!({"tool": tool, "value": parsed(text)})).collect();
    let result = results.last().map_or(Value::Null, |last| last["value"].clone());
    let system: Vec<&str> = talk.texts(Some(super::format::RoleDoc::System)).collect();
    json!({
        "captures": captures,
        "last": talk.last_text().unwrap_or_default(),
        "user": talk.last_user(),
        "system": system.join("\n"),
        "result": result,
        "results": results,
        "turn": talk.turn(),
        "model": talk.model,
        "tools": talk.tools,
        "request": counts.request,
        "seen": counts.seen,
    })
}

/// Parses a tool's result as JSON, or returns it as a text.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
