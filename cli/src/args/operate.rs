//! Arguments of the commands that ask one process how it is: `health`, `log`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use proto::id::Pool;

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

/// `doctor`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = DOCTOR_HELP)]
pub(crate) struct DoctorArgs {
    /// Roles that this user of the broker must be able to play, comma-separated
    #[arg(long, value_name = "ROLES")]
    pub(crate) roles: Option<String>,
    /// nats-server's own HTTP address, which says how it writes to the disk
    #[arg(long, value_name = "URL")]
    pub(crate) monitor: Option<String>,
    /// A pool of tools beside the built-in ones; may be given again
    #[arg(long = "tool-pool", value_name = "POOL")]
    pub(crate) tool_pools: Vec<Pool>,
}

const DOCTOR_HELP: &str = "\
Looks and changes nothing. Exit code 1 when something is wrong; warnings alone are 0. docs/operations.md \
says what to do about each finding.

Examples:
  callboard doctor
  callboard doctor --roles planner,executor        with the credentials that those are to have
  callboard doctor --monitor http://127.0.0.1:8222
  callboard doctor -o json";

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
