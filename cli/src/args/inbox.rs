//! Arguments of `inbox`.

use clap::{Args, Subcommand};
use proto::id::AskId;

/// `inbox`.
#[derive(Debug, Subcommand)]
pub(crate) enum InboxCommand {
    /// List open questions, oldest first
    #[command(visible_alias = "list")]
    Ls(InboxListArgs),
    /// Show a question wholly: the plan, the options, the exact arguments of a tool call
    Show(QuestionArg),
    /// Answer a question; at a terminal it asks, elsewhere give --value or --text
    Answer(Answering),
    /// Say yes to a plan or a tool call
    #[command(visible_alias = "confirm")]
    Approve(ApproveArgs),
    /// Say no to a plan (the job ends) or a tool call (the model is told)
    Reject(RejectArgs),
}

/// `inbox ls`.
#[derive(Debug, Clone, Args)]
pub(crate) struct InboxListArgs {
    /// Only questions of this job; where it has none of its own, of those that work for it
    #[arg(long, value_name = "JOB")]
    pub(crate) job: Option<String>,
    /// How many
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
}

/// Names a question.
#[derive(Debug, Clone, Args)]
pub(crate) struct QuestionArg {
    /// The job that asks, a job it works for, or the question itself where it is the only one so called
    #[arg(value_name = "JOB")]
    pub(crate) job: String,
    /// The question; may be left out when the job has one
    #[arg(value_name = "QUESTION")]
    pub(crate) ask: Option<AskId>,
    /// Stay until the job asks it, or has ended
    #[arg(long)]
    pub(crate) wait: bool,
}

/// `inbox answer`.
#[derive(Debug, Clone, Args)]
#[command(after_help = ANSWER_HELP)]
pub(crate) struct Answering {
    #[command(flatten)]
    pub(crate) question: QuestionArg,
    /// The answer as JSON: "text", ["a","b"], {"field": 1}; @FILE and @- too
    #[arg(long, value_name = "JSON", conflicts_with = "text")]
    pub(crate) value: Option<String>,
    /// The answer in words; for a plan: how it is to change; @FILE and @- too
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
    /// Change the plan itself in $VISUAL or $EDITOR; it is shown again before anything runs
    #[arg(long, conflicts_with_all = ["value", "text", "plan"])]
    pub(crate) edit: bool,
    /// Another plan in place of the one that is shown, as YAML or JSON: FILE or @FILE, - or @- for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["value", "text"])]
    pub(crate) plan: Option<String>,
}

const ANSWER_HELP: &str = "\
Examples:
  callboard inbox answer JOB q1                                at a terminal: asks
  callboard inbox answer JOB q1 --text \"the blue one\"          a question
  callboard inbox answer JOB q1 --value '\"blue\"'               one of several options
  callboard inbox answer JOB q1 --value '[\"a\",\"b\"]'            several options
  callboard inbox answer JOB q1 --value '{\"name\":\"Li\"}'        a form
  callboard inbox answer JOB q1 --text \"skip the second step\"  a plan that is to change
  callboard inbox answer JOB q1 --edit                         a plan, changed by hand
  callboard inbox answer JOB q1 --plan plan.yaml               a plan, from a file

The first valid answer wins; a later one is told who was first (exit code 6).";

/// `inbox approve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    pub(crate) question: QuestionArg,
    /// The digest of what was seen (`inbox show` prints it); needed for tool calls in scripts
    #[arg(long, value_name = "SHA256")]
    pub(crate) digest: Option<String>,
}

/// `inbox reject`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RejectArgs {
    #[command(flatten)]
    pub(crate) question: QuestionArg,
    /// Why; a model is told
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
}
