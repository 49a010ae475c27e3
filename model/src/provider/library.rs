//! Anthropic, Gemini and Ollama through `genai`.

use std::sync::Arc;

use async_stream::try_stream;
use futures::StreamExt;
use genai::chat::{ChatStreamEvent, StopReason as GenaiStop, StreamEnd, ToolCall};
use proto::message::ModelCall;
use serde_json::json;

use super::{
    failure::translate,
    observe::Observer,
    reply::{Counted, End, Event, Events, cut, refused, stop},
    request::ForLibrary,
};
use crate::{complete::json_len, config::ProviderKind, error::ModelError, words::Redactor};

/// Sends a request and returns the events of its reply.
pub(super) fn events(
    client: genai::Client,
    kind: ProviderKind,
    request: &ForLibrary,
    redactor: Arc<Redactor>,
) -> Events {
    let ForLibrary { target, chat, options } = request;
    let (target, chat, mut options) = (target.clone(), chat.clone(), options.clone());
    let observer = Observer::new(kind);
    options.raw_frame_sink = Some(Arc::new(observer.clone()));
    try_stream! {
        let sent = client.exec_chat_stream(target, chat, Some(&options)).await;
        let mut stream = sent.map_err(|error| translate(&error, &redactor))?.stream;
        let mut call_bytes = 0;
        while let Some(event) = stream.next().await {
            match event {
                Err(_) if observer.refused() => Err(refused())?,
                Err(error) => Err(translate(&error, &redactor))?,
                Ok(
                    ChatStreamEvent::Start
                    | ChatStreamEvent::Heartbeat
                    | ChatStreamEvent::ThoughtSignatureChunk(_),
                ) => {}
                Ok(ChatStreamEvent::Chunk(chunk)) => yield Event::Text(chunk.content),
                Ok(ChatStreamEvent::ReasoningChunk(chunk)) => yield Event::Thought(chunk.content),
                Ok(ChatStreamEvent::ToolCallChunk(chunk)) => {
                    let bytes = written(&chunk.tool_call);
                    // Each piece of Anthropic contains the whole call so far.
                    call_bytes =
                        if is_cumulative(kind) { bytes.max(call_bytes) } else { call_bytes + bytes };
                    yield Event::Calls(call_bytes);
                }
                Ok(ChatStreamEvent::End(end)) => yield Event::End(ended(kind, &observer, end)?),
            }
        }
    }
    .boxed()
}

const fn is_cumulative(kind: ProviderKind) -> bool {
    match kind {
        ProviderKind::Anthropic => true,
        ProviderKind::OpenAi | ProviderKind::Gemini | ProviderKind::Ollama => false,
    }
}

fn ended(kind: ProviderKind, observer: &Observer, end: StreamEnd) -> Result<End, ModelError> {
    if observer.refused() {
        return Err(refused());
    }
    // For interrupted streams of Gemini and Ollama, genai makes up an end. A real end has a reason
    // or, with old Ollama servers, at least token counts.
    let invented = end.captured_stop_reason.is_none()
        && match kind {
            ProviderKind::Gemini => true,
            ProviderKind::Ollama => end.captured_usage.is_none(),
            ProviderKind::OpenAi | ProviderKind::Anthropic => false,
        };
    if invented {
        return Err(cut());
    }
    let stop = match end.captured_stop_reason.as_ref() {
        None | Some(GenaiStop::Completed(_) | GenaiStop::StopSequence(_)) => stop(None)?,
        Some(GenaiStop::MaxTokens(_)) => stop(Some("length"))?,
        Some(GenaiStop::ToolCall(_)) => stop(Some("tool_calls"))?,
        Some(GenaiStop::ContentFilter(_)) => stop(Some("content_filter"))?,
        Some(GenaiStop::Other(word)) => stop(Some(word))?,
    };
    let tokens = |count: Option<i32>| u64::try_from(count?).ok();
    let counted = end.captured_usage.as_ref().map_or_else(Counted::default, |usage| Counted {
        input: tokens(usage.prompt_tokens),
        output: tokens(usage.completion_tokens),
    });
    let calls = match kind {
        ProviderKind::Gemini => renumbered(captured(end)),
        ProviderKind::OpenAi | ProviderKind::Anthropic | ProviderKind::Ollama => captured(end),
    };
    Ok(End { stop, calls, counted, model: observer.model() })
}

/// Returns the bytes of a tool call received so far.
fn written(call: &ToolCall) -> usize {
    let args = call.fn_arguments.as_str().map_or_else(|| json_len(&call.fn_arguments), str::len);
    call.call_id.len() + call.fn_name.len() + args
}

fn captured(end: StreamEnd) -> Vec<ModelCall> {
    end.captured_into_tool_calls()
        .unwrap_or_default()
        .into_iter()
        .map(|call| ModelCall {
            id: call.call_id,
            name: call.fn_name,
            args: if call.fn_arguments.is_null() { json!({}) } else { call.fn_arguments },
        })
        .collect()
}

/// Renumbers Gemini's calls. Gemini assigns no ids, and genai numbers the calls of each frame from
/// the start, so ids of two frames collide. The format must stay: by it genai recognises ids that
/// Gemini has never seen.
fn renumbered(mut calls: Vec<ModelCall>) -> Vec<ModelCall> {
    for (position, call) in calls.iter_mut().enumerate() {
        if call.id.starts_with("call#") {
            call.id = format!("call#{}#{position}", call.name);
        }
    }
    calls
}
