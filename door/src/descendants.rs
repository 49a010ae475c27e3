//! The descendants of a job: the check for irreversible calls, which a rollback or a fork of the job
//! repeats in new jobs, and the search for work that a retry of the job makes due. Both read logs
//! and decide nothing.

use broker::log::Reader;
use machine::Job;
use proto::{
    door::EffectDone,
    error::{Code, Failure},
    id::{JobId, Seq},
    refusal::Text,
};

use super::{fold, rollback::Past};

/// Maximum number of descendants that a retry is passed on to.
const RETRIED_MAX: usize = 1_000;
/// Maximum number of descendants that a preview takes into account.
const FOLLOWED_MAX: usize = 1_000;

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

/// Adds the descendants of jobs that end with them, as far as they are running: at most
/// [`FOLLOWED_MAX`].
///
/// # Errors
/// Returns an error if a log cannot be read. A descendant that is unreadable has no further ones.
pub(super) async fn running(log: &dyn Reader, jobs: Vec<JobId>) -> Result<Vec<JobId>, Failure> {
    let (mut found, mut left) = (Vec::new(), jobs);
    while let Some(job) = left.pop() {
        if found.len() >= FOLLOWED_MAX {
            break;
        }
        let entries = log.read(&job, Seq(0)).await?;
        if let Ok(folded) = fold::whole(&job, &entries) {
            if folded.has_ended() {
                continue;
            }
            left.extend(folded.waits().children);
        }
        found.push(job);
    }
    Ok(found)
}

/// Adds the effects that these jobs and their descendants had outside.
///
/// # Errors
/// Returns an error if a log cannot be read.
pub(super) async fn outside(
    log: &dyn Reader,
    jobs: Vec<JobId>,
    effects: &mut Vec<EffectDone>,
) -> Result<(), Failure> {
    let (mut read, mut left) = (0, jobs);
    while let Some(job) = left.pop().filter(|_| read < FOLLOWED_MAX) {
        read += 1;
        let entries = log.read(&job, Seq(0)).await?;
        let (done, children) = fold::apart(&job, || {
            let past = Past::of(&job, &entries);
            (past.outside(), past.repeated(Seq(0)).children)
        })?;
        left.extend(children);
        for one in done {
            match effects.iter_mut().find(|known| known.tool == one.tool) {
                Some(known) => known.calls = known.calls.saturating_add(one.calls),
                None => effects.push(one),
            }
        }
    }
    Ok(())
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
