//! A processor that adds the trace and the job to each log record before its export, under the
//! names that spans use.

use opentelemetry::{
    InstrumentationScope, Key,
    logs::{AnyValue, LogRecord as _},
    trace::{SpanId, TraceContextExt, TraceFlags, TraceId},
};
use opentelemetry_sdk::{
    error::OTelSdkResult,
    logs::{LogProcessor, SdkLogRecord},
};

use crate::telemetry::keys;

/// The log processor that runs before the exporter.
#[derive(Debug)]
pub(in crate::telemetry) struct Correlate;

impl LogProcessor for Correlate {
    fn emit(&self, record: &mut SdkLogRecord, _: &InstrumentationScope) {
        let text = |name: &str| {
            let found = record.attributes_iter().find(|(key, _)| key.as_str() == name);
            let (_, AnyValue::String(text)) = found? else { return None };
            Some(text.as_str().to_owned())
        };
        let (job, trace, span) = (text("job"), text("trace_id"), text("span_id"));
        // The SDK has taken the ids from the current span, if there is one.
        let has_trace = opentelemetry::Context::map_current(|c| c.span().span_context().is_valid());
        let trace = trace.and_then(|trace| TraceId::from_hex(&trace).ok());
        if let (false, Some(trace)) = (has_trace, trace) {
            let span = span.and_then(|span| SpanId::from_hex(&span).ok());
            let span = span.unwrap_or(SpanId::INVALID);
            record.set_trace_context(trace, span, Some(TraceFlags::default()));
        }
        if let Some(job) = job {
            record.add_attribute(Key::from_static_str(keys::JOB_ID), AnyValue::from(job));
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: std::time::Duration) -> OTelSdkResult {
        Ok(())
    }
}
