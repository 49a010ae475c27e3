//! Inspection of a reply's raw frames for data that `genai` does not pass on: the name of the model
//! that answered, a refusal, and the pieces of OpenAI tool calls.
//!
//! Runs once per frame within the read loop, and searches for a word before it parses anything.

use std::{
    borrow::Cow,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use proto::message::ModelCall;
use serde::Deserialize;

use super::calls::{Calls, Piece};
use crate::config::ProviderKind;

/// The data found in the frames of one reply.
#[derive(Default)]
struct FrameFindings {
    model: Option<String>,
    refused: bool,
    broken: bool,
    calls: Calls,
}

/// The frame sink of one reply. Clones share the same data.
#[derive(Clone)]
pub(super) struct Observer {
    kind: ProviderKind,
    seen: Arc<Mutex<FrameFindings>>,
}

impl Observer {
    pub(super) fn new(kind: ProviderKind) -> Self {
        Self { kind, seen: Arc::default() }
    }

    /// Takes the name of the model that answered, as the provider reports it.
    pub(super) fn model(&self) -> Option<String> {
        self.seen().model.take()
    }

    /// `true` if the model or a filter refused in a way that `genai` does not report.
    pub(super) fn refused(&self) -> bool {
        self.seen().refused
    }

    /// `true` if a frame with tool calls was unreadable or exceeded a limit.
    pub(super) fn broken(&self) -> bool {
        let seen = self.seen();
        seen.broken || seen.calls.too_many
    }

    /// Number of bytes of tool calls so far.
    pub(super) fn call_bytes(&self) -> usize {
        self.seen().calls.bytes
    }

    /// Returns the complete tool calls of an OpenAI-compatible reply.
    pub(super) fn take_calls(&self) -> Vec<ModelCall> {
        self.seen().calls.finish()
    }

    fn seen(&self) -> MutexGuard<'_, FrameFindings> {
        // The state is valid after every statement, so a poisoned lock is harmless.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Observer {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.seen();
        match self.kind {
            ProviderKind::OpenAi => openai(&mut seen, frame.data),
            ProviderKind::Gemini => gemini(&mut seen, frame.data),
            ProviderKind::Anthropic => {
                if seen.model.is_none() && frame.event == Some("message_start") {
                    seen.model = serde_json::from_str::<AnthropicStart>(frame.data)
                        .ok()
                        .map(|start| start.message.model);
                }
            }
            ProviderKind::Ollama => {
                if seen.model.is_none() {
                    seen.model =
                        serde_json::from_str::<Named>(frame.data).ok().map(|named| named.model);
                }
            }
        }
    }
}

fn openai(seen: &mut FrameFindings, data: &str) {
    let has_calls = data.contains("\"tool_calls\"");
    if seen.model.is_some() && !has_calls && !data.contains("\"refusal\"") {
        return;
    }
    if data == "[DONE]" {
        return;
    }
    let Ok(frame) = serde_json::from_str::<OpenAiFrame<'_>>(data) else {
        // `genai` reports a frame that is not JSON; malformed calls are noticed only here.
        seen.broken |= has_calls;
        return;
    };
    if seen.model.is_none() {
        seen.model = frame.model.filter(|name| !name.is_empty()).map(Cow::into_owned);
    }
    let Some(choice) = frame.choices.unwrap_or_default().into_iter().next() else { return };
    let Some(delta) = choice.delta else { return };
    seen.refused |= delta.refusal.is_some_and(|words| !words.is_empty());
    for piece in delta.tool_calls.unwrap_or_default() {
        seen.calls.add(&piece);
    }
}

fn gemini(seen: &mut FrameFindings, data: &str) {
    let blocked = data.contains("\"blockReason\"");
    if seen.model.is_some() && !blocked {
        return;
    }
    let Ok(frame) = serde_json::from_str::<GeminiFrame>(data) else { return };
    seen.model = seen.model.take().or(frame.model_version);
    seen.refused |= frame.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some());
}

#[derive(Deserialize)]
struct OpenAiFrame<'a> {
    #[serde(borrow)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    choices: Option<Vec<OpenAiChoice<'a>>>,
}

#[derive(Deserialize)]
struct OpenAiChoice<'a> {
    #[serde(borrow)]
    delta: Option<OpenAiDelta<'a>>,
}

#[derive(Deserialize)]
struct OpenAiDelta<'a> {
    #[serde(borrow)]
    refusal: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Piece<'a>>>,
}

#[derive(Deserialize)]
struct AnthropicStart {
    message: Named,
}

#[derive(Deserialize)]
struct Named {
    model: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiFrame {
    model_version: Option<String>,
    prompt_feedback: Option<GeminiFeedback>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiFeedback {
    block_reason: Option<String>,
}
