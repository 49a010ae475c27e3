//! A log writer that measures each write and gives it a span, whose context travels with the
//! record. It changes nothing else.

use std::{
    sync::{Arc, LazyLock},
    time::Instant,
};

use async_trait::async_trait;
use jiff::Timestamp;
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram},
};
use proto::{
    decision::Decision,
    fact::{Fact, Source},
    id::{JobId, Seq, TimerName, WorkId},
    trace::TraceContext,
};

use crate::telemetry::{self, Kind, LATENCY, Span, keys};
use broker::{
    Broker,
    log::{CasOutcome, Composed, Log, LogError, Submission, Writer},
};

/// The instruments of writes.
struct Instruments {
    duration: Histogram<f64>,
    transitions: Counter<u64>,
    conflicts: Counter<u64>,
    retries: Counter<u64>,
}

static INSTRUMENTS: LazyLock<Instruments> = LazyLock::new(|| {
    let meter = telemetry::meter();
    let conflicts = meter
        .u64_counter("callboard.conflicts")
        .with_description("Writes that lost a compare-and-set conflict.")
        .build();
    // A counter without a value looks like a counter that is not exported.
    conflicts.add(0, &[]);
    Instruments {
        duration: telemetry::histogram(
            "messaging.client.operation.duration",
            "Time until a record is known to be stored.",
            LATENCY,
        ),
        transitions: meter
            .u64_counter("callboard.transitions")
            .with_description("Facts taken in and decisions stored.")
            .build(),
        conflicts,
        retries: meter
            .u64_counter("callboard.retries")
            .with_description("Attempts after the first.")
            .build(),
    }
});

/// Counts a fact that a supervisor has folded. `kind` must be a label of
/// [`proto::record::kind_label`], because writers of records may invent kinds.
pub fn count_fact(kind: &'static str) {
    INSTRUMENTS.transitions.add(1, &transition("in", kind));
}

fn transition(family: &'static str, kind: &'static str) -> [KeyValue; 2] {
    [KeyValue::new(keys::RECORD_FAMILY, family), KeyValue::new(keys::RECORD_KIND, kind)]
}

/// Returns the broker with an observed writer: every write is measured and has a span.
#[must_use]
pub fn observed(broker: Broker) -> Broker {
    let writer = Arc::new(Observed(Arc::clone(&broker.log)));
    Broker { log: Arc::new(Composed { writer, ..Composed::from(broker.log) }), ..broker }
}

/// The writer of an observed log, over the log itself.
struct Observed(Arc<dyn Log>);

impl Observed {
    /// Starts the span of a write, with the context that travels with the record.
    fn publish(&self, job: &JobId, what: &str, trace: TraceContext, own: TraceContext) -> Span {
        let mut span = Span::start(own, Some(trace), Kind::Producer, || format!("publish {what}"));
        if span.is_recording() {
            let shard = self.0.subjects().shard_of(job);
            span.set(keys::MESSAGING_SYSTEM, "nats");
            span.set(keys::MESSAGING_OPERATION_NAME, "publish");
            span.set(keys::MESSAGING_OPERATION_TYPE, "send");
            span.set(keys::MESSAGING_DESTINATION_NAME, self.0.subjects().stream(shard));
            span.set(keys::MESSAGING_DESTINATION_PARTITION_ID, shard.to_string());
            span.set(keys::JOB_ID, job.as_str().to_owned());
        }
        span
    }

    async fn fact<T>(
        &self,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
        write: impl AsyncFnOnce(TraceContext) -> Result<T, LogError>,
    ) -> Result<T, LogError> {
        let own = telemetry::child_of(trace);
        let kind = fact.kind();
        let mut span = self.publish(job, kind, trace, own);
        span.set(keys::RECORD_KIND, kind);
        let started = Instant::now();
        let written = write(own).await;
        measured(kind, started, written.as_ref().err(), &mut span);
        written
    }
}

fn measured(kind: &'static str, started: Instant, error: Option<&LogError>, span: &mut Span) {
    let error = error.map_or("", error_type);
    if !error.is_empty() {
        span.fail(error);
    }
    INSTRUMENTS.duration.record(
        started.elapsed().as_secs_f64(),
        &[
            KeyValue::new(keys::MESSAGING_OPERATION_NAME, "publish"),
            KeyValue::new(keys::MESSAGING_SYSTEM, "nats"),
            KeyValue::new(keys::RECORD_KIND, kind),
            KeyValue::new(keys::ERROR_TYPE, error),
        ],
    );
}

