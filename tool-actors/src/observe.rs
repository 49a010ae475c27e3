//! Telemetry of a call: an `execute_tool` span and the tool's duration. The span contains arguments
//! and results only as [`Content`] permits.

use std::{sync::LazyLock, time::Duration};

use opentelemetry::KeyValue;
use proto::{decision::CallWork, id::JobId, tool::ToolResult, trace::TraceContext};
use runtime::telemetry::{self, Content, Histogram, Kind, SECONDS, Span, keys};
use tokio::time::Instant;

use crate::tool::ToolFault;

/// Metric label of tools that are not in this toolset: a command may contain any name.
const OTHER: &str = "other";
/// Metric label of a call that was cancelled.
const CANCELED: &str = "canceled";
/// Metric label of a call that the tool itself answered with a failure.
const FAILED: &str = "failed";

static DURATION: LazyLock<Histogram<f64>> =
    LazyLock::new(|| telemetry::histogram("callboard.tool.duration", "A tool call.", SECONDS));

/// A running call. Recorded when it ends, or as cancelled when it is dropped before.
#[derive(Debug)]
pub(crate) struct Execution<'a> {
    span: Span,
    tool: &'a str,
    content: Option<&'a Content>,
    begun: Instant,
    ran: bool,
    ended: bool,
}

impl<'a> Execution<'a> {
    /// Starts the span `own` below `parent`.
    pub(crate) fn start(
        job: &JobId,
        call: &'a CallWork,
        (parent, own): (TraceContext, TraceContext),
        is_known: bool,
        content: Option<&'a Content>,
    ) -> Self {
        let name = call.tool.as_str();
        let mut span =
            Span::start(own, Some(parent), Kind::Internal, || format!("execute_tool {name}"));
        if span.is_recording() {
            span.set(keys::GEN_AI_OPERATION_NAME, "execute_tool");
            span.set(keys::GEN_AI_TOOL_NAME, name.to_owned());
            span.set(keys::GEN_AI_TOOL_TYPE, "function");
            span.set(keys::GEN_AI_TOOL_CALL_ID, call.work.as_str().to_owned());
            span.set(keys::STEP_ID, call.step.as_str().to_owned());
            span.work(job, &call.work, call.attempt);
            if let Some(content) = content {
                span.content(keys::GEN_AI_TOOL_CALL_ARGUMENTS, || {
                    content.show(&call.args.to_string())
                });
            }
        }
        let tool = if is_known { name } else { OTHER };
        Self { span, tool, content, begun: Instant::now(), ran: false, ended: false }
    }

    /// Marks the start of the tool itself, after the guards and the wait for a slot.
    pub(crate) fn begin(&mut self) {
        self.begun = Instant::now();
        self.ran = true;
    }

    /// Records the end of the call. Returns the tool's own time in milliseconds; 0 if the tool
    /// never ran.
    pub(crate) fn end(mut self, ended: &Result<ToolResult, ToolFault>) -> u64 {
        if let (Ok(result), Some(content)) = (ended, self.content) {
            self.span.content(keys::GEN_AI_TOOL_CALL_RESULT, || {
                content.show(&serde_json::to_string(result).unwrap_or_default())
            });
        }
        self.record(match ended {
            Ok(ToolResult { success: true, .. }) => "",
            Ok(_) => FAILED,
            Err(fault) => fault.fault.as_str(),
        });
        let took = if self.ran { self.begun.elapsed() } else { Duration::ZERO };
        u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
    }

    fn record(&mut self, error: &'static str) {
        self.ended = true;
        if !error.is_empty() {
            self.span.fail(error);
        }
        DURATION.record(
            self.begun.elapsed().as_secs_f64(),
            &[
                KeyValue::new(keys::GEN_AI_TOOL_NAME, self.tool.to_owned()),
                KeyValue::new(keys::ERROR_TYPE, error),
            ],
        );
    }
}

impl Drop for Execution<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.record(CANCELED);
        }
    }
}
