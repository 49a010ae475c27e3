//! The metrics of one activation of a job, and its place in the job's trace.
//!
//! The trace of a job: below the span that published the submission there is one `invoke_agent` span for
//! each stretch of the job's life. A stretch begins with the fact that finds no command with a worker,
//! and ends when the job waits for a person or the clock, or is over. Only then is its span recorded,
//! so that no span is open while a job is parked. Its id is derived from that fact, so that every process
//! knows it. Below it is one `process` span for each activation, and below that one for each write.

use std::time::Instant;

use broker::log::Delivery;
use machine::{Job, Standing};
use proto::{id::Seq, trace::TraceContext};
use runtime::{
    observed::count_fact,
    telemetry::{self, Kind, Span, keys},
    worker::{dead_letter, redelivered},
};

use super::{Census, INSTRUMENTS, Labels, figures::is_untouched, ignored, label, submitted};
use crate::activation::{CountedStatus, Intake, kind};

/// The changes of one job that are not counted yet. They outlive an activation that is given up, and
/// are counted with the next one that is not.
#[derive(Debug, Default)]
pub(in crate::actors) struct Tally {
    /// The status as it was counted last; unknown before the first activation.
    before: Option<CountedStatus>,
    /// A fact arrived that had not been delivered before.
    fresh: bool,
    /// This supervisor stored the first decision.
    began: bool,
    /// This supervisor stored the end.
    ended: bool,
}

impl Tally {
    /// This supervisor stored a decision, or most likely did.
    pub(in crate::actors) fn stored(&mut self, is_first: bool, is_end: bool) {
        self.began |= is_first;
        self.ended |= is_end;
    }

    /// Whether a fact or a decision is not counted yet.
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
    /// The parent of every write's span.
    pub(in crate::actors) trace: TraceContext,
    /// The span of the stretch.
    stretch: TraceContext,
    /// The context that the submission travelled with.
    root: TraceContext,
}

/// The figures of a shard.
#[derive(Debug, Clone, Copy)]
pub(in crate::actors) struct Place<'a> {
    pub(in crate::actors) census: &'a Census,
    pub(in crate::actors) labels: &'a Labels,
}

impl ActivationTimer {
    /// Counts the facts that the activation takes.
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

    /// The facts are folded; `root` is the context that the submission travelled with.
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
    /// Counts an activation whose decisions are stored.
    pub(in crate::actors) fn end(self, job: &Job, place: Place<'_>, tally: &mut Tally) {
        drop(self.span);
        INSTRUMENTS.decision.record(self.started.elapsed().as_secs_f64(), &[]);
        let now = CountedStatus::of(job);
        let Tally { before, fresh, began, ended } = std::mem::take(tally);
        let before = before.unwrap_or_default();
        if let Some(standing) = &now.standing {
            // Once in a job's life: by the supervisor that stored its first decision, or, where no
            // decision may follow, by the one that took the submission.
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
