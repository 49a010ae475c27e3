//! One attempt of a call: sends the request and reads the reply as deltas, within its time limits.

use std::{collections::VecDeque, pin::Pin, sync::Arc};

use futures::{Stream, StreamExt};
use genai::chat::{ChatStreamEvent, StopReason as GenaiStop, StreamEnd, ToolCall};
use proto::message::{ModelCall, StopReason, Usage};
use serde_json::json;
use tokio::time::Instant;
use tracing::{Dispatch, instrument::WithSubscriber};

use super::{Provider, failure::translate, observe::Observer, request::Prepared};
use crate::{
    complete::json_len,
    config::{ProviderKind, Timeouts},
    error::{ErrorKind, ModelError, Phase},
    port::Delta,
};

type Events = Pin<Box<dyn Stream<Item = genai::Result<ChatStreamEvent>> + Send>>;

/// A reply in progress.
pub(super) struct Exchange {
    kind: ProviderKind,
    events: Events,
    observer: Observer,
    /// Deltas that were read but not yet returned.
    ready: VecDeque<Delta>,
    timeouts: Timeouts,
    deadline: Instant,
    limit: usize,
    /// Bytes of text and reasoning so far; those of tool calls are in `call_bytes`.
    words: usize,
    call_bytes: usize,
    asked_model: String,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Speaking,
    Ended,
}

impl Exchange {
    /// Sends the request and returns once the reply has started.
    pub(super) async fn begin(
        provider: &Provider,
        prepared: &Prepared,
        deadline: Instant,
    ) -> Result<Self, ModelError> {
        let observer = Observer::new(provider.kind);
        let mut options = prepared.options.clone();
        options.raw_frame_sink = Some(Arc::new(observer.clone()));
        let response = provider
            .client
            .exec_chat_stream(prepared.target.clone(), prepared.chat.clone(), Some(&options))
            .with_subscriber(Dispatch::none())
            .await
            .map_err(|error| translate(&error))?;
        let mut exchange = Self {
            kind: provider.kind,
            events: response.stream.boxed(),
            observer,
            ready: VecDeque::new(),
            timeouts: provider.timeouts,
            deadline,
            limit: provider.max_reply_bytes,
            words: 0,
            call_bytes: 0,
            asked_model: prepared.model.clone(),
            state: State::Waiting,
        };
        let first_token = Instant::now() + exchange.timeouts.first_token();
        while exchange.ready.is_empty() && exchange.state == State::Waiting {
            exchange.read(first_token, Phase::FirstToken).await?;
        }
        Ok(exchange)
    }

