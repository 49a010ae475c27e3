//! Arguments of `agents`.

use std::{ops::RangeInclusive, path::PathBuf, str::FromStr};

use clap::{Args, Subcommand};
use proto::id::AgentName;

/// `agents`.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List all agents: built-in, of the configuration, of files and of the bucket
    #[command(visible_alias = "list")]
    Ls,
    /// Print the file and the effective values of an agent
    Show {
        /// The agent
        #[arg(value_name = "AGENT")]
        name: AgentName,
    },
    /// Check agent files without a server
    Check(CheckAgentsArgs),
    /// Run the tests of an agent, without a server, and with the faults of many seeds
    Test(TestAgentsArgs),
    /// Store an agent in the bucket, for later jobs
    Put(PutAgentArgs),
    /// List the revisions of an agent in the bucket: when it changed, and by whom
    #[command(visible_alias = "history")]
    Log {
        /// The agent
        #[arg(value_name = "AGENT")]
        name: AgentName,
    },
    /// Compare two revisions of an agent
    Diff(DiffAgentArgs),
    /// Store the text of an earlier revision again, as a new revision
    Rollback(RollBackAgentArgs),
    /// Remove an agent from the bucket; the agent that it replaced is used again
    #[command(visible_alias = "remove")]
    Rm {
        /// The agent
        #[arg(value_name = "AGENT")]
        name: AgentName,
    },
}

/// `agents check`.
#[derive(Debug, Clone, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckAgentsArgs {
    /// Agent files [default: those of door.agents_dir]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

const CHECK_HELP: &str = "\
Files may extend each other, files of door.agents_dir and built-in agents. \
Exit code 0 if all files are valid, 2 otherwise.

Examples:
  callboard agents check agents/careful.yaml
  callboard agents show fastgpt > agents/mine.yaml";

/// `agents test`.
#[derive(Debug, Clone, Args)]
#[command(after_help = TEST_HELP)]
pub(crate) struct TestAgentsArgs {
    /// File with the agent, its surroundings and the cases; see docs/testing-agents.md
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Run only this case; repeatable
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,
    /// Run each case also with the faults of this many seeds, or of the seeds A to B
    #[arg(long, value_name = "N|A..=B")]
    pub(crate) chaos: Option<Seeds>,
    /// Run each case with the faults of this seed alone
    #[arg(long, value_name = "SEED", conflicts_with = "chaos")]
    pub(crate) chaos_seed: Option<u64>,
    /// Print the events of each run: records, tools, processes and faults
    #[arg(long, conflicts_with = "chaos")]
    pub(crate) trace: bool,
    /// Number of threads of --chaos [default: one per processor]
    #[arg(long, value_name = "NUMBER", requires = "chaos")]
    pub(crate) threads: Option<usize>,
}

const TEST_HELP: &str = "\
The agent, the job machine and all actors are the real ones, on a clock that moves only when every task \
waits. The file has the model (a script), the results of tools, the answers of people, and the \
expectations. Exit code 0 if every case passes, 1 otherwise, 2 if the file cannot be used.

Examples:
  callboard agents test examples/agent-tests/refunds-test.yaml
  callboard agents test refunds-test.yaml --case \"an unknown order is not refunded\"
  callboard agents test refunds-test.yaml --chaos 500
  callboard agents test refunds-test.yaml --chaos-seed 17 --trace";

/// Seeds, all numbers of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seeds(pub(crate) RangeInclusive<u64>);

impl FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            text.trim().parse::<u64>().map_err(|_| format!("{text:?} is not a whole number"))
        };
        let (first, last) = match text.split_once("..=") {
            Some((first, last)) => (number(first)?, number(last)?),
            None => match number(text)? {
                0 => return Err("at least one seed is needed".to_owned()),
                count => (0, count - 1),
            },
        };
        match last.checked_sub(first) {
            None => Err(format!("{first} is above {last}")),
            Some(more) if more >= simulation::cases::CHAOS_MAX => {
                Err(format!("at most {} seeds are run at once", simulation::cases::CHAOS_MAX))
            }
            Some(_) => Ok(Self(first..=last)),
        }
    }
}

/// `agents put`.
#[derive(Debug, Clone, Args)]
pub(crate) struct PutAgentArgs {
    /// Agent file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Name of the agent [default: the name of the file]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<AgentName>,
    /// Check the agent and print the difference to the one in use; store nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Store only if this revision is still in force; 0 if the bucket must not have the agent
    #[arg(long, value_name = "REVISION")]
    pub(crate) expect: Option<u64>,
}

/// `agents diff`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DiffAgentArgs {
    /// The agent
    #[arg(value_name = "AGENT")]
    pub(crate) name: AgentName,
    /// First revision [default: the one before the second]
    #[arg(value_name = "FROM")]
    pub(crate) from: Option<u64>,
    /// Second revision [default: the newest]
    #[arg(value_name = "TO")]
    pub(crate) to: Option<u64>,
}

/// `agents rollback`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RollBackAgentArgs {
    /// The agent
    #[arg(value_name = "AGENT")]
    pub(crate) name: AgentName,
    /// Revision whose text to store again
    #[arg(long, value_name = "REVISION")]
    pub(crate) to: u64,
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1", Some(0..=0))]
    #[case("100", Some(0..=99))]
    #[case("17..=17", Some(17..=17))]
    #[case("5..=9", Some(5..=9))]
    #[case("0", None)]
    #[case("9..=5", None)]
    #[case("5..9", None)]
    #[case("1000001", None)]
    #[case("-1", None)]
    fn seeds_are_a_number_of_them_or_a_range(
        #[case] text: &str,
        #[case] expected: Option<RangeInclusive<u64>>,
    ) {
        assert_eq!(text.parse::<Seeds>().ok().map(|seeds| seeds.0), expected);
    }
}
