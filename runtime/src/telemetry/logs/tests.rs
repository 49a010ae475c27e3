//! Tests of the fields of log lines, and of the exported records.

use std::{
    io,
    sync::{Arc, Mutex},
};

use opentelemetry::{
    logs::AnyValue,
    trace::{SpanId, TraceId},
};
use opentelemetry_sdk::logs::{InMemoryLogExporter, SdkLoggerProvider};
use serde_json::Value;
use tracing_subscriber::{Registry, fmt::MakeWriter};

use super::*;
use crate::telemetry::{TelemetryError, trace};

/// A writer that keeps its input in memory.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Kept {
    type Writer = Self;
    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Kept {
    fn lines(&self) -> Vec<Value> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn written(say: impl FnOnce()) -> Vec<Value> {
    let kept = Kept::default();
    let layer = tracing_subscriber::fmt::layer()
        .fmt_fields(JsonFields::new())
        .with_writer(kept.clone())
        .event_format(Json::of(None));
    tracing::subscriber::with_default(Registry::default().with(layer), say);
    kept.lines()
}

#[test]
fn a_line_has_the_fields_of_the_spans_around_it() {
    let lines = written(|| {
        let outer =
            tracing::error_span!("job", job = "j1", shard = 3, trace_id = tracing::field::Empty);
        outer.record("trace_id", "abc");
        outer.in_scope(|| {
            tracing::error_span!("task", seq = 7_u64, shard = 4).in_scope(|| {
                tracing::warn!(error = %"no\nluck", "it failed");
            });
        });
        tracing::info!("outside");
    });
    assert_eq!(lines[0]["message"], "it failed");
    assert_eq!((&lines[0]["job"], &lines[0]["trace_id"]), (&"j1".into(), &"abc".into()));
    assert_eq!((&lines[0]["shard"], &lines[0]["seq"]), (&4.into(), &7.into()));
    assert_eq!(lines[0]["error"], "no\nluck");
    assert!(lines[1].get("job").is_none() && lines[1]["level"] == "INFO");
}

#[test]
fn a_field_of_any_type_that_is_named_like_a_keyword_has_the_plain_name() {
    let lines = written(|| {
        tracing::info!(
            r#type = "text",
            r#match = true,
            r#loop = -1,
            r#move = 7_u64,
            r#in = 0.5,
            ""
        );
    });
    for name in ["type", "match", "loop", "move", "in"] {
        assert!(!lines[0][name].is_null(), "{name}: {}", lines[0]);
    }
}

#[test]
fn a_field_has_a_bound() {
    let lines = written(|| tracing::info!(long = "x".repeat(100_000), "said"));
    assert!(lines[0]["long"].as_str().unwrap().len() < 10_000);
}

#[test]
fn what_is_sent_carries_its_trace_and_its_job() {
    let exporter = InMemoryLogExporter::default();
    let provider = SdkLoggerProvider::builder()
        .with_log_processor(Correlate)
        .with_simple_exporter(exporter.clone())
        .build();
    let trace = trace::new_trace();
    let subscriber = Registry::default().with(bridge(&provider));
    tracing::subscriber::with_default(subscriber, || {
        let id = format!("{:032x}", trace.trace_id());
        let span = format!("{:016x}", trace.span_id());
        tracing::error_span!("task", job = "j1", trace_id = id, span_id = span)
            .in_scope(|| tracing::warn!("inside"));
        tracing::warn!(target: "hyper::client", "what sends the log is not sent");
        tracing::warn!("outside");
    });
    let sent = exporter.get_emitted_logs().unwrap();
    assert_eq!(sent.len(), 2);
    let context = sent[0].record.trace_context().unwrap();
    assert_eq!(context.trace_id, TraceId::from(trace.trace_id()));
    assert_eq!(context.span_id, SpanId::from(trace.span_id()));
    let job = sent[0].record.attributes_iter().find(|(key, _)| key.as_str() == "callboard.job.id");
    assert_eq!(job.map(|(_, value)| value), Some(&AnyValue::from("j1")));
    assert!(sent[1].record.trace_context().is_none());
}

#[test]
fn the_level_can_be_changed_and_a_wrong_one_changes_nothing() {
    let level = LogLevel::detached("info");
    level.set("debug,callboard_runtime=trace").unwrap();
    assert!(matches!(level.set("a=b=c=d"), Err(TelemetryError::Filter(_))));
    assert_eq!(level.get(), "debug,callboard_runtime=trace");
}
