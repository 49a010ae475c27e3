//! The descendants of a job: the check for irreversible calls, which a rollback or a fork of the job
//! repeats in new jobs, and the search for work that a retry of the job makes due. Both read logs
//! and decide nothing.

use broker::log::Reader;
use machine::Job;
use proto::{
    error::{Code, Failure},
    id::{JobId, Seq},
    refusal::Text,
};

use super::{fold, rollback::Past};

/// Maximum number of descendants that a retry is passed on to.
const RETRIED_MAX: usize = 1_000;

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
    let why = Text::ChildrenTwice { calls: &begun.join(", ") };
    Err(Failure::about(Code::WouldRepeat, field, why))
}

/// Returns `true` if work of the job backs off or waits for an operator.
pub(super) fn has_something_to_retry(job: &Job) -> bool {
    let waits = job.waits();
    waits.backing_off || !waits.given_up.is_empty()
}

/// Returns the running descendants of a job whose work backs off or waits for an operator. An
/// outage that holds a child holds its parent too, so a retry of the parent is one of the child.
///
/// # Errors
/// Returns an error if a log cannot be read. A descendant that is unreadable is left out.
pub(super) async fn to_retry(log: &dyn Reader, job: &Job) -> Result<Vec<JobId>, Failure> {
    let (mut found, mut left) = (Vec::new(), job.waits().children);
    while let Some(child) = left.pop() {
        let entries = log.read(&child, Seq(0)).await?;
        let Ok(folded) = fold::whole(&child, &entries) else { continue };
        left.extend(folded.waits().children);
        if has_something_to_retry(&folded) && found.len() < RETRIED_MAX {
            found.push(child);
        }
    }
    Ok(found)
}
