//! Folds of jobs for requests, each apart from the others: a fold that breaks ends one request.

use std::panic::{AssertUnwindSafe, catch_unwind};

use broker::log::Log;
use machine::{Job, replay};
use proto::{
    entry::Entry,
    error::{Code, Failure},
    id::{JobId, Seq},
    view::{JobSummary, JobView},
};

/// A job as its whole log says it is.
///
/// # Errors
/// `not_found` when there is no such job; what the log says when it cannot be read.
pub(super) async fn load(log: &dyn Log, job: &JobId) -> Result<Job, Failure> {
    let entries = read(log, job).await?;
    whole(job, &entries)
}

/// A job's whole log.
pub(super) async fn read(log: &dyn Log, job: &JobId) -> Result<Vec<Entry>, Failure> {
    let entries = log.read(job, Seq(0)).await?;
    if entries.is_empty() {
        return Err(Failure::new(Code::NotFound, format!("there is no job {job}")).at("job"));
    }
    Ok(entries)
}

/// Folds a whole log.
pub(super) fn whole(job: &JobId, entries: &[Entry]) -> Result<Job, Failure> {
    apart(job, || replay(job, entries))
}

/// Folds what came since. The job must not be used any more after an error.
pub(super) async fn more(log: &dyn Log, job: &mut Job, entries: &[Entry]) -> Result<(), Failure> {
    let id = job.id().clone();
    apart(&id, || entries.iter().for_each(|entry| job.take(entry)))?;
    after_rollback(log, job).await
}

/// Folds a job from its first record when it was rolled back. Not further than it was: a follower of
/// the log is given the rest.
async fn after_rollback(log: &dyn Log, job: &mut Job) -> Result<(), Failure> {
    if job.must_be_refolded() {
        let mut entries = read(log, job.id()).await?;
        entries.retain(|entry| entry.seq <= job.seq());
        *job = whole(&job.id().clone(), &entries)?;
    }
    Ok(())
}

/// The job as people see it.
pub(super) fn view(job: &Job) -> Result<JobView, Failure> {
    apart(job.id(), || job.view())?.ok_or_else(|| unsubmitted(job))
}

/// The job on one line.
pub(super) fn summary(job: &Job) -> Result<JobSummary, Failure> {
    apart(job.id(), || job.summary())?.ok_or_else(|| unsubmitted(job))
}

/// Records, but no submission among them that can be read.
fn unsubmitted(job: &Job) -> Failure {
    match job.poison() {
        Some(poison) => poisoned(job.id(), &format!("record {}: {}", poison.seq, poison.reason)),
        None => Failure::new(Code::NotFound, format!("there is no job {}", job.id())).at("job"),
    }
}

/// The job is parked at a record that cannot be read.
pub(super) fn poisoned(job: &JobId, why: &str) -> Failure {
    Failure::new(Code::Poisoned, format!("job {job} is parked: {why}"))
}

pub(super) fn apart<T>(job: &JobId, work: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        tracing::error!(%job, "a fold panicked");
        Failure::new(Code::Internal, format!("the log of job {job} cannot be folded"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_that_breaks_is_an_internal_error_of_that_job() {
        let job = JobId::new("j").unwrap();
        let broken = apart(&job, || panic!("on purpose")).unwrap_err();
        assert_eq!(broken.code, Code::Internal);
        assert!(broken.message.contains("job j"));
    }
}
