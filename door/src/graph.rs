//! The graph of a job's workflow, now or at a point of its log.

use machine::Job;
use proto::{
    door::GetGraph,
    error::{Code, Failure},
    refusal::Text,
    workflow::WorkflowGraph,
};
use runtime::service::{Answers, Asked};

use super::{Door, fold, folds::Found, rollback, truncate};

impl Answers<GetGraph> for Door {
    async fn answer(&self, asked: Asked<'_, GetGraph>) -> Result<WorkflowGraph, Failure> {
        let GetGraph { job, at } = asked.request()?;
        let shown = match at {
            None => match self.observer.folds.job(&*self.broker.log, &job).await? {
                Found::Folded(folded) => graph(&folded.job)?,
                Found::Broken(failure) => return Err(failure),
                Found::Missing => return Err(fold::missing(&job)),
            },
            Some(at) => {
                let entries = fold::read(&*self.broker.log, &job).await?;
                let past = fold::apart(&job, || {
                    let past = rollback::Past::of(&job, &entries);
                    past.seq_of(&at, "at").map(|seq| past.job_at(seq))
                })?
                .map_err(|refused| *refused)?;
                graph(&past)?
            }
        };
        let graph = shown
            .ok_or_else(|| Failure::about(Code::NotFound, "job", Text::NoGraph { job: &job }))?;
        truncate::graph(graph)
    }
}

fn graph(job: &Job) -> Result<Option<WorkflowGraph>, Failure> {
    fold::apart(job.id(), || job.graph())
}
