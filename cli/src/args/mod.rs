//! The definition of the command line and its help.

mod agents;
mod chat;
pub(crate) mod completion;
mod ctx;
mod filter;
mod fsck;
pub(crate) mod help;
mod inbox;
mod jobs;
mod mcp;
mod operate;
mod positions;
mod purge;
mod schema;
mod select;
mod start;
mod tools;
mod ui;
mod usage;
mod watch;
mod webhooks;
mod worker;
mod workflow;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{ArgAction, Args, FromArgMatches as _, Parser, Subcommand, builder::Styles};
use proto::lang::Language;

pub(crate) use self::{
    agents::{
        AgentsCommand, CheckAgentsArgs, DiffAgentArgs, PutAgentArgs, RollBackAgentArgs, Seeds,
        TestAgentsArgs,
    },
    chat::ChatArgs,
    ctx::ContextCommand,
    filter::FilterArgs,
    fsck::{DeadCommand, DeadListArgs, FsckArgs, RetryArgs},
    inbox::{
        Answering, ApproveArgs, InboxCommand, InboxListArgs, LinkArgs, QuestionArg, RejectArgs,
    },
    jobs::{
        EventArgs, FilesArgs, JobsCommand, ListArgs, PlanArgs, PlanForm, ShowArgs, SpansArgs,
        SteerArgs,
    },
    mcp::{McpCommand, TrustArgs},
    operate::{AdminArgs, DoctorArgs, HealthArgs, LogArgs, Question},
    positions::{DiffArgs, ForkArgs, RestartArgs, RollBackArgs, SnapshotArgs},
    purge::PurgeArgs,
    schema::SchemaArgs,
    select::{RetryJobsArgs, SelectArgs, SignalArgs},
    start::{
        DemoArgs, DevArgs, JobArgs, KeysArgs, Person, RunArgs, ScriptArgs, ServeArgs, SetupArgs,
        SubmitArgs, Waiting,
    },
    tools::{CallToolArgs, ToolsCommand},
    ui::UiArgs,
    usage::{UsageArgs, UsageBy},
    watch::WatchArgs,
    webhooks::{HookArg, WebhooksCommand},
    worker::{CheckWorkerArgs, WorkerCommand},
    workflow::{
        ChangeArgs, ChangeOptions, CheckWorkflowArgs, DiffWorkflowArgs, DropWorkflowArgs,
        GraphArgs, GraphFormat, ImportArgs, ImportFrom, MigrateArgs, RollBackWorkflowArgs,
        RunWorkflowArgs, SetWorkflowArgs, ShowWorkflowArgs, SimulateArgs, WorkflowCommand,
        WorkflowStatsArgs,
    },
};
use crate::{
    contexts::{ContextName, InUse},
    exit,
    output::{Color, Format, TimeForm},
};

const EXAMPLES: &str = "\
Examples:
  callboard demo                                   see two jobs from the goal to the result
  callboard dev                                    everything in one process, to try things out
  callboard run \"Summarise notes.md\"               submit, watch, answer questions in place
  callboard submit @goal.txt --id nightly-42       submit once; the same id attaches to the same job
  callboard jobs ls --state input-required         jobs that wait for a person
  callboard inbox approve JOB q1                   answer one of them
  callboard -o json jobs show JOB | jq .           a job's whole log, for programs
";

/// Widest line of help, in columns.
const WIDTH_MAX: usize = 100;

/// Durable, distributed LLM agents on NATS JetStream.
#[derive(Debug, Parser)]
#[command(
    name = "callboard",
    version,
    about,
    infer_subcommands = true,
    propagate_version = true,
    disable_help_subcommand = false,
    after_help = const_str(),
    styles = styles(),
    max_term_width = WIDTH_MAX,
)]
pub(crate) struct Cli {
    /// Flags of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Command,
}

fn const_str() -> String {
    format!("{EXAMPLES}\n{}\n\nMore about commands: docs/cli.md", exit::HELP)
}

