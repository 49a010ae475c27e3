//! The graph of a job's workflow, now or at a point of its log.

use agents::workflow::spell::yaml;
use machine::Job;
use proto::{
    door::GetGraph,
    error::{Code, Failure},
    refusal::Text,
    workflow::{WorkflowFiles, WorkflowGraph, WorkflowRun},
};
use runtime::service::{Answers, Asked};

use super::{Door, fold, folds::Found, rollback, truncate};

impl Answers<GetGraph> for Door {
    async fn answer(&self, asked: Asked<'_, GetGraph>) -> Result<WorkflowGraph, Failure> {
        let GetGraph { job, at, files } = asked.request()?;
        let shown = match at {
            None => match self.observer.folds.job(&*self.broker.log, &job).await? {
                Found::Folded(folded) => graph(&folded.job, files)?,
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
                graph(&past, files)?
            }
        };
        let graph = shown
            .ok_or_else(|| Failure::about(Code::NotFound, "job", Text::NoGraph { job: &job }))?;
        truncate::graph(graph)
    }
}

fn graph(job: &Job, with_files: bool) -> Result<Option<WorkflowGraph>, Failure> {
    fold::apart(job.id(), || {
        let mut graph = job.graph()?;
        if with_files {
            graph.files = job.workflow().map(|(run, _)| Box::new(files(run)));
        }
        Some(graph)
    })
}

/// Writes the definitions of a run as files.
fn files(run: &WorkflowRun) -> WorkflowFiles {
    let below = run.workflows.iter().map(|(name, below)| (name.clone(), yaml(&below.definition)));
    WorkflowFiles { source: yaml(&run.definition), workflows: below.collect() }
}
