//! Ids of spans that several processes must agree on without telling each other: they are made from
//! what the span is of. And the generator through which the SDK takes an id that is known already.

use std::cell::Cell;

use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use proto::{
    id::{AskId, JobId, Seq},
    trace::TraceContext,
};
use sha2::{Digest, Sha256};

/// The span of a stretch of a job's life in which it was not only waiting for a person or the clock;
/// it begins with the fact at `from`. Everything the job does in that stretch is below it.
#[must_use]
pub fn of_stretch(job: &JobId, from: Seq) -> u64 {
    derived(&["stretch", job.as_str(), &from.to_string()])
}

/// The span in which a question was put, which the answer is linked to, days later.
#[must_use]
pub fn of_ask(job: &JobId, ask: &AskId) -> u64 {
    derived(&["ask", job.as_str(), ask.as_str()])
}

fn derived(parts: &[&str]) -> u64 {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let digest = hash.finalize();
    let first: [u8; 8] = std::array::from_fn(|at| digest[at]);
    u64::from_be_bytes(first).max(1)
}

thread_local! {
    static NEXT: Cell<Option<TraceContext>> = const { Cell::new(None) };
}

/// Has the SDK give the span that is built inside `build` the ids of a context.
pub(super) fn with_ids<T>(context: TraceContext, build: impl FnOnce() -> T) -> T {
    NEXT.set(Some(context));
    let built = build();
    NEXT.set(None);
    built
}

/// Random ids, unless [`with_ids`] said which.
#[derive(Debug, Default)]
pub(super) struct Ids(RandomIdGenerator);

impl IdGenerator for Ids {
    fn new_trace_id(&self) -> TraceId {
        NEXT.get().map_or_else(|| self.0.new_trace_id(), |next| TraceId::from(next.trace_id()))
    }

    fn new_span_id(&self) -> SpanId {
        NEXT.get().map_or_else(|| self.0.new_span_id(), |next| SpanId::from(next.span_id()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_derives_an_id_gets_the_same_one() {
        let job = JobId::new("job-1").unwrap();
        assert_eq!(of_stretch(&job, Seq(7)), of_stretch(&job, Seq(7)));
        assert_ne!(of_stretch(&job, Seq(7)), of_stretch(&job, Seq(8)));
        let ask = AskId::new("7").unwrap();
        assert_ne!(of_stretch(&job, Seq(7)), of_ask(&job, &ask));
    }

    #[test]
    fn only_the_span_inside_gets_the_ids() {
        let context = TraceContext::new(3, 4, true);
        let ids = Ids::default();
        let span = with_ids(context, || ids.new_span_id());
        assert_eq!(span, SpanId::from(4u64));
        assert_ne!(ids.new_span_id(), span);
    }
}
