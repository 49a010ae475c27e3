//! Inspection of a reply's raw frames for data that `genai` does not pass on: the name of the model
//! that answered, and a refusal.
//!
//! Runs once per frame within the read loop, and searches for a word before it parses anything.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::Deserialize;

use crate::config::ProviderKind;

/// The data found in the frames of one reply.
#[derive(Default)]
struct FrameFindings {
    model: Option<String>,
    refused: bool,
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

    fn seen(&self) -> MutexGuard<'_, FrameFindings> {
        // The state is valid after every statement, so a poisoned lock is harmless.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatFrameSink for Observer {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        let mut seen = self.seen();
        match self.kind {
            ProviderKind::Gemini => gemini(&mut seen, frame.data),
            ProviderKind::Anthropic => {
                if seen.model.is_none() && frame.event == Some("message_start") {
                    seen.model = serde_json::from_str::<AnthropicStart>(frame.data)
                        .ok()
                        .map(|start| start.message.model);
                }
            }
            // OpenAI's own adapter reads its frames.
            ProviderKind::Ollama | ProviderKind::OpenAi => {
                if seen.model.is_none() {
                    seen.model =
                        serde_json::from_str::<Named>(frame.data).ok().map(|named| named.model);
                }
            }
        }
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
