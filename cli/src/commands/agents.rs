//! `agents`: lists and checks agents, and stores and removes those of the installation.

mod history;
mod test;

use std::{path::Path, time::Duration};

use ::agents::{catalogue::Catalogue, source::Mistake, toolbox::Toolbox};
use door::pricing;
use proto::{
    agent::Layer,
    door::{DropAgent, SetAgent},
    id::AgentName,
    refusal::Warnings,
};
use serde::{Serialize, Serializer};

pub(super) use self::test::chosen;
use super::jobs::caller;
use crate::{
    agents::{self, AgentsError},
    args::{AgentsCommand, CheckAgentsArgs, Global, PutAgentArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    render::agents as render,
    settings::Config,
    words::Text,
};

/// Time limit for reaching a front door that knows the registered tools.
const LOOK: Duration = Duration::from_secs(1);

pub(super) async fn run(global: &Global, output: Output, command: AgentsCommand) -> Outcome {
    match command {
        AgentsCommand::Ls => ls(global, output).await,
        AgentsCommand::Show { name } => show(global, output, &name).await,
        AgentsCommand::Check(args) => Box::pin(check(global, output, &args)).await,
        AgentsCommand::Test(args) => test::run(global, output, args).await,
        AgentsCommand::Put(args) => put(global, output, args).await,
        AgentsCommand::Log { name } => history::log(global, output, &name).await,
        AgentsCommand::Diff(args) => history::diff(global, output, &args).await,
        AgentsCommand::Rollback(args) => history::roll_back(global, output, &args).await,
        AgentsCommand::Rm { name } => rm(global, output, name).await,
    }
}

async fn ls(global: &Global, output: Output) -> Outcome {
    let found = connect::client(global, output).await?.agents(None).await?;
    output.list(&found, &found.agents, |a| a.name.to_string(), |style| render::list(style, &found))
}

async fn show(global: &Global, output: Output, name: &AgentName) -> Outcome {
    let found = connect::client(global, output).await?.agents(Some(name)).await?;
    let Some(entry) = found.agents.first() else {
        return Err(CliError::internal("the server answered without the agent"));
    };
    output.one(entry, name.as_str(), |style| render::show(style, entry))
}

/// The result of checking one agent.
#[derive(Debug, Serialize)]
struct Checked {
    agent: AgentName,
    place: String,
    #[serde(serialize_with = "in_english")]
    mistakes: Vec<Mistake>,
}

fn in_english<S: Serializer>(mistakes: &[Mistake], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(mistakes.iter().map(ToString::to_string))
}

async fn check(global: &Global, output: Output, args: &CheckAgentsArgs) -> Outcome {
    let config = connect::config(global)?;
    let mut catalogue = agents::unchecked(&config).map_err(unreadable)?;
    let mut names: Vec<AgentName> = Vec::new();
    for file in &args.files {
        let source = agents::source(file, None).map_err(unreadable)?;
        names.push(source.name.clone());
        catalogue.set(Layer::Directory, [source]);
    }
    if args.files.is_empty() {
        names.extend(catalogue.names().cloned());
    }
    let checked: Vec<Checked> = names.iter().filter_map(|name| said(&catalogue, name)).collect();
    output.warnings(&unannounced(global, output, &catalogue, &names).await);
    output.warnings(&unpriced(&config, &catalogue, &names));
    let is_wrong = checked.iter().any(|one| !one.mistakes.is_empty());
    output.list(
        &checked,
        &checked,
        |one| one.agent.to_string(),
        |style| {
            let lines = checked.iter().map(|one| render::checked(style, &one.place, &one.mistakes));
            lines.collect()
        },
    )?;
    Ok(if is_wrong { Exit::Usage } else { Exit::Success })
}

/// Finds tools that agents name but no worker announces. Without a reachable server the list is
/// empty: files can be checked offline.
async fn unannounced(
    global: &Global,
    output: Output,
    catalogue: &Catalogue,
    names: &[AgentName],
) -> Warnings {
    let usable = names.iter().filter_map(|name| Some((name, catalogue.get(name)?.as_ref().ok()?)));
    let naming: Vec<_> = usable.filter(|(_, agent)| agent.tools.is_some()).collect();
    if naming.is_empty() {
        return Warnings::default();
    }
    let asked = async {
        Some(
            connect::client(global, output.quiet())
                .await
                .ok()?
                .with_retries(None)
                .tools()
                .await
                .ok()?
                .tools,
        )
    };
    let Ok(Some(registered)) = tokio::time::timeout(LOOK, asked).await else {
        return Warnings::default();
    };
    let tools = Toolbox::new(&registered, None);
    if registered.is_empty() {
        return Warnings::default();
    }
    let named = naming.into_iter().flat_map(|(name, agent)| {
        let absent = tools.unannounced(agent.tools.as_deref().unwrap_or_default());
        absent.into_iter().map(move |tool| (name, tool))
    });
    let named: Vec<_> = named.collect();
    named.iter().map(|(name, tool)| tool.text(Some(name))).collect()
}

/// Finds limits on money for which the configuration of this program knows no price. The server's
/// configuration may know it.
fn unpriced(config: &Config, catalogue: &Catalogue, names: &[AgentName]) -> Warnings {
    let prices = config.model.prices();
    let usable = names.iter().filter_map(|name| catalogue.get(name)?.as_ref().ok());
    let mut warnings = Warnings::default();
    for doubt in usable.filter_map(|agent| pricing::doubt(agent, &prices)) {
        warnings.add(&doubt);
    }
    warnings
}

fn said(catalogue: &Catalogue, name: &AgentName) -> Option<Checked> {
    let entry = catalogue.entry(name)?;
    let mistakes = match entry.resolved {
        Ok(_) => Vec::new(),
        Err(mistakes) => mistakes.0,
    };
    Some(Checked { agent: entry.name, place: entry.place, mistakes })
}

async fn put(global: &Global, output: Output, args: PutAgentArgs) -> Outcome {
    let source = agents::source(Path::new(&args.file), args.name).map_err(unreadable)?;
    let set = SetAgent {
        name: source.name,
        text: source.text,
        expected_revision: args.expect,
        check: args.dry_run,
        by: caller(),
    };
    let client = connect::client(global, output).await?;
    let changed = client.call(&set).await?;
    output.warnings(&changed.warnings);
    if args.dry_run {
        return history::preview(&client, output, &set).await;
    }
    output.one(&changed, changed.name.as_str(), |style| {
        format!("{}\n", style.say(Text::AgentStored { name: &changed.name }))
    })
}

async fn rm(global: &Global, output: Output, name: AgentName) -> Outcome {
    let request = DropAgent { name, expected_revision: None, by: caller() };
    let changed = connect::client(global, output).await?.call(&request).await?;
    output.one(&changed, changed.name.as_str(), |style| {
        format!("{}\n", style.say(Text::AgentRemoved { name: &changed.name }))
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands out")]
fn unreadable(error: AgentsError) -> CliError {
    CliError::input("agent", error.words())
}
