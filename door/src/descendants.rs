//! The check for irreversible calls in a job's descendants, whose work a rollback or a fork of the
//! job repeats in new jobs. The check reads their logs and decides nothing.

use broker::log::Reader;
use proto::{
    error::{Code, Failure},
    id::{JobId, Seq},
};

use super::{fold, rollback::Past};

/// Refuses the request if these jobs or their descendants started a tool that must not run twice.
/// `field` is the request's field with the target.
///
/// # Errors
/// Returns `would_repeat` with the calls, or an error if a log cannot be read.
pub(super) async fn check(log: &dyn Reader, jobs: Vec<JobId>, field: &str) -> Result<(), Failure> {
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
