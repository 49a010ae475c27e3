//! `sleep`: returns after a delay. For tests of timeouts, cancellation and concurrency.

use std::time::Duration;

use async_trait::async_trait;
use proto::tool::{Effect, ToolResult, ToolSpec};
use runtime::registry::CONCURRENCY_MAX;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, read, required, spec};
use crate::tool::{CallContext, Tool, ToolFault};

/// Longest sleep, in milliseconds.
const SLEEP_MS_MAX: u64 = 600_000;

/// The tool `sleep`.
#[derive(Debug, Clone, Copy)]
pub struct Sleep;

#[derive(Deserialize)]
struct Args {
    ms: u64,
}

#[async_trait]
impl Tool for Sleep {
    fn spec(&self) -> ToolSpec {
        let ms = json!({"type": "integer", "minimum": 0, "maximum": SLEEP_MS_MAX});
        let ms = required("ms", About::SleepMs, ms);
        ToolSpec {
            timeout_ms: SLEEP_MS_MAX + 10_000,
            // A sleeping call costs only a little memory.
            concurrency: CONCURRENCY_MAX,
            ..spec("sleep", About::Sleep, Effect::Pure, &[ms])
        }
    }

    async fn call(&self, _: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { ms } = read(args)?;
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok(ToolResult::ok(json!({"ms": ms})))
    }
}
