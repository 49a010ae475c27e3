//! Folds of jobs for requests. Each is isolated, so a panic of the fold fails one request only.

use std::{
    fmt::Display,
    panic::{AssertUnwindSafe, catch_unwind},
};

use broker::log::Reader;
use machine::{Job, replay};
use proto::{
    entry::Entry,
    error::{Code, Failure},
    id::{JobId, Seq},
    refusal::Text,
    view::{JobSummary, JobView},
};

/// Returns a job's whole log, or `not_found` if it is empty.
pub(super) async fn read(log: &dyn Reader, job: &JobId) -> Result<Vec<Entry>, Failure> {
    let entries = log.read(job, Seq(0)).await?;
    if entries.is_empty() {
        return Err(missing(job));
    }
    Ok(entries)
}

/// Returns the error for a job that is not stored.
pub(super) fn missing(job: &JobId) -> Failure {
    Failure::of(Code::NotFound, Text::NoJob { job }).at("job")
}

/// Folds a whole log.
pub(super) fn whole(job: &JobId, entries: &[Entry]) -> Result<Job, Failure> {
    apart(job, || replay(job, entries))
}

/// Folds further entries. After an error the job must not be used any more.
pub(super) async fn more(
    log: &dyn Reader,
    job: &mut Job,
    entries: &[Entry],
) -> Result<(), Failure> {
    let id = job.id().clone();
    apart(&id, || entries.iter().for_each(|entry| job.take(entry)))?;
    after_rollback(log, job).await
}

/// Folds a rolled-back job again from its first record, up to its present position: a follower of
/// the log delivers the rest.
pub(super) async fn after_rollback(log: &dyn Reader, job: &mut Job) -> Result<(), Failure> {
    if job.must_be_refolded() {
        let mut entries = read(log, job.id()).await?;
        entries.retain(|entry| entry.seq <= job.seq());
        *job = whole(&job.id().clone(), &entries)?;
    }
    Ok(())
}

/// Returns the view of the job.
pub(super) fn view(job: &Job) -> Result<JobView, Failure> {
    apart(job.id(), || job.view())?.ok_or_else(|| unsubmitted(job))
}

/// Returns the job's row in a list.
pub(super) fn summary(job: &Job) -> Result<JobSummary, Failure> {
    apart(job.id(), || job.summary())?.ok_or_else(|| unsubmitted(job))
}

/// Returns the error for a log without a readable submission.
fn unsubmitted(job: &Job) -> Failure {
    match job.poison() {
        Some(poison) => poisoned(job.id(), poison.seq, &poison.reason),
        None => Failure::of(Code::NotFound, Text::NoJob { job: job.id() }).at("job"),
    }
}

/// Returns the error for a job that is held by an unreadable record.
pub(super) fn poisoned(job: &JobId, record: Seq, why: &dyn Display) -> Failure {
    Failure::of(Code::Poisoned, Text::ParkedAt { job, record: &record, why })
}

pub(super) fn apart<T>(job: &JobId, work: impl FnOnce() -> T) -> Result<T, Failure> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        tracing::error!(%job, "a fold panicked");
        Failure::of(Code::Internal, Text::Unfoldable { job })
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
