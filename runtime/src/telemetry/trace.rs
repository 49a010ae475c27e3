//! Trace ids and contexts, in our own type and in OpenTelemetry's.

use std::{
    future::Future,
    sync::atomic::{AtomicU64, Ordering},
};

use opentelemetry::{
    Context,
    context::FutureExt,
    trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState},
};
use proto::trace::TraceContext;

/// The bound below which the low bits of a new trace's id have it recorded.
static SAMPLED_BELOW: AtomicU64 = AtomicU64::new(u64::MAX);

/// Sets the part of new traces that is recorded (0.0 to 1.0).
pub(super) fn sample(ratio: f64) {
    let below = if ratio >= 1.0 {
        u64::MAX
    } else {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0.0 to 2^64")]
        let below = (ratio.max(0.0) * 2f64.powi(64)) as u64;
        below
    };
    SAMPLED_BELOW.store(below, Ordering::Relaxed);
}

/// Returns the root context of a new trace. The trace id decides whether it is recorded, as with
/// OpenTelemetry's ratio sampler, so that all samplers agree.
#[must_use]
pub fn new_trace() -> TraceContext {
    let id = fastrand::u128(1..);
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is meant")]
    let low = id as u64;
    let below = SAMPLED_BELOW.load(Ordering::Relaxed);
    TraceContext::new(id, fastrand::u64(1..), below == u64::MAX || low < below)
}

/// Returns the context of a new span below `parent`, in the same trace.
#[must_use]
pub fn child_of(parent: TraceContext) -> TraceContext {
    parent.child(fastrand::u64(1..))
}

/// Converts the context to OpenTelemetry's own type, marked as remote. It serves as the parent of
/// exported spans.
#[must_use]
pub fn span_context(trace: TraceContext) -> SpanContext {
    let flags = if trace.is_sampled() { TraceFlags::SAMPLED } else { TraceFlags::default() };
    SpanContext::new(
        TraceId::from(trace.trace_id()),
        SpanId::from(trace.span_id()),
        flags,
        true,
        TraceState::default(),
    )
}

/// Converts the context of a span that OpenTelemetry created, for the headers of a message; `None`
/// when the context is not valid.
#[must_use]
pub fn from_span_context(span: &SpanContext) -> Option<TraceContext> {
    span.is_valid().then(|| {
        TraceContext::new(
            u128::from_be_bytes(span.trace_id().to_bytes()),
            u64::from_be_bytes(span.span_id().to_bytes()),
            span.is_sampled(),
        )
    })
}

/// Runs `inside` with `trace` as OpenTelemetry's current span. It is the parent of the spans that
/// libraries create, and correlates the log.
pub async fn within<F: Future>(trace: TraceContext, inside: F) -> F::Output {
    if super::is_tracing() {
        inside.with_context(Context::new().with_remote_span_context(span_context(trace))).await
    } else {
        inside.await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_stays_in_its_trace() {
        let parent = new_trace();
        let child = child_of(parent);
        assert_eq!(child.trace_id(), parent.trace_id());
        assert_ne!(child.span_id(), parent.span_id());
        assert_ne!(new_trace().trace_id(), parent.trace_id());
    }

    #[test]
    fn a_context_survives_opentelemetry() {
        let trace = new_trace();
        assert_eq!(from_span_context(&span_context(trace)), Some(trace));
        assert_eq!(from_span_context(&SpanContext::empty_context()), None);
    }

    #[test]
    fn the_part_of_traces_that_is_recorded_is_as_was_asked_for() {
        sample(0.25);
        let sampled = (0..4_000).filter(|_| new_trace().is_sampled()).count();
        sample(1.0);
        assert!((800..1_200).contains(&sampled), "{sampled} of 4,000");
        assert!((0..100).all(|_| new_trace().is_sampled()));
    }
}
