//! `usage`: sums the cost of jobs.

use proto::door::GetUsage;

use super::batch;
use crate::{
    args::{Global, UsageArgs},
    connect,
    failure::Outcome,
    output::Output,
    render::usage,
};

pub(super) async fn run(global: &Global, output: Output, args: UsageArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let filter = batch::filter(&client, &args.filter).await?;
    let report = client.call(&GetUsage { filter }).await?;
    let jobs = report.jobs.to_string();
    output.one(&report, &jobs, |style| usage::report(style, &report, args.by))
}
