//! `tools ls` and `tools call`: lists the registered tools, and calls one by hand, as a job of one step.

use std::pin::pin;

use client::{Client, WatchOptions};
use futures::StreamExt;
use proto::{
    door::{DirectCall, Submit, Tools, Watched},
    escape,
    fact::{Called, Fact},
    id::{JobId, ToolName},
    interaction::{Answer, Question, QuestionKind},
    label::Labels,
    lang::Words,
    limits,
    record::Record,
    strict,
    tool::{Approval, Effect, ToolSpec},
};
use serde_json::Value;

use super::{
    jobs, submit,
    watch::{Asking, Policy, Session},
};
use crate::{
    args::{CallToolArgs, Global, ToolsCommand, Waiting},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    input,
    output::{self, Format, Output},
    render::tools::{self, ToolCalled},
    words::Text,
};

/// Goals end with the arguments of the call, up to this many characters.
const GOAL_CHARS: usize = 200;

pub(super) async fn run(global: &Global, output: Output, command: ToolsCommand) -> Outcome {
    match command {
        ToolsCommand::Ls => ls(global, output).await,
        ToolsCommand::Call(args) => call(global, output, args).await,
    }
}

async fn ls(global: &Global, output: Output) -> Outcome {
    let found = connect::client(global, output).await?.tools().await?;
    output.list(&found, &found.tools, |t| t.name.to_string(), |style| tools::list(style, &found))
}

async fn call(global: &Global, output: Output, args: CallToolArgs) -> Outcome {
    let request = request(&args)?;
    let client = connect::client(global, output).await?;
    let tool = tool(client.tools().await?, &args.tool)?;
    let interactive = output.format == Format::Table && output::is_interactive();
    permitted(global, output, &tool, interactive).await?;
    let submitted = submit::store(&client, output, request).await?;
    if !submitted.created {
        output.note(Text::SubmittedBefore { job: &submitted.job });
    }
    let policy = if global.yes { Policy::Decide(approved) } else { Policy::Nothing };
    let session = Session {
        client: &client,
        output,
        job: submitted.job.clone(),
        waiting: Waiting { plain: true, ..Waiting::default() },
        asking: Asking::by(policy, interactive),
        silent: true,
    };
    let (exit, view) = session.follow().await?;
    let Some(view) = view.filter(|view| view.outcome.is_some()) else { return Ok(exit) };
    let called = called(&client, &submitted.job).await?;
    let done = ToolCalled { job: view.job.clone(), tool: tool.name, outcome: view.outcome, called };
    let failed = done.called.as_ref().is_some_and(|called| !called.result.success);
    output.one(&done, view.job.as_str(), |style| tools::called(style, &done))?;
    Ok(if exit == Exit::Success && failed { Exit::Failed } else { exit })
}

/// Builds the submission of a job whose only step is the call.
fn request(args: &CallToolArgs) -> Result<Submit, CliError> {
    let text = input::text("args", &args.args, limits::REQUEST_BYTES_MAX)?;
    let given: Value = strict::from_slice(text.as_bytes())
        .map_err(|error| CliError::input("args", proto::error::Failure::from(error).message))?;
    if !given.is_object() {
        return Err(CliError::input("args", Text::ArgsNoObject));
    }
    let labels = Labels::of(args.labels.iter().cloned());
    let shown: String = given.to_string().chars().take(GOAL_CHARS).collect();
    Ok(Submit {
        id: Some(args.id.clone().unwrap_or_else(client::new_id)),
        agent: args.agent.as_deref().map(submit::agent).transpose()?,
        language: args.language,
        labels: labels.map_err(|error| CliError::input("label", error.to_string()))?,
        deadline_ms: args.deadline.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
        call: Some(DirectCall { tool: args.tool.clone(), args: given }),
        ..Submit::goal(format!("/{} {shown}", args.tool))
    })
}

fn tool(all: Tools, name: &ToolName) -> Result<ToolSpec, CliError> {
    let found = all.tools.into_iter().find(|tool| tool.name == *name);
    found.ok_or_else(|| CliError::not_found(Text::NoTool { name }).hint(Text::ToolsAre))
}

/// Asks before a call that cannot be repeated. A tool that needs an approval asks in its job.
async fn permitted(
    global: &Global,
    output: Output,
    tool: &ToolSpec,
    interactive: bool,
) -> Result<(), CliError> {
    let asks = match (tool.effect, tool.approval) {
        (Effect::Pure | Effect::Idempotent, Approval::Never) => return Ok(()),
        (Effect::Once, Approval::Never) => true,
        (_, Approval::Always) => false,
    };
    let name = &tool.name;
    match (global.yes, asks) {
        (true, _) => Ok(()),
        (false, true) => {
            let about = escape::line(&tool.in_language(output.language).description).into_owned();
            let lines = [Words::from(about), Text::ConfirmCall { name }.into()];
            jobs::confirmed(output, Text::CallingTool { name }, lines).await
        }
        (false, false) if interactive => Ok(()),
        (false, false) => Err(CliError::unconfirmed(Text::CallingTool { name })),
    }
}

/// Approves the call that `--yes` was said to.
fn approved(asked: &Question) -> Option<(Answer, Words)> {
    match &asked.kind {
        QuestionKind::ToolApproval { digest, .. } => {
            let answer = Answer::approve(Some(digest.clone()));
            Some((answer, Text::CallApproved { question: &asked.id }.into()))
        }
        QuestionKind::PlanCheck { .. }
        | QuestionKind::Question
        | QuestionKind::Choice { .. }
        | QuestionKind::Form { .. } => None,
    }
}

/// Returns the last result in the log of a job; `None` if the call never ran.
async fn called(client: &Client, job: &JobId) -> Result<Option<Called>, CliError> {
    let options = WatchOptions { stored: true, ..WatchOptions::default() };
    let mut stream = pin!(client.watch(job, options));
    let mut found = None;
    while let Some(item) = stream.next().await {
        match item? {
            Watched::Record { record, .. } => found = result(&record).or(found),
            Watched::View { .. } => break,
            Watched::End { error: Some(failure) } => return Err((*failure).into()),
            Watched::End { error: None } => break,
            Watched::Event { .. } | Watched::Live { .. } | Watched::Heartbeat => {}
        }
    }
    Ok(found)
}

fn result(record: &Value) -> Option<Called> {
    let record = Record::from_slice(record.to_string().as_bytes()).ok()?;
    record.results().into_iter().rev().find_map(Fact::into_called)
}
