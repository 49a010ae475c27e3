//! Compares calls with the tool registry before they are stored. Decides nothing else.

use broker::{Broker, kv::KvError};
use proto::{
    decision::{CallWork, Decision},
    id::JobId,
};
use runtime::registry::Registry;

use machine::registry_refusal;

/// Refuses a call that is not as the registry has its tool.
///
/// The registry in memory may be behind the one that a worker saw, so an entry that contradicts the
/// call is read from the broker before the call is refused.
///
/// # Errors
/// When the registry cannot be read.
pub(super) async fn compare(
    job: &JobId,
    decision: Decision,
    registry: &Registry,
    broker: &Broker,
) -> Result<Decision, KvError> {
    let Decision::Call(call) = decision else { return Ok(decision) };
    let kept = registry.get(&call.tool);
    if registry_refusal(&call, kept.as_deref().map(|kept| &kept.spec)).is_none() {
        return Ok(Decision::Call(call));
    }
    let now = Registry::read(broker, &call.tool).await?;
    let refused = registry_refusal(&call, now.as_ref().map(|now| &now.spec));
    if refused.is_some() {
        tracing::warn!(%job, work = %call.work, tool = %call.tool, "a call is not as the registry has its tool; it is not sent");
    }
    Ok(Decision::Call(CallWork { refused, ..call }))
}
