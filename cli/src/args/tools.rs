//! Arguments of `tools`.

use std::time::Duration;

use clap::{Args, Subcommand};
use proto::{
    id::{JobId, ToolName},
    label::Label,
    lang::Language,
};

/// `tools`.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List all
    #[command(visible_alias = "list")]
    Ls,
    /// Call a tool by hand, and print its result
    Call(CallToolArgs),
}

/// `tools call`.
#[derive(Debug, Clone, Args)]
#[command(after_help = CALL_HELP)]
pub(crate) struct CallToolArgs {
    /// The tool
    #[arg(value_name = "TOOL")]
    pub(crate) tool: ToolName,
    /// Arguments, as a JSON object; @FILE reads a file, @- standard input
    #[arg(long, value_name = "JSON|@FILE|@-", default_value = "{}")]
    pub(crate) args: String,
    /// Id of the job, and idempotency key: the same id and call attach to the same job [default: a random id]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<JobId>,
    /// Agent whose policies the call has: a name that the server knows, or @FILE
    #[arg(long, value_name = "AGENT|@FILE")]
    pub(crate) agent: Option<String>,
    /// Language of the tool's texts
    #[arg(long, value_name = "en|zh", value_parser = super::start::language)]
    pub(crate) language: Option<Language>,
    /// Label of the job; repeatable
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// Fail if the call does not end within this time: 30s, 5m
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub(crate) deadline: Option<Duration>,
}

const CALL_HELP: &str = "\
The call is a job of one step: a worker of the running system carries it out, `callboard jobs` lists it, \
and a repeat with the same --id attaches to it. A tool that must not run twice (`once`) or needs an \
approval asks at a terminal; elsewhere it needs --yes, which approves this call.

Examples:
  callboard tools call echo --args '{\"value\": 7}'
  callboard tools call http_post --args @request.json --yes
  callboard -o json tools call read_file --args '{\"path\": \"notes.md\"}' | jq .result.data

Exit code 0 if the tool succeeded, 1 if it failed.";
