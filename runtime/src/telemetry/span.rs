//! A span that is recorded when it ends. Before that it exists only in the variable that holds it,
//! so a job that waits for a person has no open span. Without a receiver of traces it costs
//! nothing.

use std::{
    sync::OnceLock,
    time::{Duration, SystemTime},
};

use opentelemetry::{
    Context, KeyValue, Value,
    trace::{Link, Span as _, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer},
};
use opentelemetry_sdk::trace::SdkTracer;
use proto::{
    id::{Attempt, JobId, WorkId},
    trace::TraceContext,
};

use super::{ids, keys, trace::span_context};

/// Bound of an attribute that is not content, in bytes. Such attributes are names and ids.
const TEXT_MAX: usize = 256;

static TRACER: OnceLock<SdkTracer> = OnceLock::new();

pub(super) fn install(tracer: SdkTracer) {
    // Telemetry is set up once in a process; a second attempt fails before this line.
    let _ = TRACER.set(tracer);
}

/// Returns whether traces are exported.
#[must_use]
pub fn is_tracing() -> bool {
    TRACER.get().is_some()
}

/// The relation of a span to its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Stores a message.
    Producer,
    /// Processes a message.
    Consumer,
    /// Answers a request.
    Server,
    /// Sends a request.
    Client,
    /// Has no peer.
    Internal,
}

/// One operation in a trace, recorded when it is dropped, with that time as its end. Empty when the
/// trace is not sampled or traces are not exported.
#[derive(Debug)]
#[must_use = "a span measures until it is dropped"]
pub struct Span(Option<Box<Recording>>);

#[derive(Debug)]
struct Recording {
    context: TraceContext,
    parent: Option<TraceContext>,
    kind: Kind,
    name: String,
    start: SystemTime,
    attributes: Vec<KeyValue>,
    links: Vec<TraceContext>,
    error: Option<String>,
}

impl Span {
    /// Starts a span with the ids of `context`, below `parent`. `name` is called only when the span
    /// is recorded.
    pub fn start(
        context: TraceContext,
        parent: Option<TraceContext>,
        kind: Kind,
        name: impl FnOnce() -> String,
    ) -> Self {
        if !context.is_sampled() || !is_tracing() {
            return Self(None);
        }
        Self(Some(Box::new(Recording {
            context,
            parent,
            kind,
            name: name(),
            start: SystemTime::now(),
            attributes: Vec::with_capacity(8),
            links: Vec::new(),
            error: None,
        })))
    }

    /// Returns whether the span will be recorded. Costly attributes need not be computed otherwise.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.0.is_some()
    }

    /// Moves the start to an earlier time. A time in the future, as another machine's clock may
    /// give, becomes the current time.
    pub fn since(&mut self, start: SystemTime) {
        if let Some(recording) = &mut self.0 {
            recording.start = start.min(SystemTime::now());
        }
    }

    /// Moves the start back by `ago`, counted from now.
    pub fn ago(&mut self, ago: Duration) {
        if let Some(start) = SystemTime::now().checked_sub(ago) {
            self.since(start);
        }
    }

    /// Adds an attribute. Long texts are shortened, since an attribute is a name or an id.
    pub fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        if let Some(recording) = &mut self.0 {
            let mut value = value.into();
            if let Value::String(text) = &value
                && text.as_str().len() > TEXT_MAX
            {
                value = proto::excerpt::ends(text.as_str(), TEXT_MAX).into();
            }
            recording.attributes.push(KeyValue::new(key, value));
        }
    }

    /// Adds the attributes of a unit of work.
    pub fn work(&mut self, job: &JobId, work: &WorkId, attempt: Attempt) {
        if self.is_recording() {
            self.set(keys::JOB_ID, job.as_str().to_owned());
            self.set(keys::WORK, work.as_str().to_owned());
            self.set(keys::ATTEMPT, i64::from(attempt.0));
            if let Some(generation) = generation(work) {
                self.set(keys::GENERATION, generation);
            }
        }
    }

    /// Adds content of users, models or tools, as [`super::Content`] prepared it.
    pub fn content(&mut self, key: &'static str, text: impl FnOnce() -> String) {
        if let Some(recording) = &mut self.0 {
            recording.attributes.push(KeyValue::new(key, text()));
        }
    }

    /// Links the span to another one that is not its parent.
    pub fn link(&mut self, to: TraceContext) {
        if let Some(recording) = &mut self.0 {
            recording.links.push(to);
        }
    }

    /// Marks the span as failed, with the type of the error.
    pub fn fail(&mut self, error_type: &str) {
        if let Some(recording) = &mut self.0 {
            recording.error = Some(error_type.to_owned());
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        if let (Some(recording), Some(tracer)) = (self.0.take(), TRACER.get()) {
            recording.record(tracer);
        }
    }
}

impl Recording {
    fn record(self, tracer: &SdkTracer) {
        let above = self.parent.map_or_else(Context::new, |parent| {
            Context::new().with_remote_span_context(span_context(parent))
        });
        let mut attributes = self.attributes;
        if let Some(error) = &self.error {
            attributes.push(KeyValue::new(keys::ERROR_TYPE, error.clone()));
        }
        let links = self.links.into_iter().map(|to| Link::with_context(span_context(to))).collect();
        let builder = SpanBuilder::from_name(self.name)
            .with_kind(self.kind.into())
            .with_start_time(self.start)
            .with_attributes(attributes)
            .with_links(links);
        let mut span = ids::with_ids(self.context, || tracer.build_with_context(builder, &above));
        if let Some(error) = self.error {
            span.set_status(Status::error(error));
        }
        span.end();
    }
}

/// Returns the generation of a unit of work, with which its name begins.
fn generation(work: &WorkId) -> Option<i64> {
    let (first, _) = work.as_str().split_once('.')?;
    first.strip_prefix('g')?.parse().ok()
}

impl From<Kind> for SpanKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Producer => Self::Producer,
            Kind::Consumer => Self::Consumer,
            Kind::Server => Self::Server,
            Kind::Client => Self::Client,
            Kind::Internal => Self::Internal,
        }
    }
}
