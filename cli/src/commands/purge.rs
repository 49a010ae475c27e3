//! `jobs purge`: removes ended jobs and unreferenced large values. Like `fsck` it accesses the log
//! directly, and it is the only command that removes anything.

use std::collections::BTreeSet;

use broker::Broker;
use jiff::{SignedDuration, Timestamp};
use operator::purge::{self, Ended, Garbage, PurgeError, PurgeReport, Stays, Terms};
use proto::{id::JobId, lang::Words};

use crate::{
    args::{Global, PurgeArgs},
    connect,
    failure::{CliError, Outcome},
    output::Output,
    render::purge::{self as words, Report},
    words::Text,
};

/// Default time since the end of the jobs to remove, if no job is named.
const ENDED_BEFORE: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Removes jobs and values, or lists them in a dry run.
pub(super) async fn run(global: &Global, output: Output, args: PurgeArgs) -> Outcome {
    let config = connect::config(global)?;
    let broker = connect::broker(&config, connect::writer(), false).await?;
    let named = !args.jobs.is_empty();
    let default = if named { SignedDuration::ZERO } else { ENDED_BEFORE };
    let age = args.ended_before.unwrap_or(default);
    let before = Timestamp::now().checked_sub(age);
    let before = before.map_err(|e| CliError::input("--ended-before", e.to_string()))?;
    let terms = Terms { jobs: args.jobs.clone(), before };
    let found = purge::find(&broker, &terms).await.map_err(|e| failed(&e))?;
    refuse(&found)?;
    // The records of a lost shard may come back with its backup, and refer to large values.
    let objects = !args.no_objects && found.lost.is_empty();
    let mut report = Report::new(&found, args.dry_run);
    if args.dry_run {
        if objects {
            let gone = found.ended.iter().map(|ended| &ended.job).collect();
            report.objects = Some(garbage(&broker, &gone).await?.into());
        }
        return told(output, &report);
    }
    if !global.yes {
        confirm(output, &report, objects).await?;
    }
    report.keep(&remove(&broker, &found.ended).await?);
    if objects {
        let garbage = garbage(&broker, &BTreeSet::new()).await?;
        purge::collect(&broker, &garbage).await.map_err(|e| failed(&e))?;
        report.objects = Some(garbage.into());
    }
    told(output, &report)
}

fn told(output: Output, report: &Report) -> Outcome {
    let job = |ended: &Ended| ended.job.to_string();
    output.list(report, &report.jobs, job, |style| words::report(style, report))
}

/// Fails if a named job must stay; then nothing is removed, not even the other jobs.
fn refuse(found: &PurgeReport) -> Result<(), CliError> {
    let stays = |wanted: Stays| {
        let jobs = found.named.iter().filter(move |(_, stays)| *stays == wanted);
        jobs.map(|(job, _)| job.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (open, recent) = (stays(Stays::Open), stays(Stays::Recent));
    let family = stays(Stays::Family);
    if !open.is_empty() {
        let why = Text::PurgeRefusedOpen { jobs: &open };
        return Err(CliError::refused("not_ended", why).hint(Text::PurgeCancel));
    }
    if !family.is_empty() {
        let why = Text::PurgeRefusedFamily { jobs: &family };
        return Err(CliError::refused("not_ended", why).hint(Text::PurgeTree));
    }
    let lost = stays(Stays::Lost);
    if !lost.is_empty() {
        return Err(CliError::unavailable(Text::PurgeRefusedLost { jobs: &lost }));
    }
    if !recent.is_empty() {
        let why = Text::PurgeRefusedRecent { jobs: &recent };
        return Err(CliError::refused("ended_lately", why));
    }
    Ok(())
}

async fn confirm(output: Output, report: &Report, objects: bool) -> Result<(), CliError> {
    let mut lines = vec![words::summary(&output.style_of_notes(), report).into()];
    if objects {
        lines.push(Text::ThenObjects.into());
    }
    lines.push(Text::ConfirmPurge.into());
    super::jobs::confirmed(output, Text::RemovingJobs, lines).await
}

async fn remove(broker: &Broker, jobs: &[Ended]) -> Result<Vec<JobId>, CliError> {
    purge::remove(broker, jobs).await.map_err(|(removed, error)| {
        let failed = failed(&error);
        let message = Words::new(|language| {
            let why = &failed.message.text(language);
            Text::PurgeStopped { removed: &removed, all: &jobs.len(), why }.text(language)
        });
        CliError { message, ..failed }.hint(Text::PurgeContinue)
    })
}

async fn garbage(broker: &Broker, gone: &BTreeSet<&JobId>) -> Result<Garbage, CliError> {
    purge::garbage(broker, purge::OLDER_THAN, gone).await.map_err(|e| failed(&e))
}

fn failed(error: &PurgeError) -> CliError {
    match error {
        PurgeError::Log(_) | PurgeError::Kv(_) | PurgeError::Objects(_) => {
            CliError::unavailable(error.to_string())
        }
        PurgeError::TooLong => CliError::unavailable(Text::PurgeTooLong),
    }
}
