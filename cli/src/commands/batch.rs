//! `jobs cancel`, `pause`, `resume` and `retry`: signals to named jobs, or to all jobs that match.
//!
//! Jobs that match are counted first, and the signal is sent only to as many as were counted.

use client::Client;
use jiff::Timestamp;
use proto::{
    door::{Batch, BatchOutcome, BatchSignal, Batched, Filter},
    error::Failure,
    id::JobId,
    job::JobState,
    label::Labels,
    lang::Words,
    limits,
};

use super::jobs::{caller, confirmed};
use crate::{
    args::{FilterArgs, Global, SelectArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    render::{jobs, marks},
    style::Style,
    words::Text,
};

/// Returns the filter that the arguments describe.
pub(super) async fn filter(client: &Client, args: &FilterArgs) -> Result<Filter, CliError> {
    let labels = Labels::of(args.labels.iter().cloned());
    let parent = match &args.parent {
        None => None,
        Some(named) => Some(connect::job(client, named).await?.job),
    };
    let now = Timestamp::now();
    Ok(Filter {
        states: args.state.clone(),
        agent: args.agent.clone(),
        labels: labels.map_err(|error| CliError::input("--label", error.to_string()))?,
        text: args.text.clone(),
        conversation: args.conversation.clone(),
        parent,
        since: args.since.map(|since| since.at(now)),
        until: args.until.map(|until| until.at(now)),
        updated_since: args.updated_since.map(|since| since.at(now)),
        failure: args.failure,
        attention: args.attention,
    })
}

/// Sends a signal to all jobs that match, after a confirmation.
pub(super) async fn run(
    global: &Global,
    output: Output,
    signal: BatchSignal,
    args: SelectArgs,
) -> Outcome {
    let client = connect::client(global, output).await?;
    let filter = filter(&client, &args.filter).await?;
    let reason = args.reason.clone();
    let batch = Batch { filter, signal, expected: None, reason, by: caller() };
    let counted = client.call(&batch).await?;
    if counted.more {
        let max = &limits::BATCH_MAX;
        return Err(CliError::usage(Text::TooManyMatch { max }).hint(Text::NarrowSelection));
    }
    if counted.count == 0 {
        let id = |outcome: &BatchOutcome| outcome.job.to_string();
        return output.list(&counted, &counted.outcomes, id, |style| {
            format!("{}\n", style.say(Text::NoJobMatches))
        });
    }
    if args.dry_run {
        let show = |style: &Style| jobs::rows(style, &counted.examples);
        return output.list(&counted, &counted.examples, |row| row.job.to_string(), show);
    }
    output.warn(match counted.count {
        1 => Text::JobMatches.into(),
        count => Words::from(Text::JobsMatch { count: &count }),
    });
    if !global.yes {
        let shown = jobs::rows(&output.style_of_notes(), &counted.examples);
        output.warn(shown.trim_end().to_owned());
        let (what, question) = question(signal);
        confirmed(output, what, [question.into()]).await?;
    }
    let batched = client.call(&Batch { expected: Some(counted.count), ..batch }).await?;
    outcomes(output, signal, &batched)
}

/// Returns the action as an error names it, and the question before it.
fn question(signal: BatchSignal) -> (Text<'static>, Text<'static>) {
    match signal {
        BatchSignal::Cancel => (Text::CancelingJobs, Text::ConfirmCancelMany),
        BatchSignal::Pause => (Text::PausingJobs, Text::ConfirmPauseMany),
        BatchSignal::Resume => (Text::ResumingJobs, Text::ConfirmResumeMany),
        BatchSignal::Recover { .. } => (Text::RetryingJobs, Text::ConfirmRetry),
    }
}

fn outcomes(output: Output, signal: BatchSignal, batched: &Batched) -> Outcome {
    let id = |outcome: &BatchOutcome| outcome.job.to_string();
    output.list(batched, &batched.outcomes, id, |style| {
        let line = |one: &BatchOutcome| {
            let (job, state) = (&one.job, &one.state?);
            Some(line(style, *state, done(signal, job, state)))
        };
        batched.outcomes.iter().filter_map(line).collect()
    })?;
    let mut refusals = Refusals::new(output);
    for one in &batched.outcomes {
        if let Some(failure) = &one.error {
            refusals.add(&one.job, (**failure).clone());
        }
    }
    refusals.end()
}

/// Describes what a signal did to a job that it applied to.
pub(super) fn done<'a>(signal: BatchSignal, job: &'a JobId, state: &'a JobState) -> Text<'a> {
    match signal {
        BatchSignal::Cancel if *state == JobState::Canceled => Text::JobCanceled { job },
        BatchSignal::Cancel => Text::JobWillBeCanceled { job, state },
        BatchSignal::Pause => Text::JobPaused { job, state },
        BatchSignal::Resume => Text::JobContinues { job, state },
        BatchSignal::Recover { .. } => Text::JobRetried { job },
    }
}

/// Renders what a signal did, as a line with the mark of the job's state.
pub(super) fn line(style: &Style, state: JobState, did: Text<'_>) -> String {
    let (mark, tone) = marks::job(state);
    format!("{}\n", style.paint(tone, &format!("{mark} {}", style.say(did))))
}

/// The refusals of a signal to several jobs. The command ends with the first one; the others are
/// printed.
pub(super) struct Refusals {
    output: Output,
    first: Option<CliError>,
}

impl Refusals {
    pub(super) fn new(output: Output) -> Self {
        Self { output, first: None }
    }

    pub(super) fn add(&mut self, job: &JobId, failure: Failure) {
        let failure = CliError::from(failure);
        match &self.first {
            None => self.first = Some(failure),
            Some(_) => {
                let why = |language| format!("{job}: {}", failure.message.text(language));
                self.output.warn(Words::new(why));
            }
        }
    }

    pub(super) fn end(self) -> Outcome {
        self.first.map_or(Ok(Exit::Success), Err)
    }
}
