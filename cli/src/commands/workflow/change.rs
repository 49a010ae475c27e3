//! `workflow edit` and `workflow migrate`: other graphs for running jobs.

use std::{collections::BTreeMap, path::Path};

use ::agents::{source, workflow::read::FILE_BYTES_MAX};
use client::Client;
use proto::{
    door::{SendSignal, Signaled},
    id::JobId,
    point::Order,
    view::JobView,
    workflow::GraphEdit,
};
use serde::Deserialize;

use crate::{
    args::{ChangeArgs, ChangeOptions, Global, MigrateArgs},
    commands::{batch, jobs::caller, preview, submit},
    connect,
    failure::{CliError, Outcome},
    input,
    output::Output,
    words::Text,
};

/// A file with edits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edits {
    /// Revision of the graph that the author saw.
    #[serde(default)]
    base: Option<u32>,
    /// Edits, in order.
    edits: Vec<GraphEdit>,
}

pub(super) async fn edit(global: &Global, output: Output, args: ChangeArgs) -> Outcome {
    let ChangeArgs { job, file, how } = args;
    let Edits { base, edits } = read(&file)?;
    let client = connect::client(global, output).await?;
    let view = connect::job(&client, &job).await?;
    let base = how.base.or(base).unwrap_or_else(|| revision(&view));
    change(&client, output, view.job, Order::EditGraph { base, edits }, how).await
}

pub(super) async fn migrate(global: &Global, output: Output, args: MigrateArgs) -> Outcome {
    let MigrateArgs { job, file, to, how } = args;
    // A file with mistakes needs no server.
    let given = match &file {
        Some(file) => {
            let source = input::file("workflow", file, FILE_BYTES_MAX)?;
            let workflows = submit::beside(file, &source)?;
            Some((source, workflows))
        }
        None => None,
    };
    let client = connect::client(global, output).await?;
    let view = connect::job(&client, &job).await?;
    let (source, workflows) = match given {
        Some(given) => given,
        None => (stored(&client, &view, to).await?, BTreeMap::new()),
    };
    let base = how.base.unwrap_or_else(|| revision(&view));
    change(&client, output, view.job, Order::Migrate { base, source, workflows }, how).await
}

/// Returns the revision of the graph that the job has now.
fn revision(view: &JobView) -> u32 {
    view.graph.as_ref().map_or(0, |graph| graph.revision)
}

/// Returns the file of a stored version of the job's workflow.
async fn stored(client: &Client, view: &JobView, version: Option<u32>) -> Result<String, CliError> {
    let Some(graph) = &view.graph else {
        return Err(CliError::input("job", Text::JobWithoutGraph { job: &view.job }));
    };
    Ok(client.workflow(&graph.name, version).await?.text.unwrap_or_default())
}

fn read(file: &Path) -> Result<Edits, CliError> {
    let text = input::file("edits", file, FILE_BYTES_MAX)?;
    let value = source::json(&text).map_err(|mistake| CliError::input("edits", mistake.why))?;
    serde_path_to_error::deserialize(value)
        .map_err(|error| CliError::input("edits", format!("{}: {}", error.path(), error.inner())))
}

/// Sends an order, or says what it would do.
async fn change(
    client: &Client,
    output: Output,
    job: JobId,
    signal: Order,
    how: ChangeOptions,
) -> Outcome {
    if how.dry_run {
        return preview::run(client, output, vec![preview::of(&job, signal, None)]).await;
    }
    let reason = how.reason;
    let request = SendSignal { job, signal, expected_seq: None, reason, by: caller() };
    let signaled = client.call(&request).await?;
    let Signaled { job, state, .. } = &signaled;
    output.one(&signaled, job.as_str(), |style| {
        batch::line(style, *state, Text::GraphChanged { job, state })
    })
}
