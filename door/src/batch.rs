//! The verb `batch`: counts the jobs of a filter to which a signal applies, or sends it to them.
//!
//! A batch is sent only if it reaches as many jobs as its sender has seen counted. Each job gets a
//! signal of its own, as from the verb `signal`, and one refusal stops no other.

use futures::{StreamExt, stream};
use proto::{
    door::{Batch, BatchOutcome, BatchSignal, Batched, Filter, List, SendSignal},
    error::{Code, Failure},
    job::{FailReason, JobState, SubStatus},
    limits,
    refusal::Text,
    view::JobSummary,
};
use runtime::service::{Answers, Asked};
use tokio::time::Instant;

use super::{Door, count, list::AT_A_TIME, signal};

/// Jobs that the reply shows if nothing is sent.
const EXAMPLES: usize = 20;
/// Pages of the list that one request reads.
const PAGES: usize = 4;

impl Answers<Batch> for Door {
    async fn answer(&self, asked: Asked<'_, Batch>) -> Result<Batched, Failure> {
        let request = asked.request()?;
        let Asked { caller, call, .. } = asked;
        // The reply shows jobs.
        Asked::<List>::admit(call, &self.people).await?;
        let by = caller.recorded(request.by.as_deref())?;
        signal::check_reason(request.reason.as_deref())?;
        let (jobs, more) = self.reached(request.filter, request.signal).await?;
        let count = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        let Some(expected) = request.expected else {
            let examples = jobs.into_iter().take(EXAMPLES).collect();
            return Ok(Batched { count, more, examples, outcomes: Vec::new() });
        };
        if more {
            return Err(count::too_many(limits::BATCH_MAX));
        }
        if count != expected {
            let why = Text::OtherCount { count: &count, expected: &expected };
            return Err(Failure::about(Code::Stale, "expected", why).next(Text::CountAgain));
        }
        let until = Instant::now() + signal::ENDS_WITHIN;
        let sent = jobs.into_iter().map(|row| {
            let (job, signal, reason) = (row.job, request.signal.into(), request.reason.clone());
            let asked = SendSignal { job, signal, expected_seq: None, reason, by: None };
            let by = by.clone();
            async move {
                let job = asked.job.clone();
                let sent = self.signal(call, asked, by, until).await;
                let (state, error) = match sent {
                    Ok(signaled) => (Some(signaled.state), None),
                    Err(failure) => (None, Some(Box::new(failure))),
                };
                BatchOutcome { job, state, error }
            }
        });
        let outcomes = stream::iter(sent).buffered(AT_A_TIME).collect().await;
        Ok(Batched { count, more, examples: Vec::new(), outcomes })
    }
}

impl Door {
    /// Returns the jobs that match and that the signal applies to, newest first; and whether others
    /// remain that were not examined.
    async fn reached(
        &self,
        mut filter: Filter,
        signal: BatchSignal,
    ) -> Result<(Vec<JobSummary>, bool), Failure> {
        let most = limits::BATCH_MAX;
        let states = states(signal);
        filter.states = states.iter().copied().filter(|s| filter.admits_state(*s)).collect();
        if filter.states.is_empty() {
            return Ok((Vec::new(), false));
        }
        let (mut found, mut after) = (Vec::new(), None);
        for _ in 0..PAGES {
            let page = self.page(&filter, most, after.as_ref()).await?;
            let rows = page.jobs.into_iter();
            found.extend(rows.filter(|row| applies(signal, row, &filter)));
            if found.len() > most {
                found.truncate(most);
                return Ok((found, true));
            }
            after = page.next;
            if !page.more || after.is_none() {
                return Ok((found, page.more));
            }
        }
        Ok((found, true))
    }
}

/// Returns the states in which a signal of a batch applies to jobs.
fn states(signal: BatchSignal) -> &'static [JobState] {
    match signal {
        BatchSignal::Cancel | BatchSignal::Pause | BatchSignal::Resume => {
            &[JobState::Submitted, JobState::Working, JobState::InputRequired]
        }
        BatchSignal::Recover { .. } => &[JobState::Failed],
    }
}

/// Returns `true` if the signal applies to a job in one of its states. Parents cancel, pause and run
/// their children again.
fn applies(signal: BatchSignal, row: &JobSummary, filter: &Filter) -> bool {
    let is_paused = row.sub_status == Some(SubStatus::Paused);
    let is_poisoned = row.sub_status == Some(SubStatus::Poisoned);
    let may_be_sent = match signal {
        BatchSignal::Cancel => true,
        BatchSignal::Pause => !is_paused && !is_poisoned,
        BatchSignal::Resume => is_paused,
        BatchSignal::Recover { .. } => row.failure.is_none_or(FailReason::may_be_recovered),
    };
    may_be_sent && (row.parent.is_none() || filter.parent.is_some())
}
