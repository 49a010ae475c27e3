//! `submit`: stores a job and prints its id. An interrupted command reports whether the job exists.

use std::{collections::BTreeMap, path::Path, time::Duration};

use agents::{catalogue::Catalogue, conflicts, source::Source, workflow::read::FILE_BYTES_MAX};
use client::Client;
use proto::{
    agent::{Agent, Layer},
    door::{AgentChoice, Submit, SubmitWorkflow, Submitted},
    error::{Code, Failure},
    id::{AgentName, JobId},
    label::Labels,
    lang::Words,
    limits,
    output::OutputSchema,
    strict,
    workflow::{SUB_WORKFLOWS_MAX, WorkflowName},
};
use serde_json::{Value, json};

use super::{
    attachments,
    watch::{Asking, Session},
    workflow::{Chosen, chosen},
};
use crate::{
    args::{Global, JobArgs, SubmitArgs, Waiting},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    input,
    interrupt::Interrupts,
    output::{Format, Output},
    words::Text,
};

/// Time limit for looking up an interrupted submission.
const LOOK: Duration = Duration::from_secs(2);

pub(super) async fn run(global: &Global, output: Output, args: SubmitArgs) -> Outcome {
    let mut submit = request(&args.goal, &args.job)?;
    let files = attachments::read(&args.job.files)?;
    let client = connect::client(global, output).await?;
    submit.files = attachments::upload(&client, files).await?;
    let submitted = store(&client, output, submit).await?;
    if !args.wait {
        print(output, &submitted)?;
        return Ok(Exit::Success);
    }
    if !output.format.is_json() {
        output.line(submitted.job.as_str())?;
    }
    Session {
        client: &client,
        output,
        job: submitted.job,
        waiting: Waiting { plain: true, ..Waiting::default() },
        asking: Asking::of(global.yes, false),
        silent: true,
    }
    .watch()
    .await
    .map(|(exit, _)| exit)
}

pub(super) fn print(output: Output, submitted: &Submitted) -> Result<(), CliError> {
    let job = submitted.job.as_str();
    match output.format {
        // Prints only the id, for use in `$(…)`.
        Format::Table | Format::Ids => output.line(job)?,
        Format::Json | Format::Jsonl => output.json(submitted)?,
    }
    if !submitted.created {
        output.note(Text::ExistsAlready { job: &job });
    }
    Ok(())
}

/// Builds the request. The id is chosen here, before anything is sent, so that it is known even if
/// no reply arrives.
pub(super) fn request(goal: &str, job: &JobArgs) -> Result<Submit, CliError> {
    let goal = input::text("goal", goal, limits::GOAL_BYTES_MAX)?;
    if goal.trim().is_empty() {
        return Err(CliError::input("goal", Text::GoalEmpty));
    }
    let agent = job.agent.as_deref().map(agent).transpose()?;
    let plan = job.plan.as_deref().map(plan).transpose()?;
    let workflow = workflow(job)?;
    let output = job.schema.as_deref().map(schema).transpose()?;
    let labels = Labels::of(job.labels.iter().cloned());
    let labels = labels.map_err(|error| CliError::input("label", error.to_string()))?;
    Ok(Submit {
        id: Some(job.id.clone().unwrap_or_else(client::new_id)),
        agent,
        conversation: job.conversation.clone(),
        language: job.language,
        tools: (!job.tools.is_empty()).then(|| job.tools.clone()),
        plan,
        workflow,
        output,
        labels,
        confirm: (job.confirm || job.no_confirm).then_some(job.confirm),
        deadline_ms: job.deadline.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
        ..Submit::goal(goal)
    })
}

fn plan(given: &str) -> Result<Value, CliError> {
    let text = input::text("plan", given, limits::REQUEST_BYTES_MAX)?;
    strict::from_slice(text.as_bytes())
        .map_err(|e| CliError::input("plan", Failure::from(e).message))
}

fn workflow(job: &JobArgs) -> Result<Option<SubmitWorkflow>, CliError> {
    let input = match &job.input {
        None => json!({}),
        Some(given) => {
            let text = input::text("input", given, limits::REQUEST_BYTES_MAX)?;
            strict::from_slice(text.as_bytes())
                .map_err(|e| CliError::input("input", Failure::from(e).message))?
        }
    };
    let choice = job.workflow.as_deref().map(chosen).transpose()?;
    let rest = SubmitWorkflow { input, ..SubmitWorkflow::default() };
    Ok(match choice {
        Some(Chosen::File(file)) => {
            let source = input::file("workflow", &file, FILE_BYTES_MAX)?;
            let workflows = beside(&file, &source)?;
            Some(SubmitWorkflow { source: Some(source), workflows, ..rest })
        }
        Some(Chosen::Named(name)) => Some(SubmitWorkflow { name: Some(name), ..rest }),
        // The workflow of the agent.
        None => job.input.is_some().then_some(rest),
    })
}

