//! Arguments of the commands that ask one process how it is: `health`, `log`.

use std::time::Duration;

use clap::{Args, ValueEnum};

/// Where a process answers operators.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AdminArgs {
    /// Where the process answers: HOST:PORT [default: admin.listen of the configuration]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
}

/// What a process is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Question {
    /// Whether it should be let alone
    Live,
    /// Whether it can do its work
    Ready,
}

/// `health`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HEALTH_HELP)]
pub(crate) struct HealthArgs {
    /// What to ask
    #[arg(value_enum, default_value = "ready")]
    pub(crate) question: Question,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
}

const HEALTH_HELP: &str = "\
Exit code 0 when the answer is yes; 1 when it is no, or when nobody answers.

Examples:
  callboard health                     whether the process on this machine can do its work
  callboard health live                whether it should be let alone
  callboard health --address 10.0.0.7:9464";

/// `log`.
#[derive(Debug, Clone, Args)]
#[command(after_help = LOG_HELP)]
pub(crate) struct LogArgs {
    /// The new level: error, warn, info, debug, trace, or info,callboard_supervisor=debug
    #[arg(value_name = "LEVEL")]
    pub(crate) level: Option<String>,
    /// Go back to the level before after this time: 30s, 10m
    #[arg(long = "for", value_name = "TIME", value_parser = super::duration, requires = "level")]
    pub(crate) lasts: Option<Duration>,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
}

const LOG_HELP: &str = "\
Without a level it prints the one in force.

Examples:
  callboard log
  callboard log debug --for 10m
  callboard log info,callboard_supervisor=debug --address 10.0.0.7:9464";
