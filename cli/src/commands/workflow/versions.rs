//! `workflow versions`, `diff` and `rollback`: the versions of a stored workflow.

use client::Client;
use proto::{agent::Layer, workflow::WorkflowName};

use crate::{
    args::{DiffWorkflowArgs, Global, RollBackWorkflowArgs},
    commands::jobs::caller,
    connect,
    failure::{CliError, Outcome},
    output::Output,
    render::{
        difference::{self, Compared, Named},
        workflows as render,
    },
    words::Text,
};

pub(super) async fn list(global: &Global, output: Output, name: &WorkflowName) -> Outcome {
    let entry = connect::client(global, output).await?.workflow(name, None).await?;
    let version = |one: &proto::door::WorkflowVersion| one.version.to_string();
    output.list(&entry.versions, &entry.versions, version, |style| render::versions(style, &entry))
}

pub(super) async fn diff(global: &Global, output: Output, args: &DiffWorkflowArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let name = &args.name;
    let (from, to) = match (args.from, args.to) {
        (Some(from), Some(to)) => (from, to),
        (from, to) => chosen(&client, name, from, to).await?,
    };
    let side = async |version: u32| {
        let text = client.workflow(name, Some(version)).await?.text.unwrap_or_default();
        let version = Text::VersionOf { name, version: &version };
        Ok::<_, CliError>(Named { name: version.text(output.language), text })
    };
    let compared = Compared { from: side(from).await?, to: side(to).await? };
    output.one(&compared, name.as_str(), |style| difference::diff(style, &compared, name))
}

/// Returns the versions to compare: the one in force, and the highest one below it, unless given.
async fn chosen(
    client: &Client,
    name: &WorkflowName,
    from: Option<u32>,
    to: Option<u32>,
) -> Result<(u32, u32), CliError> {
    let entry = client.workflow(name, None).await?;
    let missing = |text: Text<'_>| CliError::input("version", text);
    let to = to.or_else(|| entry.version.filter(|_| entry.layer == Layer::Bucket));
    let to = to.ok_or_else(|| missing(Text::WorkflowNotStored { name }))?;
    let mut lower = entry.versions.iter().map(|one| one.version).filter(|one| *one < to);
    let from = from.or_else(|| lower.next());
    Ok((from.ok_or_else(|| missing(Text::NoEarlierVersion { name, version: &to }))?, to))
}

pub(super) async fn roll_back(
    global: &Global,
    output: Output,
    args: &RollBackWorkflowArgs,
) -> Outcome {
    let client = connect::client(global, output).await?;
    let changed = client.roll_back_workflow(&args.name, args.to, caller()).await?;
    output.warnings(&changed.warnings);
    output.one(&changed, changed.name.as_str(), |style| {
        let (name, version) = (&changed.name, &args.to);
        format!("{}\n", style.say(Text::WorkflowRolledBack { name, version }))
    })
}
