//! Arguments of the commands that start something: `demo`, `dev`, `serve`, `submit`, `run`,
//! `script-model`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use clap::Args;
use proto::{
    id::{ConversationId, JobId, Pool, WorkerId},
    lang::Language,
};

/// `demo`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DemoArgs {
    /// Keep everything in memory, even where there is a nats-server
    #[arg(long)]
    pub(crate) memory: bool,
    /// Where the log and the workspace are kept [default: a new directory under the temporary one]
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) dir: Option<PathBuf>,
}

/// `dev`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DevArgs {
    /// Keep everything in memory, even where there is a nats-server
    #[arg(long)]
    pub(crate) memory: bool,
    /// Where nats-server keeps its data
    #[arg(long, value_name = "DIRECTORY", default_value = ".callboard-dev")]
    pub(crate) dir: PathBuf,
    /// The script of the model, unless a provider is configured [default: the demo's]
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
}

/// `serve`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ServeArgs {
    /// The roles, comma-separated: supervisor, planner, executor, tools, interaction, all
    #[arg(long, value_name = "ROLES", default_value = "all")]
    pub(crate) roles: String,
}

/// `setup`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SETUP_HELP)]
pub(crate) struct SetupArgs {
    /// A pool of tools beside the built-in ones, with workers of your own; may be given again
    #[arg(long = "tool-pool", value_name = "POOL")]
    pub(crate) tool_pools: Vec<Pool>,
}

const SETUP_HELP: &str = "\
Makes the streams, buckets and consumers that are not there, and compares those that are with what \
they must be; nothing that is there is changed. Needs an operator's rights. Where only an operator has \
them, set nats.create = false for everybody else.

Examples:
  callboard setup
  callboard setup --tool-pool python      the consumers of examples/python-worker too";

/// `keys`.
#[derive(Debug, Clone, Args)]
#[command(after_help = KEYS_HELP)]
pub(crate) struct KeysArgs {
    /// Where the keys go; made when it is not there
    #[arg(long, value_name = "DIRECTORY", default_value = "keys")]
    pub(crate) dir: PathBuf,
    /// Make new keys for these users, in place of those that are there
    #[arg(long)]
    pub(crate) rotate: bool,
    /// The users
    #[arg(value_name = "USER", required = true)]
    pub(crate) users: Vec<WorkerId>,
}

const KEYS_HELP: &str = "\
For each USER, DIRECTORY/USER.nk holds the seed: the secret, for nats.nkey = { file = … }. Only its \
owner may read it. DIRECTORY/users.conf holds what nats-server must know: NKEY_USER = U… for every seed \
in DIRECTORY. Keys that are there are kept, unless --rotate is given. See docs/security.md.";

/// `script-model`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ScriptArgs {
    /// The script; see docs/scripted-model.md
    #[arg(value_name = "FILE")]
    pub(crate) script: PathBuf,
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8788")]
    pub(crate) listen: SocketAddr,
}

/// What a job is made of.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Job")]
pub(crate) struct JobArgs {
    /// The job's id and idempotency key: the same id and goal attach to the same job [default: made up]
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<JobId>,
    /// The agent: a name the server knows, or @agent.json with its policies
    #[arg(long, value_name = "NAME|@FILE")]
    pub(crate) agent: Option<String>,
    /// The conversation it continues, whose earlier jobs it is told of; a new one for an unknown id
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// The language agents and people are spoken to in [default: that of the goal]
    #[arg(long, value_name = "en|zh", value_parser = language)]
    pub(crate) language: Option<Language>,
    /// A file that comes with the job, or the URL of one; may be given again, at most 16 MiB each
    #[arg(long = "file", value_name = "PATH|URL")]
    pub(crate) files: Vec<String>,
    /// Run the plan without asking whether it is right
    #[arg(long)]
    pub(crate) no_confirm: bool,
    /// Fail the job when it has not ended by then: 5m, 2h
    #[arg(long, value_name = "TIME", value_parser = super::duration)]
    pub(crate) deadline: Option<Duration>,
}

/// `submit`.
#[derive(Debug, Clone, Args)]
#[command(after_help = SUBMIT_HELP)]
pub(crate) struct SubmitArgs {
    /// What is to be reached; @FILE reads a file, @- standard input, @@ begins a goal with @
    #[arg(value_name = "GOAL|@FILE|@-")]
    pub(crate) goal: String,
    #[command(flatten)]
    pub(crate) job: JobArgs,
    /// Wait until the job has ended; the exit code says how
    #[arg(long)]
    pub(crate) wait: bool,
}

const SUBMIT_HELP: &str = "\
Examples:
  callboard submit \"Plan a trip to Kyoto\"
  callboard submit @goal.txt --id trip-1 --no-confirm --deadline 10m
  echo \"Summarise the news\" | callboard submit @- --agent direct --wait
  callboard submit \"Book the first of them\" --conversation trip
  callboard submit \"What do these two agree on?\" --file offer.txt --file https://example.com/terms.txt

Prints the id of the job. Interrupted (Ctrl-C), it says whether the job exists; sending the same goal \
with the same --id again is always safe.";

/// `run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// What is to be reached; @FILE reads a file, @- standard input, @@ begins a goal with @
    #[arg(
        value_name = "GOAL|@FILE|@-",
        required_unless_present = "attach",
        conflicts_with = "attach"
    )]
    pub(crate) goal: Option<String>,
    /// Watch a job that is there, instead of submitting one
    #[arg(long, value_name = "JOB", conflicts_with_all = ["id", "agent", "conversation", "language", "files", "no_confirm", "deadline"])]
    pub(crate) attach: Option<String>,
    #[command(flatten)]
    pub(crate) job: JobArgs,
    #[command(flatten)]
    pub(crate) waiting: Waiting,
}

/// How a watched job is waited for.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Watching")]
pub(crate) struct Waiting {
    /// End with exit code 4 when the job waits for a person, instead of waiting with it
    #[arg(long)]
    pub(crate) no_wait_for_input: bool,
    /// Print lines below each other instead of drawing a tree again and again
    #[arg(long)]
    pub(crate) plain: bool,
    /// Print the final answer byte for byte as the model wrote it; only where no terminal reads it
    #[arg(long)]
    pub(crate) raw: bool,
}

const RUN_HELP: &str = "\
Examples:
  callboard run \"Read notes.md and write a summary\"
  callboard run --attach JOB          watch a job that is there
  callboard run --yes @goal.txt       approve plans without asking; questions are still asked

At a terminal, plans are confirmed and questions answered in place. Without one (or with CI=true), \
it prints how to answer from elsewhere and goes on waiting. Ctrl-C stops watching and never the \
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
