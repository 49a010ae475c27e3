//! `setup`: creates and checks everything that roles need on the server, with an operator's
//! permissions.

use broker::nats::{LostBuckets, set_up};

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
    let lost = if args.recreate { LostBuckets::Recreate } else { LostBuckets::Refuse };
    let done = set_up(&(&config.nats).into(), &subjects, &args.tool_pools, lost)
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
    for bucket in done.recreated {
        let (name, loss) = (subjects.bucket(bucket.name()), bucket.loss());
        output.line(&format!(
            "The bucket {name} was lost and is empty now: {loss}. No job is lost"
        ))?;
    }
    Ok(Exit::Success)
}
