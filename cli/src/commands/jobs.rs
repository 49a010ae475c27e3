//! `jobs`: lists, describes and controls jobs.

use std::io::IsTerminal;

use client::Client;
use proto::{
    door::{BatchSignal, Count, List, SendSignal, Signaled},
    id::Seq,
    job::SubStatus,
    lang::Words,
    limits,
    point::Order,
    view::JobView,
    workflow::EVENT_DATA_BYTES_MAX,
};
use serde_json::Value;

use super::{
    batch::{self, Refusals},
    positions, preview,
};
use crate::{
    answer::keyboard::Keyboard,
    args::{
        EventArgs, FilterArgs, Global, JobsCommand, ListArgs, PlanArgs, PlanForm, SignalArgs,
        SpansArgs, SteerArgs,
    },
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    input,
    interrupt::Interrupts,
    output::Output,
    render::{describe, dot, jobs, revisions, tree, waterfall},
    style::Style,
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, command: JobsCommand) -> Outcome {
    match command {
        JobsCommand::Ls(args) => ls(global, output, args).await,
        JobsCommand::Count(args) => count(global, output, &args).await,
        JobsCommand::Describe(args) => {
            let client = connect::client(global, output).await?;
            let view = connect::job(&client, &args.job).await?;
            let edits = match args.revisions && !output.format.is_json() {
                true => super::show::edits(&client, &view.job).await?,
                false => Vec::new(),
            };
            let agent = match output.format.is_json() {
                true => None,
                // A description without its policies is better than none.
                false => super::show::agent(&client, &view.job).await.unwrap_or_default(),
            };
            output.one(&view, view.job.as_str(), |style| {
                let described = describe::whole(style, &view, agent.as_ref());
                let revisions = args.revisions.then(|| revisions::show(style, &view, &edits));
                revisions.map_or(described.clone(), |shown| format!("{described}\n{shown}"))
            })
        }
        JobsCommand::Plan(args) => plan(global, output, &args).await,
        JobsCommand::Spans(args) => spans(global, output, &args).await,
        JobsCommand::Files(args) => super::files::run(global, output, &args).await,
        JobsCommand::Show(args) => super::show::run(global, output, args).await,
        JobsCommand::Cancel(args) => {
            Box::pin(signal(global, output, BatchSignal::Cancel, args)).await
        }
        JobsCommand::Pause(args) => {
            Box::pin(signal(global, output, BatchSignal::Pause, args)).await
        }
        JobsCommand::Resume(args) => {
            Box::pin(signal(global, output, BatchSignal::Resume, args)).await
        }
        JobsCommand::Steer(SteerArgs { job, words, reason }) => {
            let text = input::text("words", &words, limits::INSTRUCTION_BYTES_MAX)?;
            let client = connect::client(global, output).await?;
            let job = connect::job(&client, &job).await?.job;
            let request = SendSignal {
                job,
                signal: Order::Steer { text },
                expected_seq: None,
                reason,
                by: caller(),
            };
            let signaled = client.call(&request).await?;
            let Signaled { job, state, .. } = &signaled;
            output.one(&signaled, job.as_str(), |style| {
                batch::line(style, *state, Text::JobSteered { job, state })
            })
        }
        JobsCommand::Event(args) => event(global, output, args).await,
        JobsCommand::Snapshot(args) => positions::snapshot(global, output, args).await,
        JobsCommand::Rollback(args) => positions::roll_back(global, output, args).await,
        JobsCommand::Restart(args) => positions::restart(global, output, args).await,
        JobsCommand::Retry(args) => Box::pin(super::retry::run(global, output, args)).await,
        JobsCommand::Fork(args) => positions::fork(global, output, args).await,
        JobsCommand::Diff(args) => Box::pin(positions::diff(global, output, args)).await,
        JobsCommand::Dead(command) => super::dead::run(global, output, command).await,
        JobsCommand::Purge(args) => Box::pin(super::purge::run(global, output, args)).await,
    }
}

async fn event(global: &Global, output: Output, args: EventArgs) -> Outcome {
    let EventArgs { job, name, data, reason } = args;
    let data = match data {
        None => Value::Null,
        Some(data) => input::json("--data", &data, EVENT_DATA_BYTES_MAX)?,
    };
    let client = connect::client(global, output).await?;
    let job = connect::job(&client, &job).await?.job;
    let signal = Order::Event { name: name.clone(), data };
    let request = SendSignal { job, signal, expected_seq: None, reason, by: caller() };
    let signaled = client.call(&request).await?;
    let Signaled { job, state, .. } = &signaled;
    output.one(&signaled, job.as_str(), |style| {
        batch::line(style, *state, Text::EventReported { job, event: &name, state })
    })
}

async fn spans(global: &Global, output: Output, args: &SpansArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let job = connect::job(&client, &args.job).await?.job;
    let spans = client.spans(&job).await?;
    output.list(&spans, &spans, |span| span.id.to_string(), |style| waterfall::show(style, &spans))
}

async fn ls(global: &Global, output: Output, args: ListArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let ListArgs { filter, tree, limit, after } = args;
    let filter = batch::filter(&client, &filter).await?;
    let after = match &after {
        None => None,
        Some(named) => Some(connect::job(&client, named).await?.job),
    };
    let list = List { filter, limit: Some(limit), after };
    let listed = client.call(&list).await?;
    let show =
        |style: &Style| if tree { jobs::tree(style, &listed) } else { jobs::list(style, &listed) };
    output.list(&listed, &listed.jobs, |j| j.job.to_string(), show)
}

async fn count(global: &Global, output: Output, args: &FilterArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let filter = batch::filter(&client, args).await?;
    let counted = client.call(&Count { filter }).await?;
    output.one(&counted, &counted.total().to_string(), |style| jobs::counted(style, &counted))
}