/// The style of the help.
fn styles() -> Styles {
    use anstyle::{AnsiColor, Style};
    let bold = Style::new().bold();
    Styles::styled()
        .header(bold.underline())
        .usage(bold.underline())
        .literal(Style::new().fg_color(Some(AnsiColor::Cyan.into())))
        .placeholder(Style::new().dimmed())
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Global {
    /// Connect as this context says; see `callboard ctx --help`
    #[arg(long, global = true, value_name = "CONTEXT", env = "CALLBOARD_CTX", help_heading = CONNECTION)]
    pub(crate) ctx: Option<ContextName>,
    /// Read this configuration file [default: callboard.toml, if it exists]
    #[arg(long, global = true, value_name = "FILE", env = "CALLBOARD_CONFIG", help_heading = CONNECTION)]
    pub(crate) config: Option<PathBuf>,
    /// NATS servers, comma-separated [default: nats.url of the configuration]
    #[arg(long, global = true, value_name = "URL", help_heading = CONNECTION)]
    pub(crate) url: Option<String>,
    /// First token of every subject [default: nats.prefix of the configuration]
    #[arg(long, global = true, value_name = "WORD", help_heading = CONNECTION)]
    pub(crate) prefix: Option<String>,
    /// Longest wait for an answer: 500ms, 5s, 2m [default: nats.request_timeout_ms]
    #[arg(long, global = true, value_name = "TIME", value_parser = duration, help_heading = CONNECTION)]
    pub(crate) timeout: Option<Duration>,
    /// Read your token from this file; $CALLBOARD_TOKEN otherwise
    #[arg(long, global = true, value_name = "FILE", help_heading = CONNECTION)]
    pub(crate) token_file: Option<PathBuf>,
    /// Refused: every user of the machine sees arguments.
    #[arg(long, global = true, hide = true, num_args = 0..=1, value_name = "TOKEN")]
    pub(crate) token: Option<Option<String>>,

    /// Format of the output
    #[arg(short, long, global = true, value_enum, default_value_t, value_name = "FORM", help_heading = OUTPUT)]
    pub(crate) output: Format,
    /// Short for -o json
    #[arg(long, global = true, conflicts_with = "output", help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = OUTPUT)]
    pub(crate) color: Color,
    /// How to show times
    #[arg(long, global = true, value_enum, default_value_t, value_name = "HOW", help_heading = OUTPUT)]
    pub(crate) time: TimeForm,
    /// Print more notes; twice: also the log of the program
    #[arg(short, long, global = true, action = ArgAction::Count, help_heading = OUTPUT)]
    pub(crate) verbose: u8,
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = OUTPUT)]
    pub(crate) quiet: bool,
    /// Confirm without a question; for `run` and `demo`: approve plans
    #[arg(short, long, global = true, help_heading = OUTPUT)]
    pub(crate) yes: bool,
}

const CONNECTION: &str = "Connection";
const OUTPUT: &str = "Output";

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run two example jobs from the goal to the result, on a separate log
    Demo(DemoArgs),
    /// Run every role in one process, with its own nats-server and scripted model
    Dev(DevArgs),
    /// Run roles against a NATS installation until SIGTERM
    Serve(ServeArgs),
    /// Create and check the streams, buckets and consumers of an installation
    Setup(SetupArgs),
    /// Create keys for users of the broker
    Keys(KeysArgs),
    /// Store a job and print its id
    Submit(SubmitArgs),
    /// Store a job, watch it and answer its questions
    Run(RunArgs),
    /// Hold a conversation: tasks in words, slash commands for tools, answers to questions
    Chat(ChatArgs),
    /// Look at jobs, answer questions and act, on the screens of a terminal
    Ui(UiArgs),
    /// Open these screens at the numbers and rates
    Top(UiArgs),
    /// Print the events of a job
    Watch(WatchArgs),
    /// Look at jobs and steer them
    #[command(subcommand, visible_alias = "job")]
    Jobs(JobsCommand),
    /// Sum what jobs cost: tokens and money by day, agent, model, tool or job
    #[command(visible_alias = "costs")]
    Usage(UsageArgs),
    /// Show and answer questions that wait for a person
    #[command(subcommand)]
    Inbox(InboxCommand),
    /// Show and change agents: the policies of jobs
    #[command(subcommand, visible_alias = "agent")]
    Agents(AgentsCommand),
    /// Check workflow files, and print them as outlines and graphs
    #[command(subcommand, visible_alias = "workflows")]
    Workflow(WorkflowCommand),
    /// Show the registered tools, and call one by hand
    #[command(subcommand)]
    Tools(ToolsCommand),
    /// Show the live processes
    #[command(subcommand)]
    Crew(CrewCommand),
    /// Serve jobs to the models of other programs, by MCP
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Test receivers of events, and switch webhooks on again
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Check tool workers in other languages
    #[command(subcommand)]
    Worker(WorkerCommand),
    /// Check the installation and advise on each problem
    Doctor(DoctorArgs),
    /// Check that every job has ended or that its next step is on its way, and name the others
    Fsck(FsckArgs),
    /// Ask one process whether it is alive, or ready for work
    Health(HealthArgs),
    /// Show or change the log level of a running process
    Log(LogArgs),
    /// Show the settings and their sources
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Name connections, and choose one: contexts
    #[command(subcommand)]
    Ctx(ContextCommand),
    /// Serve a scripted model: an OpenAI-compatible server with answers from a YAML file
    ScriptModel(ScriptArgs),
    /// Print the JSON Schema of agent files, events, records, requests and replies
    Schema(SchemaArgs),
    /// Print completions for a shell
    #[command(
        after_help = "Examples:\n  source <(callboard completions bash)                 # in ~/.bashrc\n  source <(callboard completions zsh)                  # in ~/.zshrc, after compinit\n  callboard completions fish > ~/.config/fish/completions/callboard.fish\n\nThe shell asks the program for each completion: jobs, agents and states are those of the server."
    )]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Show the options of every command
    Options,
    /// Print the version
    Version,
}

