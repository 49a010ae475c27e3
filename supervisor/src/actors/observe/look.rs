//! One look at a job: what is counted about it, and its place in the job's trace.
//!
//! The trace of a job: below the span that published the submission there is one `invoke_agent` span for
//! each stretch of the job's life. A stretch begins with the fact that finds nothing in workers' hands
//! and ends when the job waits for a person or the clock, or is over; only then is its span recorded,
//! so that none is open while a job is parked. Its id is derived from that fact, so that every process
//! knows it. Below it is one `process` span for each look, and below that what the look published.

use std::time::Instant;

use broker::log::Delivery;
use machine::{Job, Standing};
use proto::{budget::Axis, id::Seq, trace::TraceContext};
use runtime::{
    observed::count_fact,
    telemetry::{self, Kind, Span, keys},
    worker::{dead_letter, redelivered},
};

use super::{
    super::folded::kind, Census, INSTRUMENTS, Labels, figures::is_untouched, ignored, label,
    submitted,
};

/// A job as it was counted last.
#[derive(Debug, Default)]
pub(in crate::actors) struct Standpoint {
    standing: Option<Standing>,
    is_parked: bool,
    /// The limits it is near.
    near: Vec<Axis>,
}

impl Standpoint {
    pub(in crate::actors) fn of(job: &Job) -> Self {
        Self { standing: job.standing(), is_parked: job.poison().is_some(), near: job.warnings() }
    }

    fn is_over(&self) -> bool {
        self.standing.as_ref().is_some_and(|standing| standing.state.is_terminal())
    }
}

/// What taking facts in came to.
#[derive(Debug, Default)]
pub(in crate::actors) struct Taken {
    /// The job before the first of them. Only wanted of one that was not counted before.
    pub(in crate::actors) before: Option<Standpoint>,
    /// Kinds of those that changed nothing.
    pub(in crate::actors) ignored: Vec<&'static str>,
}

/// What is still to be counted about one job. Outlives looks that are given up: what they changed is
/// counted with the one that comes through.
#[derive(Debug, Default)]
pub(in crate::actors) struct Tally {
    /// Not known before the first look.
    before: Option<Standpoint>,
    /// A fact came that had not been handed out before.
    fresh: bool,
    /// The job's first decision was stored from here.
    began: bool,
    /// Its end was stored from here.
    ended: bool,
}

impl Tally {
    /// A decision was stored from here, or most likely was.
    pub(in crate::actors) fn stored(&mut self, is_first: bool, is_end: bool) {
        self.began |= is_first;
        self.ended |= is_end;
    }

    /// Whether something was taken in or stored and not counted.
    pub(in crate::actors) fn is_owed(&self) -> bool {
        self.fresh || self.began || self.ended
    }
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
}

/// Who looks, and where it is counted.
#[derive(Debug, Clone, Copy)]
pub(in crate::actors) struct Place<'a> {
    pub(in crate::actors) census: &'a Census,
    pub(in crate::actors) labels: &'a Labels,
}

impl Look {
    /// Counts the facts that are taken in hand.
    pub(in crate::actors) fn begin<'a>(
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
    pub(in crate::actors) fn taken<'a>(
        self,
        job: &Job,
        root: TraceContext,
        facts: impl ExactSizeIterator<Item = &'a Delivery> + Clone,
        taken: Taken,
        tally: &mut Tally,
    ) -> Looking {
        taken.ignored.into_iter().for_each(ignored);
        if tally.before.is_none() {
            tally.before = taken.before;
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
        Looking { started: self.started, span, trace, stretch }
    }
}

impl Looking {
    /// The look is over: every decision that follows is stored.
    pub(in crate::actors) fn over(
        self,
        job: &Job,
        root: TraceContext,
        place: Place<'_>,
        tally: &mut Tally,
    ) {
        drop(self.span);
        INSTRUMENTS.decision.record(self.started.elapsed().as_secs_f64(), &[]);
        let now = Standpoint::of(job);
        let Tally { before, fresh, began, ended } = std::mem::take(tally);
        let before = before.unwrap_or_default();
        if let Some(standing) = &now.standing {
            // Once in a job's life, whoever looks at it and however often: by whoever stored its
            // first decision, or, where nothing may follow, took it in.
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
                stretch(job, root, self.stretch, standing);
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
