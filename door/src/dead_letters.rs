//! The verb `dead`: dead letters, newest jobs first.

use broker::log::Reader;
use futures::{StreamExt, TryStreamExt, stream};
use machine::dead_letters as dead;
use proto::{
    door::{Dead, DeadLetter, DeadLetters},
    error::{Code, Failure},
    id::{JobId, Seq},
    limits,
    refusal::Text,
};
use runtime::service::{Answers, Asked};

use super::{
    Door, fold,
    index::{Selected, Selection},
    list::{Submissions, ended},
};

/// Default limit on letters.
const USUAL: u32 = 50;
/// Number of jobs that are read concurrently.
const AT_A_TIME: usize = 16;
/// Submissions per page.
const PAGE: usize = 200;
/// Limit on the submissions that are searched; `fsck` searches all.
const SUBMISSIONS_MAX: usize = 10 * limits::LIST_LOOKED_AT_MAX;

impl Answers<Dead> for Door {
    async fn answer(&self, asked: Asked<'_, Dead>) -> Result<DeadLetters, Failure> {
        let request = asked.request()?;
        let limit = request.limit.unwrap_or(USUAL);
        if !(1..=limits::LIST_MAX).contains(&limit) {
            let why = Text::Between { max: &limits::LIST_MAX };
            return Err(Failure::about(Code::InvalidRequest, "limit", why));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let log = &*self.broker.log;
        match request.job {
            Some(job) => {
                // A request for an unknown job is an error.
                fold::read(log, &job).await?;
                Ok(DeadLetters { letters: letters(log, job).await?, more: false })
            }
            None => {
                let most = limits::LIST_LOOKED_AT_MAX + 1;
                match self.index.select(&self.broker.log, Selection::Open, None, most).await? {
                    Some(open) => among(log, open, limit).await,
                    None => newest(log, limit).await,
                }
            }
        }
    }
}

/// Returns the dead letters of the selected jobs.
async fn among(
    log: &dyn Reader,
    mut open: Vec<Selected>,
    limit: usize,
) -> Result<DeadLetters, Failure> {
    let mut more = open.len() > limits::LIST_LOOKED_AT_MAX;
    open.truncate(limits::LIST_LOOKED_AT_MAX);
    let mut looks = stream::iter(open).map(|one| letters(log, one.job)).buffered(AT_A_TIME);
    let mut found = Vec::new();
    while let Some(some) = looks.try_next().await? {
        found.extend(some);
        if found.len() > limit {
            found.truncate(limit);
            more = true;
            break;
        }
    }
    Ok(DeadLetters { letters: found, more })
}

async fn newest(log: &dyn Reader, limit: usize) -> Result<DeadLetters, Failure> {
    let mut submissions = Submissions::of(log, PAGE);
    let (mut found, mut through, mut looked_at) = (Vec::new(), 0, 0);
    while through < SUBMISSIONS_MAX && looked_at < limits::LIST_LOOKED_AT_MAX {
        let page = submissions.take(PAGE).await?;
        if page.is_empty() {
            return Ok(DeadLetters { letters: found, more: false });
        }
        through += page.len();
        let ended = ended(log, page.iter().map(|entry| entry.job.clone())).await?;
        let mut open: Vec<JobId> = page.into_iter().map(|entry| entry.job).collect();
        open.retain(|job| !ended.contains(job));
        looked_at += open.len();
        let looks = stream::iter(open).map(|job| letters(log, job)).buffered(AT_A_TIME);
        let all: Vec<Vec<DeadLetter>> = looks.try_collect().await?;
        found.extend(all.into_iter().flatten());
        if found.len() > limit {
            found.truncate(limit);
            return Ok(DeadLetters { letters: found, more: true });
        }
        if found.len() == limit {
            break;
        }
    }
    let more = !submissions.take(1).await?.is_empty();
    Ok(DeadLetters { letters: found, more })
}

async fn letters(log: &dyn Reader, job: JobId) -> Result<Vec<DeadLetter>, Failure> {
    let entries = log.read(&job, Seq(0)).await?;
    Ok(match dead::fold(&job, &entries) {
        Ok(folded) => dead::letters(&folded, &entries),
        Err(letter) => vec![*letter],
    })
}