/// Reads the workflows that the nodes of a file run, directly or through others: the file `NAME.yaml`
/// of the same directory. The front door knows the others, or refuses them.
pub(super) fn beside(
    file: &Path,
    source: &str,
) -> Result<BTreeMap<WorkflowName, String>, CliError> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut found = BTreeMap::new();
    let mut wanted = sub_workflows(source);
    while let Some(name) = wanted.pop() {
        let path = directory.join(format!("{name}.yaml"));
        if found.contains_key(&name) || found.len() >= SUB_WORKFLOWS_MAX || !path.is_file() {
            continue;
        }
        let text = input::file("workflow", &path, FILE_BYTES_MAX)?;
        wanted.extend(sub_workflows(&text));
        found.insert(name, text);
    }
    Ok(found)
}

/// Returns the names after `workflow` and `type` in a file, among which are those of the workflows
/// that its nodes run. The front door alone knows the tools, so it alone can read the file.
fn sub_workflows(source: &str) -> Vec<WorkflowName> {
    let text = source.replace(['"', '\''], "");
    let after = |key: &'static str| text.match_indices(key).map(move |(at, key)| at + key.len());
    let names = after("workflow:").chain(after("type:")).filter_map(|at| {
        let rest = text.get(at..)?.trim_start();
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        WorkflowName::new(rest.split(|c| !is_name(c)).next()?).ok()
    });
    names.collect()
}

fn schema(given: &str) -> Result<OutputSchema, CliError> {
    let text = input::text("schema", given, limits::REQUEST_BYTES_MAX)?;
    strict::from_slice(text.as_bytes())
        .map(OutputSchema)
        .map_err(|e| CliError::input("schema", Failure::from(e).message))
}

pub(super) fn agent(named: &str) -> Result<AgentChoice, CliError> {
    if !named.starts_with('@') {
        let name = AgentName::new(named).map_err(|e| CliError::input("agent", e.to_string()))?;
        return Ok(AgentChoice::Named(name));
    }
    let text = input::text("agent", named, limits::REQUEST_BYTES_MAX)?;
    if !text.trim_start().starts_with('{') {
        return written(named, text);
    }
    let agent: Agent = strict::from_slice(text.as_bytes())
        .map_err(|e| CliError::input("agent", format!("{named}: {}", Failure::from(e).message)))?;
    conflicts::check(&agent).map_err(|invalid| {
        let words = Words::new(|language| format!("{named}: {}", invalid.text(language)));
        CliError::input("agent", words)
    })?;
    Ok(AgentChoice::Inline(Box::new(agent)))
}

/// Parses an agent file, which may extend the shipped agents.
fn written(named: &str, text: String) -> Result<AgentChoice, CliError> {
    let place = named.trim_start_matches('@').to_owned();
    let stem = Path::new(&place).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name = AgentName::new(stem).or_else(|_| AgentName::new("inline"));
    let name = name.map_err(|e| CliError::input("agent", e.to_string()))?;
    let mut catalogue = Catalogue::presets();
    catalogue.set(Layer::Directory, [Source { name: name.clone(), place, text }]);
    match catalogue.get(&name) {
        Some(Ok(agent)) => Ok(AgentChoice::Inline(Box::new(Agent::clone(agent)))),
        Some(Err(mistakes)) => Err(CliError::input("agent", mistakes.to_string())),
        None => Err(CliError::internal("an agent that was read is not there")),
    }
}

/// Stores the job; if interrupted, reports whether the job exists.
pub(super) async fn store(
    client: &Client,
    output: Output,
    submit: Submit,
) -> Result<Submitted, CliError> {
    let id = submit.id.clone().ok_or_else(|| CliError::internal("a submission without an id"))?;
    let mut interrupts = Interrupts::take()?;
    tokio::select! {
        stored = client.submit(submit) => {
            let submitted = stored.map_err(|failure| unsure(failure, &id))?;
            output.warnings(&submitted.warnings);
            Ok(submitted)
        }
        () = interrupts.next() => {
            output.note(Text::CheckingStored);
            Err(interrupted(client, &id).await)
        }
    }
}

/// Adds a hint after a timeout: the job may exist all the same.
fn unsure(failure: Failure, id: &JobId) -> CliError {
    let unknown = matches!(failure.code, Code::Timeout | Code::Unavailable);
    let error = CliError::from(failure);
    if unknown {
        return error.hint(Text::MaybeStored { id });
    }
    error
}

async fn interrupted(client: &Client, id: &JobId) -> CliError {
    let found = tokio::time::timeout(LOOK, client.get(id)).await;
    let again = Text::SubmitAgain { id };
    match found {
        Ok(Ok(view)) => CliError::interrupted(Text::InterruptedStored { id, state: &view.state })
            .hint(format!("callboard run --attach {id}")),
        Ok(Err(failure)) if failure.code == Code::NotFound => {
            CliError::interrupted(Text::InterruptedAbsent { id }).hint(again)
        }
        Ok(Err(_)) | Err(_) => CliError::interrupted(Text::InterruptedUnknown { id }).hint(again),
    }
}
