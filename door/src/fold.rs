//! Folds jobs for those who ask, each apart from the others: a fold that breaks ends one request.

use std::panic::{AssertUnwindSafe, catch_unwind};

use broker::log::Log;
use machine::events::Projection;
use machine::{Job, replay};
use proto::{
    entry::Entry,
    error::{Code, Failure},
    event::Event,
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

/// Folds what came since; reads the whole log anew when the job was rolled back. The job must not be
/// used any more after an error.
pub(super) async fn more(log: &dyn Log, job: &mut Job, entries: &[Entry]) -> Result<(), Failure> {
    let id = job.id().clone();
    apart(&id, || entries.iter().for_each(|entry| job.take(entry)))?;
    anew(log, job).await
}

/// Folds a job anew that was rolled back. Not further than what was handed over: whoever follows the
/// log is handed the rest.
async fn anew(log: &dyn Log, job: &mut Job) -> Result<(), Failure> {
    if job.must_be_refolded() {
        let mut entries = read(log, job.id()).await?;
        entries.retain(|entry| entry.seq <= job.seq());
        *job = whole(&job.id().clone(), &entries)?;
    }
    Ok(())
}

/// Folds what came since, and gives what happened with it. The job must not be used any more after an
/// error. Before there is a submission that can be read, nothing has happened.
pub(super) async fn events(
    log: &dyn Log,
    job: &mut Job,
    projection: &mut Projection,
    entries: &[Entry],
) -> Result<Vec<Event>, Failure> {
    let id = job.id().clone();
    let mut events = Vec::new();
    for entry in entries {
        if entry.seq <= job.seq() {
            continue;
        }
        apart(&id, || job.take(entry))?;
        anew(log, job).await?;
        events.extend(apart(&id, || {
            let Some(after) = job.view() else { return Vec::new() };
            let known = entry.record.as_ref().ok().and_then(|record| record.known().ok());
            projection.take(entry.seq, entry.time, known.as_ref(), after)
        })?);
    }
    Ok(events)
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
        tracing::error!(%job, "a fold broke");
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
