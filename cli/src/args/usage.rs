//! The arguments of `usage`.

use clap::Args;

use super::filter::FilterArgs;

/// `usage`.
#[derive(Debug, Clone, Args)]
pub(crate) struct UsageArgs {
    /// Sum the cost by this
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) by: UsageBy,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

/// A part of the report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum UsageBy {
    /// The day of the submission, in UTC.
    #[default]
    Day,
    /// The agent.
    Agent,
    /// The model that was called.
    Model,
    /// The tool that was called.
    Tool,
    /// The job; the dearest ones.
    Job,
}
