//! `jobs retry`: failed jobs continue from just before their failure, and running jobs end their
//! backoff.

use std::collections::BTreeMap;

use client::Client;
use jiff::Timestamp;
use proto::{
    door::{List, SendSignal, Signaled},
    id::JobId,
    job::{FailReason, JobState},
    lang::Words,
    limits,
    point::Order,
    view::JobSummary,
};

use super::jobs::{caller, confirmed};
use crate::{
    args::{Global, RetryJobsArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    render::marks,
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, args: RetryJobsArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let jobs = match args.jobs.is_empty() {
        false => named(&client, &args).await?,
        true => {
            let failed = failed(&client, &args).await?;
            if !failed.is_empty() {
                let [count, question] = question(&failed);
                output.warn(count);
                if !global.yes {
                    confirmed(output, Text::RetryingJobs, [question]).await?;
                }
            }
            let order = Order::Recover { again: args.again };
            failed.into_iter().map(|job| (job.job, order.clone())).collect()
        }
    };
    send(&client, output, jobs, args.reason.as_deref()).await
}

/// Sends each job the signal that retries it.
pub(super) async fn send(
    client: &Client,
    output: Output,
    jobs: Vec<(JobId, Order)>,
    reason: Option<&str>,
) -> Outcome {
    let (mut all, mut refused): (Vec<Signaled>, Option<CliError>) = (Vec::new(), None);
    for (job, signal) in jobs {
        let reason = reason.map(str::to_owned);
        let request = SendSignal { job, signal, reason, by: caller() };
        // A refusal does not stop the retry of the other jobs.
        match client.call(&request).await {
            Ok(signaled) => all.push(signaled),
            Err(failure) => {
                // The command ends with the first refusal; the others are printed here.
                let (failure, job) = (CliError::from(failure), &request.job);
                match &refused {
                    None => refused = Some(failure),
                    Some(_) => {
                        let why = |language| format!("{job}: {}", failure.message.text(language));
                        output.warn(Words::new(why));
                    }
                }
            }
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
            match (all.is_empty(), &refused) {
                (true, None) => format!("{}\n", style.say(Text::NoFailedJobs)),
                (true, Some(_)) | (false, _) => all.iter().map(line).collect(),
            }
        },
    )?;
    refused.map_or(Ok(Exit::Success), Err)
}

/// Resolves the named jobs, each with the signal that retries a job in its state.
async fn named(client: &Client, args: &RetryJobsArgs) -> Result<Vec<(JobId, Order)>, CliError> {
    let mut jobs = BTreeMap::new();
    for name in &args.jobs {
        let view = connect::job(client, name).await?;
        let order = match view.state {
            JobState::Failed => Order::Recover { again: args.again },
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

/// Returns all failed jobs that match the filters, without child jobs.
async fn failed(client: &Client, args: &RetryJobsArgs) -> Result<Vec<JobSummary>, CliError> {
    let earliest = match args.since {
        None => None,
        Some(since) => Some(
            Timestamp::now()
                .checked_sub(since)
                .map_err(|error| CliError::input("--since", error.to_string()))?,
        ),
    };
    let matches = |job: &JobSummary| {
        job.parent.is_none()
            && job.failure.is_none_or(may_help)
            && args.agent.as_ref().is_none_or(|agent| *agent == job.agent)
            && args.failure.is_none_or(|failure| Some(failure) == job.failure)
            && earliest.is_none_or(|earliest| job.updated >= earliest)
    };
    let mut list = List {
        states: vec![JobState::Failed],
        limit: Some(limits::LIST_MAX),
        conversation: args.conversation.clone(),
        after: None,
    };
    let mut found = Vec::new();
    loop {
        let page = client.call(&list).await?;
        found.extend(page.jobs.into_iter().filter(&matches));
        match page.next.filter(|_| page.more) {
            Some(next) => list.after = Some(next),
            None => return Ok(found),
        }
    }
}

/// Returns `true` if a retry may help a job that failed for this reason. The front door refuses the
/// others.
fn may_help(failure: FailReason) -> bool {
    match failure {
        FailReason::PlanFailed
        | FailReason::StepFailed
        | FailReason::QuestionExpired
        | FailReason::ReplanLimit
        | FailReason::QuestionRepeated
        | FailReason::TooManyQuestions => true,
        FailReason::DeadlineExceeded
        | FailReason::BudgetExceeded
        | FailReason::HistoryFull
        | FailReason::NoProgress => false,
    }
}

/// Returns the number of jobs by reason, and the question.
fn question(failed: &[JobSummary]) -> [Words; 2] {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for job in failed {
        let reason = job.failure.map_or("failed", |failure| failure.as_str());
        *reasons.entry(reason).or_default() += 1;
    }
    let each: Vec<_> = reasons.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    let reasons = &each.join(", ");
    let count = match failed.len() {
        1 => Words::from(Text::FailedJob { reasons }),
        count => Words::from(Text::FailedJobs { count: &count, reasons }),
    };
    [count, Text::ConfirmRetry.into()]
}
