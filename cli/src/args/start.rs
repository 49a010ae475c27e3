//! Arguments of the commands that start something: `demo`, `dev`, `serve`, `submit`, `run`,
//! `script-model`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use proto::{
    id::{ConversationId, JobId, Pool, ToolName, WorkerId},
    label::Label,
    lang::Language,
};

/// `demo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Keep everything in memory, even if a nats-server is available
    #[arg(long)]
    pub(crate) memory: bool,
    /// Directory of the log and the workspace [default: a new temporary directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,
}

/// `dev`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DevArgs {
    /// Keep everything in memory, even if a nats-server is available
    #[arg(long)]
    pub(crate) memory: bool,
    /// Data directory of nats-server
    #[arg(long, value_name = "DIRECTORY", default_value = ".callboard-dev")]
    pub(crate) dir: PathBuf,
    /// Script of the model if no provider is configured [default: the demo's]
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
}

/// `serve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// The roles, comma-separated: supervisor, planner, executor, tools, interaction, door, gateway, all (every one but gateway)
    #[arg(long, value_name = "ROLES", default_value = "all")]
    pub(crate) roles: String,
}

/// `setup`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SETUP_HELP)]
pub(crate) struct SetupArgs {
    /// Additional pool, for your own tool workers; repeatable
    #[arg(long = "tool-pool", value_name = "POOL")]
    pub(crate) tool_pools: Vec<Pool>,
    /// Create lost buckets again, empty. No bucket holds a job
    #[arg(long)]
    pub(crate) recreate: bool,
    /// Accept the records of a release that did not mark them. Stop all its processes first
    #[arg(long)]
    pub(crate) upgrade: bool,
}

const SETUP_HELP: &str = "\
Creates missing streams, buckets and consumers, and compares the existing ones with their required \
settings, without changing them. Needs the rights of the operator. If only the operator has them, set \
nats.create = false for all other users.

Examples:
  callboard setup
  callboard setup --tool-pool python      also the consumers of examples/python-worker
  callboard setup --recreate              also the buckets that were lost, and says what each held
  callboard setup --upgrade               once after an upgrade that asks for it";

/// `keys`.
#[derive(Debug, Clone, Args)]
#[command(after_help = KEYS_HELP)]
pub(crate) struct KeysArgs {
    /// Directory of the keys; created if it does not exist
    #[arg(long, value_name = "DIRECTORY", default_value = "keys")]
    pub(crate) dir: PathBuf,
    /// Replace the existing keys of these users
    #[arg(long)]
    pub(crate) rotate: bool,
    /// The users
    #[arg(value_name = "USER", required = true)]
    pub(crate) users: Vec<WorkerId>,
}

const KEYS_HELP: &str = "\
For each USER, DIRECTORY/USER.nk holds the seed: the secret, for nats.nkey = { file = … }. Only its \
owner may read it. DIRECTORY/users.conf holds the public keys for nats-server: NKEY_USER = U… for every \
seed in DIRECTORY. Existing keys are kept, unless --rotate is given. See docs/security.md.";

/// `script-model`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScriptArgs {
    /// The script; see docs/scripted-model.md
    #[arg(value_name = "FILE")]
    pub(crate) script: PathBuf,
    /// Address to listen on; port 0 selects a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8788")]
    pub(crate) listen: SocketAddr,
}

