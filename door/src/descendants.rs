//! Irreversible calls that descendants of a job have begun: a caller that takes the job
//! back, or continues it elsewhere, repeats their work in other jobs. Reads their logs and
//! decides nothing.

use broker::log::Log;
use proto::{
    error::{Code, Failure},
    id::{JobId, Seq},
};

use super::{fold, rollback::Past};

/// Refuses when some of these jobs, or of those below them, began a tool that must not run twice.
/// `field` is where the point was given.
///
/// # Errors
/// `would_repeat`, which names the calls; what the log says when it cannot be read.
pub(super) async fn check(log: &dyn Log, jobs: Vec<JobId>, field: &str) -> Result<(), Failure> {
    let (mut begun, mut left) = (Vec::new(), jobs);
    while let Some(job) = left.pop() {
        let entries = log.read(&job, Seq(0)).await?;
        let all = fold::apart(&job, || Past::of(&job, &entries).repeated(Seq(0)))?;
        begun.extend(all.calls.iter().map(|(tool, work)| format!("{tool} ({work} of {job})")));
        left.extend(all.children);
    }
    if begun.is_empty() {
        return Ok(());
    }
    let why = format!(
        "{field}: child jobs would run again, and with them calls that must not run twice: {}",
        begun.join(", ")
    );
    Err(Failure::new(Code::WouldRepeat, why).at(field))
}
