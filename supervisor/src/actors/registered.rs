//! The comparison of calls with the tool registry, before they are stored.

use broker::{Broker, kv::KvError};
use proto::{decision::CallWork, id::JobId, work_error::WorkError};
use runtime::registry::Registry;

use machine::registry_refusal;

/// Returns the reason for which the registry refuses the call, if it does.
///
/// The cached registry may be older than the one a worker saw, so an entry that contradicts the
/// call is read from the broker before the call is refused.
///
/// # Errors
/// Returns an error if the registry cannot be read.
pub(super) async fn refusal(
    job: &JobId,
    call: &CallWork,
    registry: &Registry,
    broker: &Broker,
) -> Result<Option<WorkError>, KvError> {
    let kept = registry.get(&call.tool);
    if registry_refusal(call, kept.as_deref().map(|kept| &kept.spec)).is_none() {
        return Ok(None);
    }
    let now = Registry::read(broker, &call.tool).await?;
    let refused = registry_refusal(call, now.as_ref().map(|now| &now.spec));
    if refused.is_some() {
        tracing::warn!(%job, work = %call.work, tool = %call.tool, "a call contradicts the registry; it is not sent");
    }
    Ok(refused)
}
