//! `fsck`: proves that no record of any job was forgotten. It reads the logs itself, bypassing the
//! front door, and writes nothing. With `--repair` it then asks the front door to repair jobs.

use broker::{Broker, log::LogError};
use operator::fsck::{self, Finding, FsckError, Scope, Wrong};
use proto::{
    error::Code,
    id::{JobId, Seq, Shard},
    lang::Words,
    point::{Order, Point},
};

use super::jobs::confirmed;
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
    let repairs = match args.repair {
        true => repairs(&broker, wrong, args.again)
            .await
            .map_err(|error| cannot_look(CliError::unavailable(error.to_string())))?,
        false => Vec::new(),
    };
    // A program reads one document: what was repaired, or else what was found.
    if repairs.is_empty() || !output.format.is_json() {
        output.list(
            &report,
            wrong,
            |wrong| wrong.job.to_string(),
            |style| render::fsck::report(style, &report),
        )?;
    }
    let is_whole = report.lost.is_empty() && repairs.len() == wrong.len();
    if !repairs.is_empty() {
        output.warn(match repairs.len() {
            1 => Words::from(Text::RepairableJob),
            count => Words::from(Text::RepairableJobs { count: &count }),
        });
        if !global.yes {
            confirmed(output, Text::RepairingJobs, [Text::ConfirmRepair.into()]).await?;
        }
        let client = connect::client(global, output).await?;
        let reason = Some("fsck --repair");
        super::retry::send(&client, output, repairs, reason).await?;
    }
    Ok(if is_whole { Exit::Success } else { Exit::Failed })
}

/// Returns the signals that repair jobs: to the record before the first dropped command, or to end
/// the wait for a timer that is not armed. No signal repairs another finding.
async fn repairs(
    broker: &Broker,
    wrong: &[Wrong],
    again: bool,
) -> Result<Vec<(JobId, Order)>, LogError> {
    let mut repairs = Vec::new();
    for Wrong { job, findings, .. } in wrong {
        let dropped = findings.iter().filter_map(|finding| match finding {
            Finding::Dropped { seq, .. } => Some(*seq),
            Finding::NoTimer { .. }
            | Finding::Log(_)
            | Finding::Unattended { .. }
            | Finding::OneOfDropped { .. }
            | Finding::Uncovered { .. }
            | Finding::NotInInbox { .. }
            | Finding::StillInInbox { .. }
            | Finding::NoChild { .. }
            | Finding::ChildUnheard { .. } => None,
        });
        if let Some(first) = dropped.min() {
            let entries = broker.log.read(job, Seq(0)).await?;
            let before = entries.iter().map(|entry| entry.seq).take_while(|seq| *seq < first);
            if let Some(to) = before.last() {
                repairs.push((job.clone(), Order::RollBack { to: Point::Seq(to), again }));
            }
        } else if findings.iter().any(|finding| matches!(finding, Finding::NoTimer { .. })) {
            repairs.push((job.clone(), Order::Retry));
        }
    }
    Ok(repairs)
}
