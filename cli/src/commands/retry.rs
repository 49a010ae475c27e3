//! `jobs retry`: failed jobs continue from just before their failure, and running jobs end their
//! backoff.

use std::collections::BTreeMap;

use client::Client;
use proto::{
    door::{BatchSignal, SendSignal, Signaled},
    id::JobId,
    job::JobState,
    point::Order,
};

use super::{
    batch::{self, Refusals},
    jobs::caller,
    preview,
};
use crate::{
    args::{Global, RetryJobsArgs},
    connect,
    failure::{CliError, Outcome},
    output::Output,
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, args: RetryJobsArgs) -> Outcome {
    let RetryJobsArgs { select, again } = args;
    if select.jobs.is_empty() {
        return batch::run(global, output, BatchSignal::Recover { again }, select).await;
    }
    let client = connect::client(global, output).await?;
    let jobs = named(&client, &select.jobs, again).await?;
    if select.dry_run {
        let requests = jobs.into_iter().map(|(job, signal)| preview::of(&job, signal, None));
        return preview::run(&client, output, requests.collect()).await;
    }
    send(&client, output, jobs, select.reason.as_deref()).await
}

/// Sends each job the signal that retries it. A refusal does not stop the retry of the other jobs.
pub(super) async fn send(
    client: &Client,
    output: Output,
    jobs: Vec<(JobId, Order)>,
    reason: Option<&str>,
) -> Outcome {
    let (mut all, mut refusals): (Vec<Signaled>, _) = (Vec::new(), Refusals::new(output));
    for (job, signal) in jobs {
        let reason = reason.map(str::to_owned);
        let request = SendSignal { job, signal, expected_seq: None, reason, by: caller() };
        match client.call(&request).await {
            Ok(signaled) => all.push(signaled),
            Err(failure) => refusals.add(&request.job, failure),
        }
    }
    output.list(
        &all,
        &all,
        |one| one.job.to_string(),
        |style| {
            let line =
                |one: &Signaled| batch::line(style, one.state, Text::JobRetried { job: &one.job });
            all.iter().map(line).collect()
        },
    )?;
    refusals.end()
}

/// Resolves the named jobs, each with the signal that retries a job in its state.
async fn named(
    client: &Client,
    names: &[String],
    again: bool,
) -> Result<Vec<(JobId, Order)>, CliError> {
    let mut jobs = BTreeMap::new();
    for name in names {
        let view = connect::job(client, name).await?;
        let order = match view.state {
            JobState::Failed => Order::Recover { again },
            JobState::Submitted
            | JobState::Working
            | JobState::InputRequired
            | JobState::AuthRequired
            | JobState::Completed
            | JobState::Canceled
            | JobState::Rejected => Order::Retry,
        };
        jobs.insert(view.job, order);
    }
    Ok(jobs.into_iter().collect())
}
