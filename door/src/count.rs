//! The verb `count`: the numbers of jobs, from the index.

use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    door::{Count, Counted, Filter},
    entry::Entry,
    error::{Code, Failure},
    job::JobState,
    limits,
    refusal::Text,
};
use runtime::service::{Answers, Asked};

use super::{
    Door,
    list::{AT_A_TIME, Submissions, may_match},
    row,
};

impl Answers<Count> for Door {
    async fn answer(&self, asked: Asked<'_, Count>) -> Result<Counted, Failure> {
        let Count { filter } = asked.request()?;
        let Some(numbers) = self.index.count(&self.broker.log, &filter).await? else {
            return self.count_logs(&filter).await;
        };
        let (mut counted, mut doubtful) = (numbers.certain, numbers.doubtful);
        if doubtful.len() > limits::LIST_LOOKED_AT_MAX {
            if !filter.is_empty() {
                return Err(too_many(limits::LIST_LOOKED_AT_MAX));
            }
            let unread = doubtful.split_off(limits::LIST_LOOKED_AT_MAX);
            unread.iter().for_each(|_| counted.add(JobState::Working));
        }
        let rows = stream::iter(doubtful).map(|job| async {
            let row = row::of_job(&self.observer, job.clone()).await?;
            Ok::<_, Failure>((job, row))
        });
        let mut rows = rows.buffer_unordered(AT_A_TIME);
        let mut purged = Vec::new();
        while let Some((job, row)) = rows.try_next().await? {
            match row {
                Some(row) if filter.matches(&row) => counted.add(row.state),
                Some(_) => {}
                None => purged.push(job),
            }
        }
        self.index.forget(&purged).await;
        Ok(counted)
    }
}

impl Door {
    /// Counts jobs by reading the log of each.
    async fn count_logs(&self, filter: &Filter) -> Result<Counted, Failure> {
        let mut submissions = Submissions::of(self.observer.log(), 4 * AT_A_TIME);
        let (mut counted, mut looked_at) = (Counted::default(), 0);
        loop {
            let batch = submissions.take(4 * AT_A_TIME).await?;
            let is_late = |entry: &Entry| filter.since.is_none_or(|since| since <= entry.time);
            if !batch.first().is_some_and(is_late) {
                return Ok(counted);
            }
            looked_at += batch.len();
            if looked_at > limits::LIST_LOOKED_AT_MAX {
                return Err(match filter.is_empty() {
                    true => Failure::of(Code::Unavailable, Text::TooManyJobs),
                    false => too_many(limits::LIST_LOOKED_AT_MAX),
                });
            }
            let batch = batch.into_iter().filter(|first| may_match(filter, first));
            let rows = stream::iter(batch).map(|first| row::of_submission(&self.observer, first));
            let rows: Vec<_> = rows.buffer_unordered(AT_A_TIME).try_collect().await?;
            let rows = rows.into_iter().flatten().filter(|row| filter.matches(row));
            rows.for_each(|row| counted.add(row.state));
        }
    }
}

/// Returns the refusal of a filter that selects too many jobs.
pub(super) fn too_many(max: usize) -> Failure {
    Failure::of(Code::TooLarge, Text::TooManyToRead { max: &max }).next(Text::NarrowFilter)
}
