//! One look at a job: what is counted about it, and its place in the job's trace.
//!
//! The trace of a job: below the span that published the submission there is one `invoke_agent` span for
//! each stretch of the job's life. A stretch begins with the fact that finds nothing in workers' hands
//! and ends when the job waits for a person or the clock, or is over; only then is its span recorded,
//! so that none is open while a job is parked. Its id is derived from that fact, so that every process
//! knows it. Below it is one `process` span for each look, and below that what the look published.

use std::time::Instant;

use proto::trace::TraceContext;
use runtime::{
    log::{Delivery, count_fact},
    telemetry::{self, Kind, Span, keys},
    worker::redelivered,
};

use super::{Census, INSTRUMENTS, Labels, ended, ignored, label, submitted};
use crate::machine::{Job, Standing};

/// What taking facts in came to.
#[derive(Debug, Default)]
pub(in crate::actors) struct Taken {
    /// Where the job stood before the first of them.
    pub(in crate::actors) before: Option<Standing>,
    /// Kinds of those that changed nothing.
    pub(in crate::actors) ignored: Vec<String>,
}

/// A look that began.
#[derive(Debug)]
pub(in crate::actors) struct Look {
    started: Instant,
}

/// A look whose facts are taken in.
#[derive(Debug)]
pub(in crate::actors) struct Looking {
    started: Instant,
    span: Span,
    /// What is published from here is below this.
    pub(in crate::actors) trace: TraceContext,
    /// The span of the stretch.
    stretch: TraceContext,
    fresh: bool,
    before: Option<Standing>,
}

/// Who looks, and where it is counted.
#[derive(Debug, Clone, Copy)]
pub(in crate::actors) struct Place<'a> {
    pub(in crate::actors) census: &'a Census,
    pub(in crate::actors) labels: &'a Labels,
}

impl Look {
    pub(in crate::actors) fn begin() -> Self {
        Self { started: Instant::now() }
    }

    /// The facts are folded; `root` is the context that the submission travelled with.
    pub(in crate::actors) fn taken<'a>(
        self,
        job: &Job,
        root: TraceContext,
        facts: impl ExactSizeIterator<Item = &'a Delivery> + Clone,
        taken: Taken,
    ) -> Looking {
        let fresh = count(facts.clone(), &taken);
        let stretch = root.child(telemetry::of_stretch(job.id(), job.awake().seq));
        let trace = telemetry::child_of(stretch);
        let mut span = Span::start(trace, Some(stretch), Kind::Consumer, || {
            let first = facts.clone().next().and_then(|fact| fact.entry.record.as_ref().ok());
            format!("process {}", first.map_or("look", |record| record.kind.as_str()))
        });
        if span.is_recording() {
            span.ago(self.started.elapsed());
            span.set(keys::MESSAGING_SYSTEM, "nats");
            span.set(keys::MESSAGING_OPERATION_NAME, "process");
            span.set(keys::MESSAGING_OPERATION_TYPE, "process");
            span.set(keys::JOB_ID, job.id().as_str().to_owned());
            let number = i64::try_from(facts.len()).unwrap_or(i64::MAX);
            span.set(keys::MESSAGING_BATCH_MESSAGE_COUNT, number);
            for fact in facts {
                fact.entry.trace.into_iter().for_each(|published| span.link(published));
                let record = fact.entry.record.as_ref().ok();
                let ask = record.filter(|r| r.kind == "answered").and(job.awake().ask.as_ref());
                if let Some(ask) = ask {
                    span.set(keys::ASK_ID, ask.as_str().to_owned());
                    span.link(root.child(telemetry::of_ask(job.id(), ask)));
                }
            }
        }
        Looking { started: self.started, span, trace, stretch, fresh, before: taken.before }
    }
}

/// Counts the facts; tells whether one of them had not been handed out before.
fn count<'a>(facts: impl Iterator<Item = &'a Delivery>, taken: &Taken) -> bool {
    let mut fresh = false;
    for fact in facts {
        let kind = fact.entry.record.as_ref().map_or("unreadable", |record| record.kind.as_str());
        if fact.delivered > 1 {
            redelivered("in", kind);
        } else {
            fresh = true;
            count_fact(kind);
        }
    }
    if fresh {
        taken.ignored.iter().for_each(|kind| ignored(kind));
    }
    fresh
}

impl Looking {
    /// The look is over: every decision that follows is stored.
    pub(in crate::actors) fn over(self, job: &Job, root: TraceContext, place: Place<'_>) {
        drop(self.span);
        INSTRUMENTS.decision.record(self.started.elapsed().as_secs_f64(), &[]);
        let Some(now) = job.standing() else { return };
        let was_open = self.before.as_ref().is_some_and(|before| !before.state.is_terminal());
        if self.before.is_none() && self.fresh {
            submitted(&now, place.labels);
        }
        if now.state.is_terminal() && (was_open || self.before.is_none()) {
            ended(job, &now, place.labels);
        }
        place.census.moved(job, self.before.as_ref(), &now);
        let was_over = self.before.as_ref().is_some_and(|before| before.state.is_terminal());
        if self.fresh && !was_over && !job.has_work_out() {
            stretch(job, root, self.stretch, &now);
        }
    }
}

/// Records the span of a stretch that is over.
fn stretch(job: &Job, root: TraceContext, own: TraceContext, standing: &Standing) {
    let mut span = Span::start(own, Some(root), Kind::Internal, || {
        format!("invoke_agent {}", standing.agent.as_str())
    });
    if !span.is_recording() {
        return;
    }
    let awake = job.awake();
    span.since(awake.time.into());
    span.set(keys::GEN_AI_OPERATION_NAME, "invoke_agent");
    span.set(keys::GEN_AI_AGENT_NAME, standing.agent.as_str().to_owned());
    span.set(keys::GEN_AI_CONVERSATION_ID, job.id().as_str().to_owned());
    span.set(keys::JOB_ID, job.id().as_str().to_owned());
    span.set(keys::JOB_STATE, standing.state.as_str());
    span.set(keys::JOB_STATUS, label::status(standing.sub_status));
    let tokens = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    span.set(keys::GEN_AI_USAGE_INPUT_TOKENS, tokens(job.usage().input_tokens));
    span.set(keys::GEN_AI_USAGE_OUTPUT_TOKENS, tokens(job.usage().output_tokens));
    if let Some(ask) = &awake.ask {
        span.link(root.child(telemetry::of_ask(job.id(), ask)));
    }
    if let Some(outcome) = job.outcome() {
        let reason = label::reason(outcome);
        if !reason.is_empty() {
            span.fail(reason);
        }
    }
}
