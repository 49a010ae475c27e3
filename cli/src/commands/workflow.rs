//! `workflow`: checks, outlines, draws, simulates and imports workflow files without a server, stores
//! and runs them by name, draws and sums up the workflows of jobs, and changes their graphs.

mod change;
mod import;
mod simulate;
mod stats;
mod stored;
mod versions;

use std::{collections::BTreeSet, path::Path, time::Duration};

use ::agents::{
    source::{Mistake, Mistakes},
    workflow::{
        export::{self, Format, Marks},
        read::{self, FILE_BYTES_MAX, Known, read},
        shipped,
    },
};
use proto::{
    door::{GetGraph, Workflows},
    id::AgentName,
    tool::ToolSpec,
    workflow::WorkflowName,
};
use serde::{Serialize, Serializer};

use crate::{
    agents,
    args::{CheckWorkflowArgs, Global, GraphArgs, GraphFormat, WorkflowCommand},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    input,
    output::Output,
    render::workflow as render,
    words::Text,
};

pub(super) use self::stored::{Chosen, chosen};

/// Time limit for reaching a front door that knows the registered tools.
const LOOK: Duration = Duration::from_secs(1);

pub(super) async fn run(global: &Global, output: Output, command: WorkflowCommand) -> Outcome {
    match command {
        WorkflowCommand::Check(args) => Box::pin(check(global, output, &args)).await,
        WorkflowCommand::Show(args) => stored::show(global, output, args).await,
        WorkflowCommand::Ls => stored::ls(global, output).await,
        WorkflowCommand::Set(args) => stored::set(global, output, args).await,
        WorkflowCommand::Versions { name } => versions::list(global, output, &name).await,
        WorkflowCommand::Diff(args) => versions::diff(global, output, &args).await,
        WorkflowCommand::Rollback(args) => versions::roll_back(global, output, &args).await,
        WorkflowCommand::Drop(args) => stored::drop(global, output, args).await,
        WorkflowCommand::Run(args) => stored::start(global, output, *args).await,
        WorkflowCommand::Stats(args) => stats::run(global, output, args).await,
        WorkflowCommand::Graph(args) => graph(global, output, args).await,
        WorkflowCommand::Simulate(args) => Box::pin(simulate::run(global, output, &args)).await,
        WorkflowCommand::Import(args) => import::run(output, &args),
        WorkflowCommand::Edit(args) => Box::pin(change::edit(global, output, args)).await,
        WorkflowCommand::Migrate(args) => Box::pin(change::migrate(global, output, args)).await,
    }
}

/// The result of checking one file.
#[derive(Debug, Serialize)]
struct Checked {
    place: String,
    /// Name and digest of a valid workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<WorkflowName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(serialize_with = "in_english")]
    mistakes: Vec<Mistake>,
    #[serde(serialize_with = "in_english")]
    warnings: Vec<Mistake>,
}

fn in_english<S: Serializer>(mistakes: &[Mistake], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(mistakes.iter().map(ToString::to_string))
}

async fn check(global: &Global, output: Output, args: &CheckWorkflowArgs) -> Outcome {
    let mut files = Vec::new();
    for file in &args.files {
        files.push((file.display().to_string(), text(file)?));
    }
    let names = agent_names(global)?;
    let (tools, stored) = registered(global, output).await;
    let others = || shipped::names().chain(stored.iter().cloned());
    let alone = Known::of(&tools, names.clone(), others());
    let named: BTreeSet<WorkflowName> = files
        .iter()
        .filter_map(|(place, text)| read(place, text, &alone).ok())
        .map(|checked| checked.workflow.name)
        .collect();
    let known = Known::of(&tools, names, others().chain(named));
    let checked: Vec<Checked> =
        files.iter().map(|(place, text)| one(place, read(place, text, &known))).collect();
    let is_wrong = checked.iter().any(|one| !one.mistakes.is_empty());
    output.list(
        &checked,
        &checked,
        |one| one.workflow.as_ref().map_or_else(|| one.place.clone(), ToString::to_string),
        |style| {
            let lines = checked
                .iter()
                .map(|one| render::checked(style, &one.place, &one.mistakes, &one.warnings));
            lines.collect()
        },
    )?;
    Ok(if is_wrong { Exit::Usage } else { Exit::Success })
}

fn one(place: &str, result: Result<read::Checked, Mistakes>) -> Checked {
    let place = place.to_owned();
    match result {
        Ok(read::Checked { workflow, warnings }) => Checked {
            place,
            digest: Some(workflow.digest()),
            workflow: Some(workflow.name),
            mistakes: Vec::new(),
            warnings,
        },
        Err(Mistakes(mistakes)) => {
            Checked { place, workflow: None, digest: None, mistakes, warnings: Vec::new() }
        }
    }
}

/// Returns the names of the agents that are known without a server.
fn agent_names(global: &Global) -> Result<Vec<AgentName>, CliError> {
    let config = connect::config(global)?;
    let catalogue =
        agents::unchecked(&config).map_err(|error| CliError::input("agent", error.words()))?;
    Ok(catalogue.names().cloned().collect())
}

/// Returns the registered tools and the names of the server's workflows; none when no server can be
/// reached.
async fn registered(global: &Global, output: Output) -> (Vec<ToolSpec>, Vec<WorkflowName>) {
    let asked = async {
        let client = connect::client(global, output.quiet()).await.ok()?.with_retries(None);
        let tools = client.tools().await.ok()?.tools;
        // An older server knows no workflows by name.
        let stored = client.call(&Workflows::default()).await.map(|list| list.workflows);
        let names = stored.into_iter().flatten().map(|entry| entry.name).collect();
        Some((tools, names))
    };
    tokio::time::timeout(LOOK, asked).await.ok().flatten().unwrap_or_default()
}

fn text(file: &Path) -> Result<String, CliError> {
    // One byte more than allowed is read, so that the check reports a file that is too large.
    input::file("workflow", file, FILE_BYTES_MAX + 1)
}

/// Reads one valid workflow. Names of tools and agents are not compared.
fn valid(file: &Path) -> Result<proto::workflow::Workflow, CliError> {
    let place = file.display().to_string();
    let checked = read(&place, &text(file)?, &Known::default());
    checked.map(|checked| checked.workflow).map_err(|mistakes| {
        let why = proto::lang::Words::new(|language| format!("\n{}", mistakes.text(language)));
        CliError::input("workflow", why)
    })
}

async fn graph(global: &Global, output: Output, args: GraphArgs) -> Outcome {
    let (workflow, marks) = match (&args.file, &args.job) {
        (Some(file), _) => (stored::definition(global, output, file).await?, Marks::default()),
        (None, Some(named)) => {
            let client = connect::client(global, output).await?;
            let job = connect::job(&client, named).await?.job;
            let graph = client.call(&GetGraph { job, at: args.at, files: false }).await?;
            let marks = Marks::of(&graph);
            (graph.definition, marks)
        }
        (None, None) => return Err(CliError::usage(Text::FileOrJob)),
    };
    let format = match args.format {
        GraphFormat::Dot => Format::Dot,
        GraphFormat::Mermaid => Format::Mermaid,
        GraphFormat::Svg => Format::Svg,
    };
    output.print(&export::draw(&workflow, &marks, format))?;
    Ok(Exit::Success)
}
