//! The comparison of calls with the tool registry, before they are stored.

use broker::{Broker, kv::KvError};
use proto::{decision::CallWork, id::JobId, tool::ToolSpec};
use runtime::registry::Registry;

use crate::activation::Compared;
use machine::registry_refusal;

/// Returns the registry's word on a call.
///
/// The cached registry may be older than the one a worker saw, so an entry that contradicts the
/// call is read from the broker before the call is refused.
///
/// # Errors
/// Returns an error if the registry cannot be read.
pub(super) async fn compare(
    job: &JobId,
    call: &CallWork,
    registry: &Registry,
    broker: &Broker,
) -> Result<Compared, KvError> {
    let word = |spec: Option<&ToolSpec>| Compared {
        refused: registry_refusal(call, spec),
        untrusted: spec.is_some_and(|spec| spec.untrusted),
    };
    let kept = registry.get(&call.tool);
    let compared = word(kept.as_deref().map(|kept| &kept.spec));
    if compared.refused.is_none() {
        return Ok(compared);
    }
    let now = Registry::read(broker, &call.tool).await?;
    let compared = word(now.as_ref().map(|now| &now.spec));
    if compared.refused.is_some() {
        tracing::warn!(%job, work = %call.work, tool = %call.tool, "a call contradicts the registry; it is not sent");
    }
    Ok(compared)
}