    /// Reads the next delta; `None` after the end.
    pub(super) async fn next(&mut self) -> Result<Option<Delta>, ModelError> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Ok(Some(delta));
            }
            if self.state == State::Ended {
                return Ok(None);
            }
            self.read(Instant::now() + self.timeouts.idle(), Phase::Idle).await?;
        }
    }

    /// Reads one event within `limit` and the deadline of the whole call.
    async fn read(&mut self, limit: Instant, phase: Phase) -> Result<(), ModelError> {
        let (until, which) =
            if limit <= self.deadline { (limit, phase) } else { (self.deadline, Phase::Total) };
        // Log messages of genai may contain the prompt, so they are dropped. A filtering subscriber
        // would re-evaluate every call site of the process for each event.
        let next = self.events.next().with_subscriber(Dispatch::none());
        let event =
            tokio::time::timeout_at(until, next).await.map_err(|_| ModelError::timeout(which))?;
        match event {
            None => Err(cut()),
            Some(Err(_)) if self.observer.refused() => Err(refused()),
            Some(Err(error)) => Err(translate(&error)),
            Some(Ok(event)) => self.take(event),
        }
    }

    fn take(&mut self, event: ChatStreamEvent) -> Result<(), ModelError> {
        match event {
            ChatStreamEvent::Start
            | ChatStreamEvent::Heartbeat
            | ChatStreamEvent::ThoughtSignatureChunk(_) => {}
            ChatStreamEvent::Chunk(chunk) => self.say(chunk.content, Delta::Text)?,
            ChatStreamEvent::ReasoningChunk(chunk) => self.say(chunk.content, Delta::Thought)?,
            ChatStreamEvent::ToolCallChunk(chunk) => {
                self.state = State::Speaking;
                match self.kind {
                    ProviderKind::OpenAi => self.call_bytes = self.observer.call_bytes(),
                    // Each piece contains the whole call so far.
                    ProviderKind::Anthropic => {
                        self.call_bytes = self.call_bytes.max(written(&chunk.tool_call))
                    }
                    ProviderKind::Gemini | ProviderKind::Ollama => {
                        self.call_bytes += written(&chunk.tool_call)
                    }
                }
            }
            ChatStreamEvent::End(end) => return self.end(end),
        }
        if self.observer.broken() {
            return Err(ModelError::new(
                ErrorKind::Malformed,
                "the reply's tool calls are not in the provider's own format",
            ));
        }
        if self.words.saturating_add(self.call_bytes) > self.limit {
            return Err(ModelError::new(
                ErrorKind::TooLarge,
                "the reply is larger than allowed (max_reply_bytes)",
            ));
        }
        Ok(())
    }

    fn say(&mut self, words: String, delta: fn(String) -> Delta) -> Result<(), ModelError> {
        if words.is_empty() {
            return Ok(());
        }
        self.state = State::Speaking;
        self.words = self.words.saturating_add(words.len());
        if self.words > self.limit {
            return Err(ModelError::new(
                ErrorKind::TooLarge,
                "the reply is larger than allowed (max_reply_bytes)",
            ));
        }
        self.ready.push_back(delta(words));
        Ok(())
    }

    fn end(&mut self, end: StreamEnd) -> Result<(), ModelError> {
        if self.observer.refused() {
            return Err(refused());
        }
        // For interrupted streams of Gemini and Ollama, genai makes up an end. A real end has a
        // reason or, with old Ollama servers, at least token counts.
        let invented = end.captured_stop_reason.is_none()
            && match self.kind {
                ProviderKind::Gemini => true,
                ProviderKind::Ollama => end.captured_usage.is_none(),
                ProviderKind::OpenAi | ProviderKind::Anthropic => false,
            };
        if invented {
            return Err(cut());
        }
        let stop = stop(end.captured_stop_reason.as_ref())?;
        let usage = end.captured_usage.as_ref().map(usage).unwrap_or_default();
        let calls = match self.kind {
            ProviderKind::OpenAi => self.observer.take_calls(),
            ProviderKind::Gemini => renumbered(captured(end)),
            ProviderKind::Anthropic | ProviderKind::Ollama => captured(end),
        };
        if calls.iter().any(|call| call.name.is_empty()) {
            return Err(ModelError::new(
                ErrorKind::Malformed,
                "the reply calls a tool without naming it",
            ));
        }
        let stop = match (stop, calls.is_empty()) {
            // Many servers report "stop" together with tool calls.
            (StopReason::End, false) => StopReason::ToolCalls,
            // Announced but absent calls make an ordinary end; `complete` rejects an empty reply.
            (StopReason::ToolCalls, true) => StopReason::End,
            (
                stop @ (StopReason::End
                | StopReason::ToolCalls
                | StopReason::Length
                | StopReason::ContentFilter),
                _,
            ) => stop,
        };
        self.ready.extend(calls.into_iter().map(Delta::Call));
        let model = self.observer.model().unwrap_or_else(|| std::mem::take(&mut self.asked_model));
        self.ready.push_back(Delta::End { usage, stop, model });
        self.state = State::Ended;
        Ok(())
    }
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

fn usage(counted: &genai::chat::Usage) -> Usage {
    let tokens =
        |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    Usage {
        input_tokens: tokens(counted.prompt_tokens),
        output_tokens: tokens(counted.completion_tokens),
    }
}

fn stop(reason: Option<&GenaiStop>) -> Result<StopReason, ModelError> {
    match reason {
        // `[DONE]` without a reason: the server reported its end nevertheless.
        None | Some(GenaiStop::Completed(_) | GenaiStop::StopSequence(_)) => Ok(StopReason::End),
        Some(GenaiStop::MaxTokens(_)) => Ok(StopReason::Length),
        Some(GenaiStop::ToolCall(_)) => Ok(StopReason::ToolCalls),
        Some(GenaiStop::ContentFilter(_)) => Ok(StopReason::ContentFilter),
        Some(GenaiStop::Other(word)) => match word.as_str() {
            "" | "eos" | "eos_token" | "stop_token" => Ok(StopReason::End),
            "insufficient_system_resource" => {
                Err(ModelError::new(ErrorKind::Overloaded, "the model provider is overloaded"))
            }
            _ => Err(ModelError::new(
                ErrorKind::Malformed,
                "the reply ended for a reason this program does not know",
            )),
        },
    }
}

const fn cut() -> ModelError {
    ModelError::new(ErrorKind::CutStream, "the reply stopped without its end")
}

const fn refused() -> ModelError {
    ModelError::new(ErrorKind::Refused, "the model refused, or a content filter withheld the reply")
}
