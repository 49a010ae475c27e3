//! Span ids that several processes derive from the span's subject, without a message between them,
//! and the generator through which the SDK takes such an id.

use std::cell::Cell;

use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry_sdk::trace::{IdGenerator, RandomIdGenerator};
use proto::{
    id::{AskId, JobId, Seq},
    trace::TraceContext,
};
use sha2::{Digest, Sha256};

/// Returns the id of the span of one stretch of a job: the time from the fact at `from` until the
/// job waits for a person or the clock alone. All spans of the job in that time are below it.
#[must_use]
pub fn of_stretch(job: &JobId, from: Seq) -> u64 {
    derived(&["stretch", job.as_str(), &from.to_string()])
}

/// Returns the id of the span in which a question was put. The span of the answer links to it,
/// perhaps days later.
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

/// Runs `build`, in which the SDK gives the next spans the ids of `context`.
pub(super) fn with_ids<T>(context: TraceContext, build: impl FnOnce() -> T) -> T {
    NEXT.set(Some(context));
    let built = build();
    NEXT.set(None);
    built
}

/// A generator of random ids, or of those that [`with_ids`] has set.
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