fn error_type(error: &LogError) -> &'static str {
    if error.is_transient() { "unavailable" } else { "refused" }
}

/// Returns the unit of work and the attempt of a decision; `None` for a note or the end of a job.
fn work_of(decision: &Decision) -> Option<(&WorkId, u32)> {
    match decision {
        Decision::Plan(work) => Some((&work.work, work.attempt.0)),
        Decision::Turn(work) => Some((&work.work, work.attempt.0)),
        Decision::Call(work) => Some((&work.work, work.attempt.0)),
        Decision::Wait(wait) => Some((&wait.work, wait.attempt.0)),
        Decision::Ask(ask) => Some((&ask.work, 1)),
        Decision::Spawn(work) => Some((&work.work, work.attempt.0)),
        Decision::Done(done) => Some(done.first.work()),
        Decision::Note(_) | Decision::Finish(_) => None,
    }
}

/// Returns the context that travels with a decision. The span id of a question is derived, so that
/// the span of its answer can link to it.
fn context_of(job: &JobId, decision: &Decision, trace: TraceContext) -> TraceContext {
    let Decision::Ask(ask) = decision else { return telemetry::child_of(trace) };
    trace.child(telemetry::of_ask(job, &ask.question.id))
}

#[async_trait]
impl Writer for Observed {
    async fn submit(
        &self,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Submission, LogError> {
        self.fact(job, fact, trace, async |own| self.0.submit(job, fact, own).await).await
    }

    async fn append_from(
        &self,
        source: &Source,
        job: &JobId,
        fact: &Fact,
        trace: TraceContext,
    ) -> Result<Seq, LogError> {
        self.fact(job, fact, trace, async |own| self.0.append_from(source, job, fact, own).await)
            .await
    }

    async fn append_after(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let stored = async |own| self.0.append_after(job, fact, after, own).await;
        self.fact(job, fact, trace, stored).await
    }

    async fn answer(
        &self,
        job: &JobId,
        fact: &Fact,
        after: Seq,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        self.fact(job, fact, trace, async |own| self.0.answer(job, fact, after, own).await).await
    }

    async fn decide(
        &self,
        job: &JobId,
        decision: &Decision,
        after: Seq,
        disarm: Option<&TimerName>,
        trace: TraceContext,
    ) -> Result<CasOutcome, LogError> {
        let own = context_of(job, decision, trace);
        let kind = decision.kind().as_str();
        let mut span = self.publish(job, kind, trace, own);
        let work = work_of(decision);
        if let (true, Some((work, attempt))) = (span.is_recording(), work) {
            span.set(keys::WORK, work.as_str().to_owned());
            span.set(keys::ATTEMPT, i64::from(attempt));
        }
        let started = Instant::now();
        let stored = self.0.decide(job, decision, after, disarm, own).await;
        measured(kind, started, stored.as_ref().err(), &mut span);
        match &stored {
            Ok(CasOutcome::Stored(seq)) => {
                span.set(keys::SEQ, i64::try_from(seq.0).unwrap_or(i64::MAX));
                INSTRUMENTS.transitions.add(1, &transition("do", kind));
                if work.is_some_and(|(_, attempt)| attempt > 1) {
                    INSTRUMENTS.retries.add(1, &[KeyValue::new(keys::RECORD_KIND, kind)]);
                }
            }
            Ok(CasOutcome::Conflict) => {
                span.fail("conflict");
                INSTRUMENTS.conflicts.add(1, &[]);
            }
            Err(_) => {}
        }
        stored
    }

    async fn arm(
        &self,
        job: &JobId,
        timer: &TimerName,
        at: Timestamp,
        trace: TraceContext,
    ) -> Result<(), LogError> {
        self.0.arm(job, timer, at, trace).await
    }

    async fn disarm(&self, job: &JobId, timer: &TimerName) -> Result<(), LogError> {
        self.0.disarm(job, timer).await
    }
}
