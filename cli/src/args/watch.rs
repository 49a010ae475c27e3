//! Arguments of `watch`.

use clap::Args;
use proto::event::EventId;

/// `watch`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub(crate) struct WatchArgs {
    /// Job: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// Only events after this one; the number of a record stands for all its events
    #[arg(long, value_name = "ID")]
    pub(crate) after: Option<EventId>,
    /// With -o json or jsonl: also the text of models while they write it
    #[arg(long)]
    pub(crate) live: bool,
    /// End after the stored events, instead of with the job
    #[arg(long)]
    pub(crate) no_follow: bool,
}

const HELP: &str = "\
Examples:
  callboard watch JOB                              print events until the job ends
  callboard -o jsonl watch JOB --live              for programs, with the text of models
  callboard -o jsonl watch JOB --after 417.2       resume after the last event

Each event has an id: a watch that resumes after an event receives exactly the later ones. \
docs/events.md lists the events.";
