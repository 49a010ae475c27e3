//! Telemetry of one model call, recorded when the call ends or is dropped. Without a sampled trace
//! no span data is collected.

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use opentelemetry::{
    Array, Context, KeyValue, StringValue, Value, global,
    trace::{Span as _, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer},
};
use proto::message::{StopReason, Usage};

use super::{Target, content, instruments::Measured};
use crate::{
    ErrorKind,
    complete::unusable,
    port::{Delta, ModelRequest},
};

/// Attribute names of the GenAI conventions 1.42.0.
pub(super) mod keys {
    pub(crate) const OPERATION: &str = "gen_ai.operation.name";
    pub(crate) const PROVIDER: &str = "gen_ai.provider.name";
    pub(crate) const REQUEST_MODEL: &str = "gen_ai.request.model";
    pub(crate) const ERROR_TYPE: &str = "error.type";
    /// The only operation name.
    pub(crate) const CHAT: &str = "chat";
}

/// Error label of an abandoned call.
const CANCELED: &str = "canceled";
/// Longest model name in a span, in characters at each end: providers may return any text.
const NAME_CHARS: usize = 120;

/// A call in progress.
pub(super) struct Call {
    target: Arc<Target>,
    model: Option<String>,
    started: Instant,
    first_chunk: Option<std::time::Duration>,
    span: Option<Box<Recording>>,
    said: ContentKinds,
    ended: bool,
}

/// The kinds of content in the reply so far.
#[derive(Default)]
struct ContentKinds {
    words: bool,
    calls: bool,
}

/// The data of the call's span.
struct Recording {
    parent: Context,
    start: SystemTime,
    attributes: Vec<KeyValue>,
    output: content::Output,
}

/// The outcome of a call.
struct End<'a> {
    error: Option<&'static str>,
    usage: Usage,
    stop: Option<StopReason>,
    model: Option<&'a str>,
}

impl Call {
    pub(super) fn begin(target: &Arc<Target>, request: &ModelRequest) -> Self {
        let parent = Context::current();
        let recorded = parent.span().span_context().is_sampled();
        Self {
            model: request.params.model.clone(),
            started: Instant::now(),
            first_chunk: None,
            span: recorded.then(|| Box::new(Recording::new(target, request, parent))),
            said: ContentKinds::default(),
            ended: false,
            target: Arc::clone(target),
        }
    }

    /// Records the start of the reply.
    pub(super) fn replied(&mut self) {
        self.first_chunk = Some(self.started.elapsed());
    }

    /// Records a piece of the reply.
    pub(super) fn take(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.said.words |= !text.trim().is_empty(),
            Delta::Thought(_) => {}
            Delta::Call(_) => self.said.calls = true,
            Delta::Opaque(_) => {}
            Delta::End { usage, stop, model } => {
                let error = unusable(*stop, self.said.words, self.said.calls);
                let error = error.map(|error| error.kind().as_str());
                self.end(&End { error, usage: *usage, stop: Some(*stop), model: Some(model) });
                return;
            }
        }
        if let (Some(span), true) = (&mut self.span, self.target.watching.show.is_some()) {
            span.output.take(delta);
        }
    }

    /// Records a failure.
    pub(super) fn fail(&mut self, kind: ErrorKind) {
        self.end(&End::without_reply(kind.as_str()));
    }

    fn end(&mut self, end: &End<'_>) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let measured = Measured {
            labels: &self.target.labels,
            model: self.model.as_deref(),
            took: self.started.elapsed(),
            first_chunk: self.first_chunk,
            usage: end.usage,
            error: end.error.unwrap_or_default(),
            price: self.target.watching.prices.of(self.model.as_deref()),
        };
        measured.record();
        if let Some(error) = end.error.filter(|error| *error != CANCELED) {
            let model = self.target.labels.asked(self.model.as_deref());
            tracing::warn!(error, %model, took = ?measured.took, "a model call failed");
        }
        if let Some(span) = self.span.take() {
            let name = self.target.labels.asked(self.model.as_deref());
            let first = self.first_chunk.map(|first| first.as_secs_f64());
            span.record(&self.target, format!("{} {name}", keys::CHAT), first, end);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.end(&End::without_reply(CANCELED));
    }
}

impl End<'_> {
    fn without_reply(error: &'static str) -> Self {
        Self { error: Some(error), usage: Usage::default(), stop: None, model: None }
    }
}

impl Recording {
    fn new(target: &Target, request: &ModelRequest, parent: Context) -> Self {
        let params = &request.params;
        let mut attributes = Vec::with_capacity(16);
        let mut set = |key: &'static str, value: Value| attributes.push(KeyValue::new(key, value));
        set(keys::OPERATION, keys::CHAT.into());
        set(keys::PROVIDER, target.labels.provider().into());
        let model = target.labels.asked(params.model.as_deref());
        set(keys::REQUEST_MODEL, model.to_owned().into());
        set("gen_ai.request.stream", true.into());
        if let Some(tokens) = params.max_tokens.or(target.max_tokens) {
            set("gen_ai.request.max_tokens", i64::from(tokens).into());
        }
        if let Some(temperature) = params.temperature.or(target.temperature) {
            set("gen_ai.request.temperature", temperature.into());
        }
        if let Some(top_p) = params.top_p.or(target.top_p) {
            set("gen_ai.request.top_p", top_p.into());
        }
        if let Some((address, port)) = &target.server {
            set("server.address", address.clone().into());
            set("server.port", (*port).into());
        }
        if let Some(show) = &target.watching.show {
            let content::Input { system, messages } = content::input(&request.messages, &**show);
            if let Some(system) = system {
                set("gen_ai.system_instructions", system.into());
            }
            set("gen_ai.input.messages", messages.into());
        }
        Self { parent, start: SystemTime::now(), attributes, output: content::Output::default() }
    }

    fn record(mut self, target: &Target, name: String, first: Option<f64>, end: &End<'_>) {
        let mut set =
            |key: &'static str, value: Value| self.attributes.push(KeyValue::new(key, value));
        if let Some(seconds) = first {
            set("gen_ai.response.time_to_first_chunk", seconds.into());
        }
        if let Some(model) = end.model {
            set("gen_ai.response.model", proto::excerpt::ends(model, NAME_CHARS).into());
        }
        if let Some(stop) = end.stop {
            let reasons = vec![StringValue::from(content::finish_reason(stop))];
            set("gen_ai.response.finish_reasons", Value::Array(Array::String(reasons)));
            let tokens = |count: u64| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
            set("gen_ai.usage.input_tokens", tokens(end.usage.input_tokens));
            set("gen_ai.usage.output_tokens", tokens(end.usage.output_tokens));
            let caches = [
                ("gen_ai.usage.cache_read.input_tokens", end.usage.cached_tokens),
                ("gen_ai.usage.cache_creation.input_tokens", end.usage.written_tokens),
            ];
            for (name, count) in caches.into_iter().filter(|(_, count)| *count > 0) {
                set(name, tokens(count));
            }
        }
        if let Some(show) = &target.watching.show {
            set("gen_ai.output.messages", self.output.json(end.stop, &**show).into());
        }
        if let Some(error) = end.error {
            set(keys::ERROR_TYPE, error.into());
        }
        let builder = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Client)
            .with_start_time(self.start)
            .with_attributes(self.attributes);
        let tracer = global::tracer("callboard");
        let mut span = tracer.build_with_context(builder, &self.parent);
        if let Some(error) = end.error {
            span.set_status(Status::error(error));
        }
        span.end();
    }
}
