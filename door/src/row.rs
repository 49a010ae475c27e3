//! The row of a job in lists, and the memory of the rows of ended jobs.

use std::{collections::BTreeSet, sync::Arc};

use broker::log::{Latest, ShardState};
use machine::costs::Costs;
use proto::{
    entry::Entry,
    error::Failure,
    headline,
    id::JobId,
    job::{JobState, SubStatus},
    spent::Spent,
    view::JobSummary,
};
use quick_cache::sync::Cache;

use super::{folds::Found, index::Selected, surroundings::Observer};

/// Largest number of rows in memory, one to two kilobytes each.
const ROWS_MAX: usize = 4_096;

/// Rows of ended jobs with their costs. The log decides whether a row still holds: it does until
/// another record of the job follows. Rows of other jobs also depend on time and processes, so they
/// are not kept. Clones share the memory.
#[derive(Debug, Clone)]
pub(super) struct Rows(Arc<Cache<JobId, Kept>>);

/// A row in memory.
#[derive(Debug, Clone)]
struct Kept {
    row: Row,
    /// The last record that the row is made of.
    made_of: Latest,
    /// State of the shard when the row was last known to hold. While it is the same, nothing was
    /// stored or purged.
    shard: Option<ShardState>,
}

/// The row of a job, and its cost by model and tool.
type Row = (JobSummary, Arc<Costs>);

impl Default for Rows {
    fn default() -> Self {
        Self(Arc::new(Cache::new(ROWS_MAX)))
    }
}

/// Returns the row of one job, or `None` if it was never stored or was purged.
pub(super) async fn of_job(observer: &Observer, job: JobId) -> Result<Option<JobSummary>, Failure> {
    of_selected(observer, Selected { job, shard: None }).await
}

/// Returns the row of a selected job, or `None` if it was purged meanwhile.
pub(super) async fn of_selected(
    observer: &Observer,
    selected: Selected,
) -> Result<Option<JobSummary>, Failure> {
    Ok(with_costs(observer, selected).await?.map(|(row, _)| row))
}

/// Returns the row of a selected job with its costs, or `None` if it was purged meanwhile.
pub(super) async fn with_costs(
    observer: &Observer,
    Selected { job, shard }: Selected,
) -> Result<Option<Row>, Failure> {
    of(observer, job, shard, None).await
}

/// Returns the row of a submitted job, or `None` if it was purged meanwhile.
pub(super) async fn of_submission(
    observer: &Observer,
    submission: Entry,
) -> Result<Option<JobSummary>, Failure> {
    Ok(of(observer, submission.job.clone(), None, Some(&submission)).await?.map(|(row, _)| row))
}

async fn of(
    observer: &Observer,
    job: JobId,
    shard: Option<ShardState>,
    submission: Option<&Entry>,
) -> Result<Option<Row>, Failure> {
    let rows = &observer.rows.0;
    if let Some(kept) = rows.get(&job) {
        if shard.is_some() && kept.shard == shard {
            return Ok(Some(kept.row));
        }
        if observer.log().latest(&job).await? == Some(kept.made_of) {
            let row = kept.row.clone();
            let shard = shard.or(kept.shard);
            rows.insert(job, Kept { shard, ..kept });
            return Ok(Some(row));
        }
        rows.remove(&job);
    }
    let folded = match observer.folds.job(observer.log(), &job).await? {
        Found::Missing => return Ok(None),
        Found::Broken(_) => None,
        Found::Folded(folded) => {
            let summary = observer.summary(&folded.job).await.ok();
            summary.map(|row| ((row, Arc::new(folded.job.costs())), folded.last))
        }
    };
    let Some((row, made_of)) = folded else {
        let row = match submission.and_then(unfolded) {
            Some(row) => Some(row),
            // A log without a readable beginning has no row.
            None => observer.log().first(&job).await.ok().flatten().as_ref().and_then(unfolded),
        };
        return Ok(row.map(|row| (row, Arc::default())));
    };
    if row.0.state.is_terminal() && row.0.why.is_none() {
        rows.insert(job, Kept { row: row.clone(), made_of, shard });
    }
    Ok(Some(row))
}

/// Returns the row of a job whose log cannot be folded, from its submission alone.
fn unfolded(first: &Entry) -> Option<JobSummary> {
    let submitted = first.submission()?;
    Some(JobSummary {
        job: first.job.clone(),
        state: JobState::Working,
        sub_status: Some(SubStatus::Poisoned),
        goal: headline::goal(&submitted.goal),
        agent: submitted.agent.name,
        workflow: submitted.workflow.map(|run| run.definition.name),
        labels: submitted.labels,
        conversation: submitted.conversation.map(|conversation| conversation.id),
        parent: submitted.parent.map(|parent| parent.job),
        steps_done: 0,
        steps: 0,
        questions: 0,
        failure: None,
        retry: None,
        why: None,
        notices: BTreeSet::new(),
        spent: Spent::default(),
        created: first.time,
        updated: first.time,
    })
}
