//! Arguments of `inbox`.

use clap::{Args, Subcommand};
use proto::id::AskId;

/// `inbox`.
#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// List open questions, oldest first
    #[command(visible_alias = "list")]
    Ls(InboxListArgs),
    /// Show a question in full: the plan, the options, the exact arguments of a tool call
    Show(QuestionArg),
    /// Answer a question: in a dialogue at a terminal, elsewhere with --value or --text
    Answer(Answering),
    /// Pick an open question from a list at a terminal, type to narrow it, and answer it
    Pick(InboxListArgs),
    /// Approve a plan or a tool call
    #[command(visible_alias = "confirm")]
    Approve(ApproveArgs),
    /// Reject a plan (ends the job) or a tool call (the model receives the reason)
    Reject(RejectArgs),
    /// Make a page on which one person answers a question, without a token
    Link(LinkArgs),
    /// Revoke every such page of a question
    Unlink(QuestionArg),
}

/// `inbox link`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LinkArgs {
    #[command(flatten)]
    pub(crate) question: QuestionArg,
    /// Name of the person who will answer; a token names its owner instead
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
    /// Address of the gateway, for the whole address of the page
    #[arg(long, value_name = "URL", env = "CALLBOARD_GATEWAY")]
    pub(crate) gateway: Option<String>,
}

/// `inbox ls` and `inbox pick`.
#[derive(Debug, Clone, Args)]
pub(crate) struct InboxListArgs {
    /// Only questions of this job, or of its child jobs if it has none
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// Maximum number
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
}

/// Names a question.
#[derive(Debug, Clone, Args)]
pub(crate) struct QuestionArg {
    /// The job that asks, an ancestor of it, or the id of the question if no other has it
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// The question; optional if the job has one
    #[arg(value_name = "QUESTION")]
    pub(crate) ask: Option<AskId>,
    /// Wait until the job asks the question or ends
    #[arg(long)]
    pub(crate) wait: bool,
}

/// `inbox answer`.
#[derive(Debug, Clone, Args)]
#[command(after_help = ANSWER_HELP)]
pub(crate) struct Answering {
    #[command(flatten)]
    pub(crate) question: QuestionArg,
    /// Answer as JSON: "text", ["a","b"], {"field": 1}; or @FILE, @-
    #[arg(long, value_name = "JSON", conflicts_with = "text")]
    pub(crate) value: Option<String>,
    /// Answer as text; for a plan: the requested change; or @FILE, @-
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
    /// Edit the plan in $VISUAL or $EDITOR; it needs another confirmation
    #[arg(long, conflicts_with_all = ["value", "text", "plan"])]
    pub(crate) edit: bool,
    /// Replace the plan with one in YAML or JSON: FILE or @FILE, - or @- for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["value", "text"])]
    pub(crate) plan: Option<String>,
}

const ANSWER_HELP: &str = "\
Examples:
  callboard inbox answer JOB q1                                at a terminal: a dialogue
  callboard inbox answer JOB q1 --text \"the blue one\"          a question
  callboard inbox answer JOB q1 --value '\"blue\"'               one of several options
  callboard inbox answer JOB q1 --value '[\"a\",\"b\"]'            several options
  callboard inbox answer JOB q1 --value '{\"name\":\"Li\"}'        a form
  callboard inbox answer JOB q1 --text \"skip the second step\"  a change to a plan
  callboard inbox answer JOB q1 --edit                         a plan, in an editor
  callboard inbox answer JOB q1 --plan plan.yaml               a plan, from a file

The first valid answer wins; a later one is refused with the name of the first user (exit code 6).";

/// `inbox approve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) question: QuestionArg,
    /// Digest of the question, from `inbox show`; scripts need it to approve tool calls
    #[arg(long, value_name = "SHA256")]
    pub(crate) digest: Option<String>,
    /// Approve later calls of the tool in this job, too, while the same policies ask about them
    #[arg(long)]
    pub(crate) remember: bool,
}

/// `inbox reject`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    pub(crate) question: QuestionArg,
    /// Reason; for a tool call the model receives it
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
}
