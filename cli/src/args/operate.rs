//! Arguments of the commands that address one process: `health`, `log`; and of `doctor`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use proto::id::Pool;

/// The address of a process for operators.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AdminArgs {
    /// Address of the process [default: admin.listen of the configuration]
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) address: Option<String>,
}

/// The question to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Question {
    /// Is the process alive?
    Live,
    /// Can the process do its work?
    Ready,
}

/// `health`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HEALTH_HELP)]
pub(crate) struct HealthArgs {
    /// The question
    #[arg(value_enum, default_value = "ready")]
    pub(crate) question: Question,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
}

const HEALTH_HELP: &str = "\
Exit code 0 if the answer is yes; 1 if it is no, or without an answer.

Examples:
  callboard health                     is the process on this machine ready?
  callboard health live                is it alive?
  callboard health --address 10.0.0.7:9464";

/// `doctor`.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = DOCTOR_HELP)]
pub(crate) struct DoctorArgs {
    /// Roles that this user of the broker needs rights for, comma-separated
    #[arg(long, value_name = "ROLES")]
    pub(crate) roles: Option<String>,
    /// HTTP monitoring address of nats-server, which reports how it writes to the disk
    #[arg(long, value_name = "URL")]
    pub(crate) monitor: Option<String>,
    /// Additional pool of tools; repeatable
    #[arg(long = "tool-pool", value_name = "POOL")]
    pub(crate) tool_pools: Vec<Pool>,
}

const DOCTOR_HELP: &str = "\
Changes nothing. Exit code 1 if a check fails; warnings alone give 0. docs/operations.md \
explains each finding.

Examples:
  callboard doctor
  callboard doctor --roles planner,executor        with the credentials of these roles
  callboard doctor --monitor http://127.0.0.1:8222
  callboard doctor -o json";

/// `log`.
#[derive(Debug, Clone, Args)]
#[command(after_help = LOG_HELP)]
pub(crate) struct LogArgs {
    /// New level: error, warn, info, debug, trace, or info,callboard_supervisor=debug
    #[arg(value_name = "LEVEL")]
    pub(crate) level: Option<String>,
    /// Restore the previous level after this time: 30s, 10m
    #[arg(long = "for", value_name = "TIME", value_parser = super::duration, requires = "level")]
    pub(crate) lasts: Option<Duration>,
    #[command(flatten)]
    pub(crate) admin: AdminArgs,
}

const LOG_HELP: &str = "\
Without a level it prints the current one.

Examples:
  callboard log
  callboard log debug --for 10m
  callboard log info,callboard_supervisor=debug --address 10.0.0.7:9464";
