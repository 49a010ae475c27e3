//! `jobs dead`: dead letters.

use client::Client;
use proto::{
    door::{Dead, SendSignal, Signaled},
    error::Code,
    id::JobId,
    point::Order,
};

use super::jobs::caller;
use crate::{
    args::{DeadCommand, DeadListArgs, Global, RetryArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    render::{dead, marks},
    words::Text,
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
    let (mut all, mut refused): (Vec<Signaled>, Option<CliError>) = (Vec::new(), None);
    // A job appears once per dead letter in the list.
    let mut jobs: Vec<JobId> = Vec::new();
    for named in &args.jobs {
        let job = named_job(&client, named).await?;
        if !jobs.contains(&job) {
            jobs.push(job);
        }
    }
    for job in jobs {
        let (signal, reason) = (Order::Retry, args.reason.clone());
        // A refusal does not stop the retry of the other jobs.
        match client.call(&SendSignal { job, signal, reason, by: caller() }).await {
            Ok(signaled) => all.push(signaled),
            Err(failure) => drop(refused.get_or_insert(failure.into())),
        }
    }
    output.list(
        &all,
        &all,
        |one| one.job.to_string(),
        |style| {
            let line = |one: &Signaled| {
                let (_, tone) = marks::job(one.state);
                format!("{}\n", style.paint(tone, &style.say(Text::JobRetried { job: &one.job })))
            };
            all.iter().map(line).collect()
        },
    )?;
    refused.map_or(Ok(Exit::Success), Err)
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
