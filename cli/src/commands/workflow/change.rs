//! `workflow edit` and `workflow migrate`: other graphs for running jobs.

use std::path::Path;

use ::agents::{source, workflow::read::FILE_BYTES_MAX};
use proto::{
    door::{SendSignal, Signaled},
    point::Order,
    workflow::GraphEdit,
};
use serde::Deserialize;

use crate::{
    args::{ChangeArgs, Global},
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
    let Edits { base, edits } = read(&args.file)?;
    let known = args.base.or(base);
    change(global, output, args, |revision| Order::EditGraph {
        base: known.unwrap_or(revision),
        edits,
    })
    .await
}

pub(super) async fn migrate(global: &Global, output: Output, args: ChangeArgs) -> Outcome {
    let (known, file) = (args.base, args.file.clone());
    let source = input::file("workflow", &file, FILE_BYTES_MAX)?;
    let workflows = submit::beside(&file, &source)?;
    change(global, output, args, |revision| Order::Migrate {
        base: known.unwrap_or(revision),
        source,
        workflows,
    })
    .await
}

fn read(file: &Path) -> Result<Edits, CliError> {
    let text = input::file("edits", file, FILE_BYTES_MAX)?;
    let value = source::json(&text).map_err(|mistake| CliError::input("edits", mistake.why))?;
    serde_path_to_error::deserialize(value)
        .map_err(|error| CliError::input("edits", format!("{}: {}", error.path(), error.inner())))
}

/// Sends the order that follows from the revision of the graph, or says what it would do.
async fn change(
    global: &Global,
    output: Output,
    args: ChangeArgs,
    order: impl FnOnce(u32) -> Order,
) -> Outcome {
    let client = connect::client(global, output).await?;
    let view = connect::job(&client, &args.job).await?;
    let revision = view.graph.as_ref().map_or(0, |graph| graph.revision);
    let (job, signal) = (view.job, order(revision));
    if args.dry_run {
        return preview::run(&client, output, vec![preview::of(&job, signal, None)]).await;
    }
    let reason = args.reason;
    let request = SendSignal { job, signal, expected_seq: None, reason, by: caller() };
    let signaled = client.call(&request).await?;
    let Signaled { job, state, .. } = &signaled;
    output.one(&signaled, job.as_str(), |style| {
        batch::line(style, *state, Text::GraphChanged { job, state })
    })
}