async fn plan(global: &Global, output: Output, args: &PlanArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let view = connect::job(&client, &args.job).await?;
    match args.format {
        PlanForm::Dot => output.print(&dot::graph(&view, output.language)).map(|()| Exit::Success),
        PlanForm::Tree => output.one(&view.plan, view.job.as_str(), |style| match &view.plan {
            None => format!("{}\n", style.say(Text::NoPlanYet)),
            Some(plan) => {
                let lines = tree::plan_lines(style, plan, &tree::Said::new());
                lines.iter().map(|line| format!("{line}\n")).collect()
            }
        }),
    }
}

/// Sends a signal to named jobs, or to all jobs that match.
async fn signal(global: &Global, output: Output, signal: BatchSignal, args: SignalArgs) -> Outcome {
    let SignalArgs { select: args, expect } = args;
    if expect.is_some() && args.jobs.len() != 1 {
        return Err(CliError::input("--expect", Text::ExpectOneJob));
    }
    let expected_seq = expect.map(Seq);
    if args.jobs.is_empty() {
        return batch::run(global, output, signal, args).await;
    }
    let client = connect::client(global, output).await?;
    let mut views: Vec<JobView> = Vec::new();
    for named in &args.jobs {
        let view = connect::job(&client, named).await?;
        if views.iter().all(|known| known.job != view.job) {
            views.push(view);
        }
    }
    if args.dry_run {
        let requests = views.iter().map(|view| preview::of(&view.job, signal.into(), expected_seq));
        return preview::run(&client, output, requests.collect()).await;
    }
    // The server refuses an ended job with its own message, so no confirmation is needed.
    if signal == BatchSignal::Cancel && !global.yes {
        confirm(&client, output, views.iter().filter(|view| !view.state.is_terminal())).await?;
    }
    let (mut sent, mut refusals) = (Vec::new(), Refusals::new(output));
    for view in &views {
        let (job, reason) = (view.job.clone(), args.reason.clone());
        let request = SendSignal { job, signal: signal.into(), expected_seq, reason, by: caller() };
        match client.call(&request).await {
            Ok(signaled) => sent.push(signaled),
            Err(failure) => refusals.add(&view.job, failure),
        }
    }
    let line = |style: &Style, view: &JobView, signaled: &Signaled| {
        batch::line(style, signaled.state, did(signal, view, signaled))
    };
    match (views.as_slice(), sent.as_slice()) {
        ([view], [signaled]) => {
            output.one(signaled, signaled.job.as_str(), |style| line(style, view, signaled))?;
        }
        ([_], []) => {}
        (views, sent) => {
            output.list(
                &sent,
                sent,
                |one| one.job.to_string(),
                |style| {
                    let before = |one: &Signaled| views.iter().find(|view| view.job == one.job);
                    let lines = sent.iter().filter_map(|one| Some(line(style, before(one)?, one)));
                    lines.collect()
                },
            )?;
        }
    }
    refusals.end()
}

/// Describes the effect of a signal and the job's new state.
fn did<'a>(signal: BatchSignal, before: &JobView, signaled: &'a Signaled) -> Text<'a> {
    let Signaled { job, state, .. } = signaled;
    match signal {
        BatchSignal::Resume if before.sub_status != Some(SubStatus::Paused) => {
            Text::JobNotPaused { job, state }
        }
        BatchSignal::Cancel
        | BatchSignal::Pause
        | BatchSignal::Resume
        | BatchSignal::Recover { .. } => batch::done(signal, job, state),
    }
}

/// Asks the user to confirm the cancellation of jobs.
async fn confirm(
    client: &Client,
    output: Output,
    views: impl Iterator<Item = &JobView>,
) -> Result<(), CliError> {
    let views: Vec<&JobView> = views.collect();
    let (what, question) = match views.as_slice() {
        [] => return Ok(()),
        [_] => (Text::CancelingJob, Text::ConfirmCancel),
        _ => (Text::CancelingJobs, Text::ConfirmCancelMany),
    };
    check_terminal(what)?;
    let mut lines: Vec<Words> = Vec::new();
    for view in views {
        lines.push(format!("{}: {}", view.job, proto::escape::line(&view.goal)).into());
        // A job that refuses it says so when the signal is sent.
        let sentence = preview::sentence(client, &view.job, Order::Cancel).await;
        lines.extend(sentence.unwrap_or_default());
    }
    lines.push(question.into());
    confirmed(output, what, lines).await
}

/// Returns an error if no user at a terminal can confirm something.
pub(super) fn check_terminal(what: Text<'_>) -> Result<(), CliError> {
    match std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        true => Ok(()),
        false => Err(CliError::unconfirmed(what)),
    }
}

/// Asks for a confirmation; the last of `words` is the question.
pub(super) async fn confirmed(
    output: Output,
    what: Text<'_>,
    words: impl IntoIterator<Item = Words>,
) -> Result<(), CliError> {
    check_terminal(what)?;
    words.into_iter().for_each(|line| output.warn(line));
    let mut interrupts = Interrupts::take()?;
    let mut keyboard = Keyboard::open();
    let line = tokio::select! {
        line = keyboard.line() => line,
        () = interrupts.next() => None,
    };
    if line.and_then(|line| client::session::parse::yes(&line)) == Some(true) {
        return Ok(());
    }
    Err(CliError::usage(Text::NothingDone))
}

/// Returns the local user's name, for the record of an installation without tokens.
pub(super) fn caller() -> Option<String> {
    let name = std::env::var("USER").ok()?;
    let plain = !name.trim().is_empty() && name.len() <= proto::limits::CALLER_BYTES_MAX;
    (plain && !name.chars().any(proto::escape::is_deceptive)).then_some(name)
}
