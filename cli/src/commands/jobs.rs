//! `jobs`: lists, describes and controls jobs.

use std::io::IsTerminal;

use proto::{
    door::{Count, List, SendSignal, Signaled},
    job::{JobState, SubStatus},
    lang::Words,
    limits,
    point::Order,
    view::JobView,
};

use super::positions;
use crate::{
    answer::keyboard::Keyboard,
    args::{Global, JobsCommand, ListArgs, PlanArgs, PlanForm, SignalArgs, SpansArgs, SteerArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    input,
    interrupt::Interrupts,
    output::Output,
    render::{describe, dot, jobs, marks, revisions, tree, waterfall},
    style::Style,
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, command: JobsCommand) -> Outcome {
    match command {
        JobsCommand::Ls(args) => ls(global, output, args).await,
        JobsCommand::Count => count(global, output).await,
        JobsCommand::Describe(args) => {
            let client = connect::client(global, output).await?;
            let view = connect::job(&client, &args.job).await?;
            let edits = match args.revisions && !output.format.is_json() {
                true => super::show::edits(&client, &view.job).await?,
                false => Vec::new(),
            };
            let agent = match output.format.is_json() {
                true => None,
                false => super::show::agent(&client, &view.job).await?,
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
        JobsCommand::Cancel(args) => Box::pin(signal(global, output, Order::Cancel, args)).await,
        JobsCommand::Pause(args) => Box::pin(signal(global, output, Order::Pause, args)).await,
        JobsCommand::Resume(args) => Box::pin(signal(global, output, Order::Resume, args)).await,
        JobsCommand::Steer(SteerArgs { job, words }) => {
            let text = input::text("words", &words, limits::INSTRUCTION_BYTES_MAX)?;
            let args = SignalArgs { job, reason: None };
            Box::pin(signal(global, output, Order::Steer { text }, args)).await
        }
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

async fn spans(global: &Global, output: Output, args: &SpansArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let job = connect::job(&client, &args.job).await?.job;
    let spans = client.spans(&job).await?;
    output.list(&spans, &spans, |span| span.id.to_string(), |style| waterfall::show(style, &spans))
}

async fn ls(global: &Global, output: Output, args: ListArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let ListArgs { state, conversation, tree, limit, after } = args;
    let after = match &after {
        None => None,
        Some(named) => Some(connect::job(&client, named).await?.job),
    };
    let list = List { states: state, limit: Some(limit), conversation, after };
    let listed = client.call(&list).await?;
    let show =
        |style: &Style| if tree { jobs::tree(style, &listed) } else { jobs::list(style, &listed) };
    output.list(&listed, &listed.jobs, |j| j.job.to_string(), show)
}

async fn count(global: &Global, output: Output) -> Outcome {
    let client = connect::client(global, output).await?;
    let counted = client.call(&Count {}).await?;
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

async fn signal(global: &Global, output: Output, signal: Order, args: SignalArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let view = connect::job(&client, &args.job).await?;
    // The server refuses an ended job with its own message, so no confirmation is needed.
    if signal == Order::Cancel && !global.yes && !view.state.is_terminal() {
        confirm(output, &view).await?;
    }
    let request = SendSignal { job: view.job.clone(), signal, reason: args.reason, by: caller() };
    let signaled = client.call(&request).await?;
    output.one(&signaled, signaled.job.as_str(), |style| {
        let (mark, tone) = marks::job(signaled.state);
        let did = style.say(did(&request.signal, &view, &signaled));
        format!("{}\n", style.paint(tone, &format!("{mark} {did}")))
    })
}

/// Describes the effect of a signal and the job's new state.
fn did<'a>(signal: &Order, before: &JobView, signaled: &'a Signaled) -> Text<'a> {
    let Signaled { job, state, .. } = signaled;
    match signal {
        Order::Cancel if *state == JobState::Canceled => Text::JobCanceled { job },
        Order::Cancel => Text::JobWillBeCanceled { job, state },
        Order::Pause => Text::JobPaused { job, state },
        Order::Resume if before.sub_status == Some(SubStatus::Paused) => {
            Text::JobContinues { job, state }
        }
        Order::Resume => Text::JobNotPaused { job, state },
        Order::Steer { .. } => Text::JobSteered { job, state },
        Order::Retry
        | Order::Snapshot { .. }
        | Order::RollBack { .. }
        | Order::Recover { .. }
        | Order::Restart { .. } => Text::JobIs { job, state },
    }
}

/// Asks the user to confirm the cancellation of a job.
async fn confirm(output: Output, view: &JobView) -> Result<(), CliError> {
    let goal = proto::escape::line(&view.goal);
    let lines = [format!("{}: {goal}", view.job).into(), Text::ConfirmCancel.into()];
    confirmed(output, Text::CancelingJob, lines).await
}

/// Asks for a confirmation; the last of `words` is the question.
pub(super) async fn confirmed(
    output: Output,
    what: Text<'_>,
    words: impl IntoIterator<Item = Words>,
) -> Result<(), CliError> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(CliError::unconfirmed(what));
    }
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