/// The parts of a job.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Job")]
pub(crate) struct JobArgs {
    /// Id and idempotency key: the same id and goal attach to the same job [default: a random id]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<JobId>,
    /// Agent: a name that the server knows, or @FILE with its policies
    #[arg(long, value_name = "AGENT|@FILE")]
    pub(crate) agent: Option<String>,
    /// Conversation to continue: the job receives its earlier jobs. An unknown id starts a new one
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// Language of texts for agents and users [default: the language of the goal]
    #[arg(long, value_name = "en|zh", value_parser = language)]
    pub(crate) language: Option<Language>,
    /// Tool that the job may use; repeatable [default: all of its agent's]
    #[arg(long = "tool", value_name = "NAME")]
    pub(crate) tools: Vec<ToolName>,
    /// Plan to carry out, as JSON; @FILE reads a file [default: the planner writes it]
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) plan: Option<String>,
    /// Workflow in place of a plan: a file or a name [default: the agent's]
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "plan")]
    pub(crate) workflow: Option<PathBuf>,
    /// Input of the workflow, a JSON object; @FILE reads a file
    #[arg(long, value_name = "JSON|@FILE", conflicts_with = "plan")]
    pub(crate) input: Option<String>,
    /// JSON Schema of the result; @FILE reads a file [default: the agent's]
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) schema: Option<String>,
    /// File to attach, or its URL; repeatable, at most 16 MiB each
    #[arg(long = "file", value_name = "PATH|URL")]
    pub(crate) files: Vec<String>,
    /// Label of the job and of its sub-agents' jobs; repeatable
    #[arg(long = "label", value_name = "KEY=VALUE")]
    pub(crate) labels: Vec<Label>,
    /// Have a person confirm the plan, whatever the agent's policy says
    #[arg(long, conflicts_with = "no_confirm")]
    pub(crate) confirm: bool,
    /// Run the plan without confirmation
    #[arg(long)]
    pub(crate) no_confirm: bool,
    /// Fail the job if it does not end within this time: 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub(crate) deadline: Option<Duration>,
}

/// `submit`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SUBMIT_HELP)]
pub(crate) struct SubmitArgs {
    /// The goal; @FILE reads a file, @- standard input, @@ begins a goal with @
    #[arg(value_name = "GOAL|@FILE|@-")]
    pub(crate) goal: String,
    #[command(flatten)]
    pub(crate) job: JobArgs,
    /// Wait until the job ends; the exit code reports its outcome
    #[arg(long)]
    pub(crate) wait: bool,
}

const SUBMIT_HELP: &str = "\
Examples:
  callboard submit \"Plan a trip to Kyoto\"
  callboard submit @goal.txt --id trip-1 --no-confirm --deadline 10m
  echo \"Summarise the news\" | callboard submit @- --agent direct --wait
  callboard submit \"Book the first of them\" --conversation trip
  callboard submit \"Send the invitations\" --plan @plan.json --tool read_file --tool http_post
  callboard submit \"What do these two agree on?\" --file offer.txt --file https://example.com/terms.txt

Prints the id of the job. If interrupted (Ctrl-C), it reports whether the job exists; sending the same \
goal again with the same --id is always safe.";

/// `run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// The goal; @FILE reads a file, @- standard input, @@ begins a goal with @
    #[arg(
        value_name = "GOAL|@FILE|@-",
        required_unless_present = "attach",
        conflicts_with = "attach"
    )]
    pub(crate) goal: Option<String>,
    /// Watch an existing job instead of submitting one
    #[arg(long, value_name = "JOB", conflicts_with_all = ["id", "agent", "conversation", "language", "tools", "plan", "files", "labels", "confirm", "no_confirm", "deadline"])]
    pub(crate) attach: Option<String>,
    #[command(flatten)]
    pub(crate) job: JobArgs,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
}

/// Options of the wait for a job.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Watching")]
pub(crate) struct Waiting {
    /// End with exit code 4 when the job waits for a person
    #[arg(long)]
    pub(crate) no_wait_for_input: bool,
    /// Print lines instead of a tree that is redrawn
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print the final answer unescaped, as the model wrote it; not to a terminal
    #[arg(long)]
    pub(crate) raw: bool,
}

const RUN_HELP: &str = "\
Examples:
  callboard run \"Read notes.md and write a summary\"
  callboard run --attach JOB          watch an existing job
  callboard run --yes @goal.txt       approve plans without asking; questions are still asked

At a terminal, plans are confirmed and questions answered in place. Without one (or with CI=true), \
it prints the commands that answer and continues to wait. Ctrl-C stops the watch and never the \
job; a second Ctrl-C ends at once.";

/// The source of answers to the demo's questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Person {
    /// The user at the terminal.
    Present,
    /// The demo itself, which prints its answers.
    Absent,
}

pub(super) fn language(text: &str) -> Result<Language, String> {
    Language::of_code(text).ok_or_else(|| {
        let codes: Vec<_> = Language::ALL.iter().map(|language| language.code()).collect();
        format!("the languages are {}", codes.join(" and "))
    })
}
