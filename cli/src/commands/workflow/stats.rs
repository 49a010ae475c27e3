//! `workflow stats`: sums up the jobs that run workflows.

use crate::{
    args::{Global, WorkflowStatsArgs},
    commands::batch,
    connect,
    failure::Outcome,
    output::Output,
    render::workflows as render,
};

pub(super) async fn run(global: &Global, output: Output, args: WorkflowStatsArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let filter = batch::filter(&client, &args.filter).await?;
    let (only, max) = (args.name.as_ref(), args.limit.into());
    let stats = client.workflow_stats(filter, only, max).await?;
    output.list(
        &stats,
        &stats.workflows,
        |one| one.workflow.to_string(),
        |style| render::stats(style, &stats, only),
    )
}
