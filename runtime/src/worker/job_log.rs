//! Reads of a job's log on behalf of a command.

use std::time::Duration;

use broker::{
    backoff::{Backoff, Retryable},
    log::{LogError, Reader},
};
use proto::{
    entry::Entry,
    id::{JobId, Seq},
};

/// The pauses before the log is read again.
const BACKOFF: Backoff = Backoff::doubling(Duration::from_millis(100), Duration::from_secs(5));

/// Reads the whole log of a command's job. Retries for as long as the log is unreachable: the
/// command stays unacknowledged meanwhile, and uses up no attempt. The pool drops the task when
/// the job no longer needs the command.
///
/// # Errors
/// Returns permanent errors only.
pub async fn read_log<L: Reader + ?Sized>(log: &L, job: &JobId) -> Result<Vec<Entry>, LogError> {
    patiently(job, || log.read(job, Seq(0))).await
}

/// Reads the first record of a command's job, its submission, and nothing else of its log. Retries
/// as [`read_log`] does.
///
/// # Errors
/// Returns permanent errors only.
pub async fn read_first<L: Reader + ?Sized>(
    log: &L,
    job: &JobId,
) -> Result<Option<Entry>, LogError> {
    patiently(job, || log.first(job)).await
}

/// Repeats a read while the log is unreachable.
async fn patiently<T, F>(job: &JobId, read: impl FnMut() -> F) -> Result<T, LogError>
where
    F: Future<Output = Result<T, LogError>>,
{
    read.retry(BACKOFF)
        .when(LogError::is_transient)
        .notify(|error, _| {
            tracing::warn!(%job, %error, "the job's log could not be read; retrying");
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use broker::memory::{self, Call, Fault, MemoryOptions};
    use proto::subject::Subjects;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_unreachable_log_is_read_again_and_a_permanent_error_is_returned() {
        let options = MemoryOptions::default();
        let faults = Arc::clone(&options.faults);
        let log = memory::start(Subjects::new("cb", 1).unwrap(), options).log;
        let job = JobId::new("j").unwrap();
        let away = Fault::Fails(LogError::Unavailable("away".to_owned()));
        faults.inject(Call::Read, &away, 20);
        assert!(read_log(&*log, &job).await.unwrap().is_empty());
        assert_eq!(faults.left(), 0);
        let forbidden = Fault::Fails(LogError::Forbidden("no".to_owned()));
        faults.inject(Call::Read, &forbidden, 1);
        assert!(matches!(read_log(&*log, &job).await, Err(LogError::Forbidden(_))));
    }
}
