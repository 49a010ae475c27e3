//! One attempt of a call: reads the reply as deltas, within its limits.

use std::{collections::VecDeque, sync::Arc};

use futures::StreamExt;
use proto::{
    message::{StopReason, Usage},
    opaque::Opaque,
};
use tokio::time::Instant;
use tracing::{Dispatch, instrument::WithSubscriber};

use super::{
    Provider, http,
    reply::{Counted, End, Event, Events, cut, too_large},
    request::Prepared,
};
use crate::{
    config::Timeouts,
    error::{ErrorKind, ModelError, Phase},
    port::{Delta, ModelRequest},
    window,
    words::Redactor,
};

/// A reply in progress.
pub(super) struct Exchange {
    events: Events,
    /// Deltas that were read but not yet returned.
    ready: VecDeque<Delta>,
    timeouts: Timeouts,
    deadline: Instant,
    limit: usize,
    request: Arc<ModelRequest>,
    /// Text and reasoning so far.
    words: String,
    call_bytes: usize,
    asked_model: String,
    /// Provider and model that opaque parts belong to.
    identity: String,
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
        redactor: Arc<Redactor>,
        deadline: Instant,
    ) -> Result<Self, ModelError> {
        let limit = provider.max_reply_bytes;
        let events = http::events(&provider.http, provider.kind, prepared, redactor, limit);
        let mut exchange = Self {
            events,
            ready: VecDeque::new(),
            timeouts: provider.timeouts,
            deadline,
            limit,
            request: Arc::clone(&prepared.request),
            words: String::new(),
            call_bytes: 0,
            asked_model: prepared.model.clone(),
            identity: prepared.identity.clone(),
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
        // Log messages of libraries may contain the prompt, so they are dropped. A filtering subscriber
        // would re-evaluate every call site of the process for each event.
        let next = self.events.next().with_subscriber(Dispatch::none());
        let event =
            tokio::time::timeout_at(until, next).await.map_err(|_| ModelError::timeout(which))?;
        match event.ok_or_else(cut)?? {
            Event::Text(words) => self.say(words, Delta::Text),
            Event::Thought(words) => self.say(words, Delta::Thought),
            Event::Calls(bytes) => {
                self.state = State::Speaking;
                self.call_bytes = bytes;
            }
            Event::End(end) => return self.end(end),
        }
        if self.words.len().saturating_add(self.call_bytes) > self.limit {
            return Err(too_large());
        }
        Ok(())
    }

    fn say(&mut self, words: String, delta: fn(String) -> Delta) {
        if !words.is_empty() {
            self.state = State::Speaking;
            self.words.push_str(&words);
            self.ready.push_back(delta(words));
        }
    }

    fn end(&mut self, end: End) -> Result<(), ModelError> {
        let End { stop, calls, opaque: parts, counted, model } = end;
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
        let call_tokens = |call: &proto::message::ModelCall| {
            window::estimate(&call.name) + window::estimate(&call.args.to_string())
        };
        let output =
            || window::estimate(&self.words) + calls.iter().map(call_tokens).sum::<usize>();
        let usage = usage(counted, &self.request, output);
        self.ready.extend(calls.into_iter().map(Delta::Call));
        if !parts.is_empty() {
            let model = self.identity.clone();
            self.ready.push_back(Delta::Opaque(Opaque { model, parts }));
        }
        let model = model.unwrap_or_else(|| std::mem::take(&mut self.asked_model));
        self.ready.push_back(Delta::End { usage, stop, model });
        self.state = State::Ended;
        Ok(())
    }
}

/// Returns the tokens that a provider reported, with an estimate for each count that is absent, or
/// zero although there was text.
fn usage(counted: Counted, request: &ModelRequest, output: impl Fn() -> usize) -> Usage {
    let mut estimated = false;
    let mut count = |reported: Option<u64>, estimate: &dyn Fn() -> usize| {
        reported.filter(|tokens| *tokens > 0).unwrap_or_else(|| {
            let tokens = u64::try_from(estimate()).unwrap_or(u64::MAX);
            estimated |= tokens > 0;
            tokens
        })
    };
    let prompt = || window::estimated(&request.messages, &request.tools);
    let (input_tokens, output_tokens) =
        (count(counted.input, &prompt), count(counted.output, &output));
    let cached_tokens = counted.cached.unwrap_or_default().min(input_tokens);
    let written_tokens = counted.written.unwrap_or_default().min(input_tokens - cached_tokens);
    Usage { input_tokens, cached_tokens, written_tokens, output_tokens, estimated }
}
