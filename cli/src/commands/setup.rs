//! `setup`: creates and checks everything that roles need on the server, with an operator's
//! permissions.

use broker::nats::set_up;

use crate::{
    args::{Global, SetupArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
};

/// Creates the missing streams and consumers.
pub(super) async fn run(global: &Global, output: Output, args: SetupArgs) -> Outcome {
    let config = connect::config(global)?;
    let subjects = connect::subjects(&config)?;
    let done = set_up(&(&config.nats).into(), &subjects, &args.tool_pools)
        .await
        .map_err(|e| CliError::unavailable(e.to_string()))?;
    let queues: Vec<String> =
        done.queues.iter().map(|(kind, pool)| format!("{}-{pool}", kind.as_str())).collect();
    let what = if done.is_new { "was made" } else { "is as it must be" };
    output.line(&format!(
        "The installation {} {what}: {} shards, {} copies; consumers: {}, {}",
        subjects.prefix(),
        subjects.shards(),
        config.nats.replicas,
        subjects.facts_consumer(),
        queues.join(", ")
    ))?;
    Ok(Exit::Success)
}
