//! The metrics of one activation, and its place in the job's trace.
//!
//! The trace of a job has, below the span that published the submission, one `invoke_agent` span
//! for each stretch. A stretch begins with the fact that finds no command with a worker, and ends
//! when the job waits for a person or a timer, or ends. Its span is recorded only then, so that no
//! span is open while a job is parked. Its id is derived from that first fact, so that every
//! process knows it. Below it is one `process` span per activation, and below that one span per
//! write.

use std::time::Instant;

use broker::log::Delivery;
use machine::{Job, JobStatus};
use proto::{id::Seq, trace::TraceContext};
use runtime::{
    observed::count_fact,
    telemetry::{self, Kind, Span, keys},
    worker::{dead_letter, redelivered},
};

use super::{Census, INSTRUMENTS, Labels, figures::is_untouched, ignored, label, submitted};
use crate::activation::{CountedStatus, Intake, kind};

/// The changes of one job that metrics do not count yet. They survive an activation that is given
/// up and are counted with the next successful one.
#[derive(Debug, Default)]
pub(in crate::actors) struct Tally {
    /// Status at the last count; `None` before the first activation.
    before: Option<CountedStatus>,
    /// `true` if a fact arrived for the first time.
    fresh: bool,
    /// `true` if this supervisor stored the job's first decision.
    began: bool,
    /// `true` if this supervisor stored the job's end.
    ended: bool,
}

impl Tally {
    /// Records a decision that this supervisor stored, or most likely did.
    pub(in crate::actors) fn stored(&mut self, is_first: bool, is_end: bool) {
        self.began |= is_first;
        self.ended |= is_end;
    }

    /// Returns `true` if anything is uncounted.
    pub(in crate::actors) fn is_owed(&self) -> bool {
        self.fresh || self.began || self.ended
    }
}

/// An activation whose facts are not folded yet.
#[derive(Debug)]
pub(in crate::actors) struct ActivationTimer {
    started: Instant,
}

/// An activation whose facts are folded.
#[derive(Debug)]
pub(in crate::actors) struct ActivationSpan {
    started: Instant,
    span: Span,
    /// Context that the spans of writes have as parent.
    pub(in crate::actors) trace: TraceContext,
    /// Context of the stretch's span.
    stretch: TraceContext,
    /// Context of the job's submission.
    root: TraceContext,
}

/// The metrics of the job's shard.
#[derive(Debug, Clone, Copy)]
pub(in crate::actors) struct ShardFigures<'a> {
    pub(in crate::actors) census: &'a Census,
    pub(in crate::actors) labels: &'a Labels,
}

impl ActivationTimer {
    /// Starts the timer and counts the deliveries.
    pub(in crate::actors) fn start<'a>(
        facts: impl Iterator<Item = &'a Delivery>,
        tally: &mut Tally,
    ) -> Self {
        for fact in facts {
            let kind = kind(&fact.entry);
            if fact.delivered > 1 {
                redelivered("in", kind);
            } else {
                tally.fresh = true;
                count_fact(kind);
            }
        }
        Self { started: Instant::now() }
    }

    /// Starts the span of the activation, now that its facts are folded. `root` is the context of
    /// the submission.
    pub(in crate::actors) fn folded<'a>(
        self,
        job: &Job,
        root: TraceContext,
        facts: impl ExactSizeIterator<Item = &'a Delivery> + Clone,
        intake: &Intake,
        tally: &mut Tally,
    ) -> ActivationSpan {
        intake.ignored.iter().copied().for_each(ignored);
        if tally.before.is_none() {
            tally.before.clone_from(&intake.before);
        }
        let stretch = root.child(telemetry::of_stretch(job.id(), job.awake().seq));
        let trace = telemetry::child_of(stretch);
        let mut span = Span::start(trace, Some(stretch), Kind::Consumer, || {
            format!("process {}", facts.clone().next().map_or("look", |fact| kind(&fact.entry)))
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
        ActivationSpan { started: self.started, span, trace, stretch, root }
    }
}

impl ActivationSpan {
    /// Ends the span and counts the changes of an activation that was not given up.
    pub(in crate::actors) fn end(self, job: &Job, place: ShardFigures<'_>, tally: &mut Tally) {
        drop(self.span);
        INSTRUMENTS.decision.record(self.started.elapsed().as_secs_f64(), &[]);
        let now = CountedStatus::of(job);
        let Tally { before, fresh, began, ended } = std::mem::take(tally);
        let before = before.unwrap_or_default();
        if let Some(standing) = &now.standing {
            // A submission is counted once in a job's life: by the supervisor that stored the first
            // decision or, if none can follow, by the one that received the submission.
            let is_undecided = job.last_decision() == Seq(0);
            if began && before.standing.as_ref().is_none_or(is_untouched)
                || fresh && is_undecided && before.standing.is_none()
            {
                submitted(standing, place.labels);
            }
            if ended && now.is_over() {
                super::ended(job, standing, place.labels);
            }
            for axis in now.near.iter().filter(|axis| !before.near.contains(axis)) {
                super::warned(*axis, standing, place.labels);
            }
            place.census.moved(job, before.standing.as_ref(), standing);
            if fresh && !before.is_over() && !job.has_work_out() {
                stretch(job, self.root, self.stretch, standing);
            }
        }
        if now.is_parked && !before.is_parked {
            dead_letter("unreadable");
        }
        tally.before = Some(now);
    }
}

/// Records the span of a finished stretch.
fn stretch(job: &Job, root: TraceContext, own: TraceContext, standing: &JobStatus) {
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
