//! `jobs dead`: dead letters.

use client::Client;
use proto::{door::Dead, error::Code, id::JobId, point::Order};

use crate::{
    args::{DeadCommand, DeadListArgs, Global, RetryArgs},
    connect,
    failure::{CliError, Outcome},
    output::Output,
    render::dead,
};

pub(super) async fn run(global: &Global, output: Output, command: DeadCommand) -> Outcome {
    match command {
        DeadCommand::Ls(args) => ls(global, output, args).await,
        DeadCommand::Retry(args) => retry(global, output, args).await,
    }
}

async fn ls(global: &Global, output: Output, args: DeadListArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let found = client.call(&Dead { job: args.job, limit: Some(args.limit) }).await?;
    let id = |letter: &proto::door::DeadLetter| letter.job.to_string();
    output.list(&found, &found.letters, id, |style| dead::list(style, &found))
}

async fn retry(global: &Global, output: Output, args: RetryArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    // A job appears once per dead letter in the list.
    let mut jobs: Vec<JobId> = Vec::new();
    for named in &args.jobs {
        let job = named_job(&client, named).await?;
        if !jobs.contains(&job) {
            jobs.push(job);
        }
    }
    let jobs = jobs.into_iter().map(|job| (job, Order::Retry)).collect();
    super::retry::send(&client, output, jobs, args.reason.as_deref()).await
}

/// Resolves a job's name. An unreadable job has no view, so its id must be given in full.
async fn named_job(client: &Client, named: &str) -> Result<JobId, CliError> {
    match connect::job(client, named).await {
        Ok(view) => Ok(view.job),
        Err(error) if [Code::Poisoned, Code::Internal].iter().any(|c| error.code == c.as_str()) => {
            Ok(JobId::new(named).map_err(proto::error::Failure::from)?)
        }
        Err(error) => Err(error),
    }
}
