//! What is measured about a worker: each command that it processes, how busy its pools are, and what
//! it could not do anything with. Decides nothing.

use std::{sync::LazyLock, time::Instant};

use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram},
};
use proto::{
    decision::Decision,
    id::{Attempt, JobId},
    trace::TraceContext,
};

use super::task::Assignment;
use crate::telemetry::{self, Kind, SECONDS, Span, keys};

/// What became of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was carried out.
    Done,
    /// Nobody wanted its result any more.
    Unwanted,
    /// Another worker is to have it.
    GivenUp,
    /// It was handed out too often.
    Lost,
    /// Carrying it out panicked.
    Broken,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Unwanted => "unwanted",
            Self::GivenUp => "given_up",
            Self::Lost => "lost",
            Self::Broken => "broken",
        }
    }
}

static PROCESS: LazyLock<Histogram<f64>> = LazyLock::new(|| {
    telemetry::histogram(
        "messaging.process.duration",
        "A command, from being taken to being acknowledged.",
        SECONDS,
    )
});

static DEAD_LETTERS: LazyLock<Counter<u64>> = LazyLock::new(|| {
    let counter = telemetry::meter()
        .u64_counter("callboard.dead_letters")
        .with_description("What nobody can do anything with any more.")
        .build();
    for reason in ["lost", "unreadable", "unstorable", "panicked"] {
        counter.add(0, &[KeyValue::new(keys::DEAD_LETTER_REASON, reason)]);
    }
    counter
});

/// Shows from now on that nothing was given up yet: a growth from nothing is none to Prometheus.
pub(crate) fn count_from_zero() {
    LazyLock::force(&DEAD_LETTERS);
}

static REDELIVERIES: LazyLock<Counter<u64>> = LazyLock::new(|| {
    telemetry::meter()
        .u64_counter("callboard.redeliveries")
        .with_description("Facts and commands that were handed out more than once.")
        .build()
});

/// Counts something that nobody can do anything with: `lost`, `unreadable`, `unstorable` or
/// `panicked`.
pub fn dead_letter(reason: &'static str) {
    DEAD_LETTERS.add(1, &[KeyValue::new(keys::DEAD_LETTER_REASON, reason)]);
}

/// Counts a fact (`in`) or a command (`do`) that was handed out more than once. The kind is one of the
/// program's words, as [`proto::record::kind_label`] gives them: whoever may write a record may make
/// kinds up.
pub fn redelivered(family: &'static str, kind: &'static str) {
    REDELIVERIES.add(
        1,
        &[KeyValue::new(keys::RECORD_FAMILY, family), KeyValue::new(keys::RECORD_KIND, kind)],
    );
}

/// A command being processed.
pub(super) struct Process {
    span: Span,
    template: String,
    started: Instant,
}

impl Process {
    pub(super) fn start(at: &Assignment, decision: &Decision, own: TraceContext) -> Self {
        let (kind, pool) = (decision.kind().as_str(), decision.pool());
        let prefix = at.broker.log.subjects().prefix();
        let template = format!("{prefix}.{{shard}}.{{job}}.do.{kind}.{pool}");
        if at.delivered > 1 {
            redelivered("do", kind);
        }
        let mut span = Span::start(own, at.trace, Kind::Consumer, || format!("process {kind}"));
        if span.is_recording() {
            span.set(keys::MESSAGING_SYSTEM, "nats");
            span.set(keys::MESSAGING_OPERATION_NAME, "process");
            span.set(keys::MESSAGING_OPERATION_TYPE, "process");
            span.set(keys::MESSAGING_DESTINATION_TEMPLATE, template.clone());
            span.set(keys::SEQ, i64::try_from(at.seq.0).unwrap_or(i64::MAX));
            span.set(keys::DELIVERED, i64::try_from(at.delivered).unwrap_or(i64::MAX));
            describe(&mut span, &at.job, decision);
        }
        Self { span, template, started: Instant::now() }
    }

    pub(super) fn end(mut self, outcome: Outcome) {
        self.span.set(keys::OUTCOME, outcome.as_str());
        match outcome {
            Outcome::Done | Outcome::Unwanted => {}
            Outcome::GivenUp | Outcome::Lost | Outcome::Broken => self.span.fail(outcome.as_str()),
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
                KeyValue::new(keys::OUTCOME, outcome.as_str()),
            ],
        );
    }
}

/// What a command is about, as attributes.
fn describe(span: &mut Span, job: &JobId, decision: &Decision) {
    match decision {
        Decision::Plan(plan) => span.work(job, &plan.work, plan.attempt),
        Decision::Wait(wait) => span.work(job, &wait.work, wait.attempt),
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
