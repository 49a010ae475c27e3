//! Arguments of `ui` and `top`.

use clap::Args;
use proto::lang::Language;

/// `ui` and `top`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub(crate) struct UiArgs {
    /// Job to open first: its id or a unique prefix
    #[arg(value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Offer no action that changes something
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Language of the screens [default: that of the locale]
    #[arg(long, value_name = "en|zh", value_parser = super::start::language)]
    pub(crate) language: Option<Language>,
}

const HELP: &str = "\
The bottom line shows the keys that are possible now; ? lists all of them. Every action asks first, \
and appears in the command log (;) as the command that it equals.

Examples:
  callboard ui                                     all jobs
  callboard ui JOB                                 one job: plan, time, text and log
  callboard top --read-only                        numbers and rates, to look at only";
