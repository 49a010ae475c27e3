//! Arguments of `watch`.

use clap::Args;
use proto::event::EventId;

/// `watch`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub(crate) struct WatchArgs {
    /// The job: its id, or the beginning of it when no other begins so
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Only events after this one; the number of a record stands for all of its events
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<EventId>,
    /// With -o json or jsonl: what models say while they say it, too
    #[arg(long)]
    pub(crate) live: bool,
    /// End when there is nothing more to catch up with, instead of with the job
    #[arg(long)]
    pub(crate) no_follow: bool,
}

const HELP: &str = "\
Examples:
  callboard watch JOB                              what happens, for people, until the job has ended
  callboard -o jsonl watch JOB --live              the same for programs, and the words of models
  callboard -o jsonl watch JOB --after 417.2       only what came after the event that was seen last

Each event has an id: a watch that resumes after the last one gets exactly what it missed. The events \
are those of docs/events.md.";
