//! The execution of one call under its timeout, with panics caught and the result bounded.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use proto::tool::{Effect, Fault, ToolResult, ToolSpec};
use serde_json::Value;

use crate::tool::{CallContext, Tool, ToolFault};

/// Largest result, in bytes of JSON.
pub(crate) const RESULT_BYTES_MAX: usize = 1024 * 1024;

/// Runs a call that has passed every guard. On timeout the tool's future is dropped.
pub(crate) async fn carry_out(
    tool: &dyn Tool,
    spec: &ToolSpec,
    context: CallContext,
    args: Value,
) -> Result<ToolResult, ToolFault> {
    let limit = Duration::from_millis(spec.timeout_ms);
    let call = AssertUnwindSafe(tool.call(context, args)).catch_unwind();
    let ended = match tokio::time::timeout(limit, call).await {
        Ok(Ok(ended)) => ended,
        Ok(Err(panic)) => {
            Err(ToolFault::internal(format!("the tool panicked: {}", words(&*panic))))
        }
        Err(_) => Err(ToolFault::new(Fault::Timeout, format!("not finished within {limit:?}"))),
    };
    match ended {
        Ok(result) => Ok(bounded(result)),
        Err(fault) => Err(settle(spec.effect, fault)),
    }
}

/// Maps the fault of an interrupted `once` tool to [`Fault::Unknown`], because it may have had its
/// effect. A fault by which the tool itself reports that nothing happened is kept.
fn settle(effect: Effect, fault: ToolFault) -> ToolFault {
    let ended_unclear = match fault.fault {
        Fault::Timeout | Fault::Internal | Fault::WorkerLost => true,
        Fault::InvalidArguments
        | Fault::UnknownTool
        | Fault::VersionMismatch
        | Fault::Unavailable
        | Fault::Unknown => false,
    };
    match effect {
        Effect::Once if ended_unclear => unknown(&fault.message),
        Effect::Once | Effect::Pure | Effect::Idempotent => fault,
    }
}

/// Builds the fault of an interrupted `once` tool.
pub(crate) fn unknown(why: &str) -> ToolFault {
    ToolFault::new(
        Fault::Unknown,
        format!(
            "{why}; the effect of the tool is unknown, so Callboard does not run it again by itself"
        ),
    )
}

/// Replaces a result that is too large to store by a failure.
fn bounded(result: ToolResult) -> ToolResult {
    let size = json_bytes(&result);
    if size <= RESULT_BYTES_MAX {
        return result;
    }
    ToolResult::failed(format!(
        "the tool answered with {size} bytes; at most {RESULT_BYTES_MAX} are kept; request less"
    ))
}

fn json_bytes(result: &ToolResult) -> usize {
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Strings and JSON always serialise, and the counter accepts any number of bytes.
    let _ = serde_json::to_writer(&mut counter, result);
    counter.0
}

fn words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .map_or_else(|| "no reason given".to_owned(), |text| text.chars().take(500).collect())
}
