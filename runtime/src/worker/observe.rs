//! Measurements of a worker: each command that it processes, and each dead letter. They influence
//! nothing.

use std::{sync::LazyLock, time::Instant};

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram},
};
use proto::{
    decision::{Decision, DecisionKind, pools},
    id::{Attempt, JobId, Seq},
    trace::TraceContext,
};

use crate::telemetry::{self, Kind, SECONDS, Span, keys};

/// The outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Outcome {
    /// It was carried out.
    Done,
    /// The job no longer needed its result.
    Unwanted,
    /// The process gave it back, or lost its lease.
    GivenUp,
    /// It exceeded the bound of deliveries.
    Lost,
    /// Its actor panicked.
    Broken,
}

static PROCESS: LazyLock<Histogram<f64>> = LazyLock::new(|| {
    telemetry::histogram(
        "messaging.process.duration",
        "Time from the delivery of a command to its acknowledgement.",
        SECONDS,
    )
});

static DEAD_LETTERS: LazyLock<Counter<u64>> = LazyLock::new(|| {
    let counter = telemetry::meter()
        .u64_counter("callboard.dead_letters")
        .with_description("Commands and records that became dead letters.")
        .build();
    for reason in ["lost", "unreadable", "unstorable", "panicked"] {
        counter.add(0, &[KeyValue::new(keys::DEAD_LETTER_REASON, reason)]);
    }
    counter
});

/// Registers the dead-letter counters at zero: Prometheus misses the first increment of a counter
/// that did not exist.
pub(crate) fn count_from_zero() {
    LazyLock::force(&DEAD_LETTERS);
}

static REDELIVERIES: LazyLock<Counter<u64>> = LazyLock::new(|| {
    telemetry::meter()
        .u64_counter("callboard.redeliveries")
        .with_description("Facts and commands that were delivered more than once.")
        .build()
});

/// Counts a dead letter. The reason is `lost`, `unreadable`, `unstorable` or `panicked`.
pub fn dead_letter(reason: &'static str) {
    DEAD_LETTERS.add(1, &[KeyValue::new(keys::DEAD_LETTER_REASON, reason)]);
}

/// Counts a fact (`in`) or a command (`do`) that was delivered more than once. `kind` must be a
/// label of [`proto::record::kind_label`], because the writer of a record may invent kinds, and
/// each would be a new time series.
pub fn redelivered(family: &'static str, kind: &'static str) {
    REDELIVERIES.add(
        1,
        &[KeyValue::new(keys::RECORD_FAMILY, family), KeyValue::new(keys::RECORD_KIND, kind)],
    );
}

/// A command that is about to be processed.
pub(super) struct Begun<'a> {
    /// Prefix of all subjects.
    pub(super) prefix: &'a str,
    pub(super) job: &'a JobId,
    pub(super) decision: &'a Decision,
    /// Position of the command, or of the last record before it if it is not stored.
    pub(super) seq: Seq,
    /// Trace of its job.
    pub(super) trace: Option<TraceContext>,
    /// Number of deliveries; `None` if it comes from no queue.
    pub(super) delivered: Option<u64>,
}

/// A command in process.
pub(super) struct Process {
    span: Span,
    template: String,
    started: Instant,
}

impl Process {
    pub(super) fn start(at: &Begun<'_>, own: TraceContext) -> Self {
        let Begun { prefix, job, decision, seq, trace, delivered } = *at;
        let kind = decision.kind().as_str();
        let template = match delivered {
            Some(_) => format!("{prefix}.{{shard}}.{{job}}.do.{kind}.{}", decision.pool()),
            None => {
                format!("{prefix}.{{shard}}.{{job}}.do.{}.{}", DecisionKind::Done, pools::nobody())
            }
        };
        if delivered.is_some_and(|delivered| delivered > 1) {
            redelivered("do", kind);
        }
        let role = if delivered.is_some() { Kind::Consumer } else { Kind::Internal };
        let mut span = Span::start(own, trace, role, || format!("process {kind}"));
        if span.is_recording() {
            span.set(keys::MESSAGING_SYSTEM, "nats");
            span.set(keys::MESSAGING_OPERATION_NAME, "process");
            span.set(keys::MESSAGING_OPERATION_TYPE, "process");
            span.set(keys::MESSAGING_DESTINATION_TEMPLATE, template.clone());
            if let Some(delivered) = delivered {
                span.set(keys::SEQ, i64::try_from(seq.0).unwrap_or(i64::MAX));
                span.set(keys::DELIVERED, i64::try_from(delivered).unwrap_or(i64::MAX));
            }
            describe(&mut span, job, decision);
        }
        Self { span, template, started: Instant::now() }
    }

    pub(super) fn end(mut self, outcome: Outcome) {
        self.span.set(keys::OUTCOME, <&str>::from(outcome));
        match outcome {
            Outcome::Done | Outcome::Unwanted => {}
            Outcome::GivenUp | Outcome::Lost | Outcome::Broken => self.span.fail(outcome.into()),
        }
        if outcome == Outcome::Lost {
            dead_letter("lost");
        }
        PROCESS.record(
            self.started.elapsed().as_secs_f64(),
            &[
                KeyValue::new(keys::MESSAGING_SYSTEM, "nats"),
                KeyValue::new(keys::MESSAGING_OPERATION_NAME, "process"),
                KeyValue::new(keys::MESSAGING_DESTINATION_TEMPLATE, self.template),
                KeyValue::new(keys::OUTCOME, <&str>::from(outcome)),
            ],
        );
    }
}

/// Sets the attributes of a command.
fn describe(span: &mut Span, job: &JobId, decision: &Decision) {
    match decision {
        Decision::Plan(plan) => span.work(job, &plan.work, plan.attempt),
        Decision::Wait(wait) => span.work(job, &wait.work, wait.attempt),
        Decision::Done(done) => describe(span, job, &done.first.command()),
        Decision::Spawn(work) => span.work(job, &work.work, work.attempt),
        Decision::Turn(turn) => {
            span.work(job, &turn.work, turn.attempt);
            span.set(keys::STEP_ID, turn.step.as_str().to_owned());
        }
        Decision::Call(call) => {
            span.work(job, &call.work, call.attempt);
            span.set(keys::STEP_ID, call.step.as_str().to_owned());
            span.set(keys::GEN_AI_TOOL_NAME, call.tool.as_str().to_owned());
        }
        Decision::Ask(ask) => {
            span.work(job, &ask.work, Attempt::FIRST);
            span.set(keys::ASK_ID, ask.question.id.as_str().to_owned());
        }
        Decision::Note(_) | Decision::Finish(_) => span.set(keys::JOB_ID, job.as_str().to_owned()),
    }
}
