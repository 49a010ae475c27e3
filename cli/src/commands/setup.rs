//! `setup`: creates and checks everything that roles need on the server, with an operator's
//! permissions.

use broker::nats::{LostBuckets, OldRecords, set_up, set_up_outboxes};

use crate::{
    args::{Global, SetupArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    words::Text,
};

/// Creates the missing streams and consumers.
pub(super) async fn run(global: &Global, output: Output, args: SetupArgs) -> Outcome {
    let config = connect::config(global)?;
    let subjects = connect::subjects(&config)?;
    let lost = if args.recreate { LostBuckets::Recreate } else { LostBuckets::Refuse };
    let old = if args.upgrade { OldRecords::Accept } else { OldRecords::Refuse };
    let done = set_up(&(&config.nats).into(), &subjects, &args.tool_pools, lost, old)
        .await
        .map_err(|e| CliError::unavailable(e.to_string()))?;
    let hooks = config.webhooks.outboxes();
    let removed = set_up_outboxes(&(&config.nats).into(), &subjects, &hooks)
        .await
        .map_err(|e| CliError::unavailable(e.to_string()))?;
    let queues = done.queues.iter().map(|(kind, pool)| format!("{}-{pool}", kind.as_str()));
    let outboxes = hooks.iter().map(|hook| subjects.outbox_consumer(hook));
    let facts = [subjects.facts_consumer()];
    let consumers: Vec<String> = facts.into_iter().chain(queues).chain(outboxes).collect();
    let (prefix, shards) = (&subjects.prefix(), &subjects.shards());
    let (copies, consumers) = (&config.nats.replicas, &consumers.join(", "));
    output.say(match done.is_new {
        true => Text::SetUpNow { prefix, shards, copies, consumers },
        false => Text::SetUpBefore { prefix, shards, copies, consumers },
    })?;
    if done.has_accepted {
        output.say(Text::SetUpAccepted)?;
    }
    for name in &removed {
        output.say(Text::SetUpRemovedWebhook { name })?;
    }
    for bucket in done.recreated {
        let (name, loss) = (&subjects.bucket(bucket.name()), &bucket.loss(output.language));
        output.say(Text::SetUpLostBucket { name, loss })?;
    }
    Ok(Exit::Success)
}
