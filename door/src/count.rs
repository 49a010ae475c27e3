//! The verb `count`: the numbers of jobs, from the index.

use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    door::{Count, Counted},
    error::{Code, Failure},
    job::JobState,
    limits,
    refusal::Text,
};
use runtime::service::{Answers, Asked};

use super::{
    Door,
    list::{AT_A_TIME, Submissions},
    row,
};

impl Answers<Count> for Door {
    async fn answer(&self, asked: Asked<'_, Count>) -> Result<Counted, Failure> {
        let Count {} = asked.request()?;
        let Some(numbers) = self.index.count(&self.broker.log).await? else {
            return self.count_logs().await;
        };
        let (mut counted, mut doubtful) = (numbers.certain, numbers.doubtful);
        let unread = doubtful.split_off(doubtful.len().min(limits::LIST_LOOKED_AT_MAX));
        unread.iter().for_each(|_| counted.add(JobState::Working));
        let rows = stream::iter(doubtful).map(|job| async {
            let row = row::of_job(&self.observer, job.clone()).await?;
            Ok::<_, Failure>((job, row))
        });
        let mut rows = rows.buffer_unordered(AT_A_TIME);
        let mut purged = Vec::new();
        while let Some((job, row)) = rows.try_next().await? {
            match row {
                Some(row) => counted.add(row.state),
                None => purged.push(job),
            }
        }
        self.index.forget(&purged).await;
        Ok(counted)
    }
}

impl Door {
    /// Counts jobs by reading the log of each.
    async fn count_logs(&self) -> Result<Counted, Failure> {
        let mut submissions = Submissions::of(self.observer.log(), 4 * AT_A_TIME);
        let (mut counted, mut looked_at) = (Counted::default(), 0);
        loop {
            let batch = submissions.take(4 * AT_A_TIME).await?;
            if batch.is_empty() {
                return Ok(counted);
            }
            looked_at += batch.len();
            if looked_at > limits::LIST_LOOKED_AT_MAX {
                return Err(Failure::of(Code::Unavailable, Text::TooManyJobs));
            }
            let rows = stream::iter(batch).map(|first| row::of_submission(&self.observer, first));
            let rows: Vec<_> = rows.buffer_unordered(AT_A_TIME).try_collect().await?;
            rows.into_iter().flatten().for_each(|row| counted.add(row.state));
        }
    }
}