impl Cli {
    /// Parses the words of a command line.
    ///
    /// # Errors
    /// A mistake in the words, or a request for help or the version.
    pub(crate) fn of(words: &[OsString]) -> Result<Self, clap::Error> {
        let mut matches = help::command().try_get_matches_from(words)?;
        Self::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut help::command()))
    }
}

impl Command {
    /// Returns the language that the user selected with `--language`.
    pub(crate) fn language(&self) -> Option<Language> {
        match self {
            Self::Submit(args) => args.job.language,
            Self::Run(args) => args.job.language,
            Self::Chat(args) => args.language,
            Self::Ui(args) | Self::Top(args) => args.language,
            Self::Tools(ToolsCommand::Call(args)) => args.language,
            Self::Demo(_)
            | Self::Dev(_)
            | Self::Serve(_)
            | Self::Setup(_)
            | Self::Keys(_)
            | Self::Watch(_)
            | Self::Jobs(_)
            | Self::Usage(_)
            | Self::Inbox(_)
            | Self::Agents(_)
            | Self::Workflow(_)
            | Self::Tools(ToolsCommand::Ls)
            | Self::Crew(_)
            | Self::Mcp(_)
            | Self::Webhooks(_)
            | Self::Doctor(_)
            | Self::Fsck(_)
            | Self::Health(_)
            | Self::Log(_)
            | Self::Config(_)
            | Self::Ctx(_)
            | Self::Worker(_)
            | Self::ScriptModel(_)
            | Self::Schema(_)
            | Self::Completions { .. }
            | Self::Options
            | Self::Version => None,
        }
    }

    /// Returns the treatment of the context in use: it applies to clients alone.
    pub(crate) fn in_use(&self) -> InUse {
        match self {
            Self::Submit(_)
            | Self::Run(_)
            | Self::Chat(_)
            | Self::Ui(_)
            | Self::Top(_)
            | Self::Watch(_)
            | Self::Jobs(_)
            | Self::Usage(_)
            | Self::Inbox(_)
            | Self::Agents(_)
            | Self::Workflow(_)
            | Self::Tools(_)
            | Self::Crew(_)
            | Self::Mcp(_)
            | Self::Webhooks(_)
            | Self::Doctor(_)
            | Self::Fsck(_)
            | Self::Config(_) => InUse::Applies,
            Self::Demo(_)
            | Self::Dev(_)
            | Self::Serve(_)
            | Self::Setup(_)
            | Self::Keys(_)
            | Self::Health(_)
            | Self::Log(_)
            | Self::Ctx(_)
            | Self::Worker(_)
            | Self::ScriptModel(_)
            | Self::Schema(_)
            | Self::Completions { .. }
            | Self::Options
            | Self::Version => InUse::Ignored,
        }
    }
}

/// `crew`.
#[derive(Debug, Subcommand)]
pub(crate) enum CrewCommand {
    /// List all
    #[command(visible_alias = "list")]
    Ls,
}

/// `config`.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print every key that has a value, with its source; secrets are masked
    Show,
}

/// Parses `5s`, `500ms`, `2m`, `1h 30m`, `2d`. A number without a unit is refused.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let signed = purge::age(text, "write a time with its unit: 500ms, 5s, 2m, 1h, 2d")?;
    let positive = Duration::try_from(signed).map_err(|_| "must not be negative".to_owned())?;
    if positive.is_zero() { Err("must be longer than 0s".to_owned()) } else { Ok(positive) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        help::command().debug_assert();
        completion::command().debug_assert();
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5_400)));
        assert_eq!(duration("2d"), Ok(Duration::from_secs(2 * 86_400)));
        for bad in ["5", "-5s", "0s", "soon", ""] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_paragraph_of_help_is_one_line_that_the_terminal_breaks() {
        fn check(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = help.lines().collect();
            for pair in lines.windows(2) {
                let [one, next] = pair else { continue };
                let goes_on = |line: &str| !line.is_empty() && !line.starts_with(' ');
                let broken = goes_on(one) && goes_on(next);
                assert!(!broken, "{}: {one}\n{next}", command.get_name());
            }
            command.get_subcommands().for_each(check);
        }
        check(&help::command());
    }

    #[test]
    fn every_command_has_words_of_help() {
        fn check(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments().filter(|a| !a.is_hide_set()) {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
            command.get_subcommands().for_each(check);
        }
        check(&help::command());
    }
}
