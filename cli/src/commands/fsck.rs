//! `fsck`: proves that no record of any job was forgotten. It reads the logs itself, bypassing the
//! front door, and writes nothing.

use operator::fsck::{self, FsckError, Scope};
use proto::{error::Code, id::Shard};

use crate::{
    args::{FsckArgs, Global},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    render,
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, args: FsckArgs) -> Outcome {
    let cannot_look = |error: CliError| CliError { exit: Exit::Usage, ..error };
    let config = connect::config(global)?;
    let shards = config.nats.shards;
    if let Some(shard) = args.shard.iter().find(|shard| **shard >= shards) {
        let last = &shards.saturating_sub(1);
        return Err(CliError::input("--shard", Text::NoShard { shard, last }));
    }
    let broker = connect::broker(&config, connect::writer(), false).await.map_err(cannot_look)?;
    let scope = Scope {
        shards: args.shard.into_iter().map(Shard).collect(),
        jobs: args.jobs,
        ..Scope::default()
    };
    let looked = fsck::look(&broker, &scope).await;
    let report = looked.map_err(|error| match error {
        FsckError::Log(error) => cannot_look(CliError::unavailable(error.to_string())),
        FsckError::Kv(error) => cannot_look(CliError::unavailable(error.to_string())),
        FsckError::NoJob(job) => CliError {
            field: Some("job".to_owned()),
            ..CliError::not_found(Text::NoSuchJob { job: &job }).hint(Code::NotFound.hint())
        },
    })?;
    let wrong = &report.wrong;
    output.list(
        &report,
        wrong,
        |wrong| wrong.job.to_string(),
        |style| render::fsck::report(style, &report),
    )?;
    Ok(if report.is_clean() { Exit::Success } else { Exit::Failed })
}
