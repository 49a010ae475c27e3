//! Completion of values that a server or a file of the user knows: jobs, agents, workflows, contexts,
//! states.
//! A completion is bounded in time, and an unreachable server completes nothing.

use std::{
    ffi::{OsStr, OsString},
    time::Duration,
};

use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use client::Client;
use proto::{
    door::{List, Workflows},
    escape,
    job::JobState,
};

use super::{Cli, Global};
use crate::{connect, contexts, output::Output};

/// Time limit for the values of one completion.
const TIMEOUT: Duration = Duration::from_millis(1_500);
/// Number of jobs that are offered.
const JOBS: u32 = 100;
/// Characters of a description.
const ABOUT: usize = 60;

/// Returns the command line with the completion of values.
pub(crate) fn command() -> Command {
    completed(Cli::command())
}

fn completed(command: Command) -> Command {
    command.mut_args(with_candidates).mut_subcommands(completed)
}

/// Adds the candidates for the values that an argument's placeholder names.
fn with_candidates(arg: Arg) -> Arg {
    let name = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let candidates = match name.as_deref() {
        Some("JOB" | "A" | "B") => ArgValueCandidates::new(jobs),
        Some("AGENT" | "AGENT|@FILE") => ArgValueCandidates::new(agents),
        Some("WORKFLOW") => ArgValueCandidates::new(workflows),
        Some("FILE|NAME" | "NAME|FILE") => {
            return arg.add(ArgValueCompleter::new(workflows_and_files));
        }
        Some("STATE") => ArgValueCandidates::new(states),
        Some("CONTEXT") => ArgValueCandidates::new(named_contexts),
        Some(_) | None => return arg,
    };
    arg.add(candidates)
}

fn candidate(value: &str, about: &str) -> CompletionCandidate {
    let about: String = escape::line(about).chars().take(ABOUT).collect();
    CompletionCandidate::new(value).help((!about.is_empty()).then(|| about.into()))
}

fn states() -> Vec<CompletionCandidate> {
    JobState::ALL.iter().map(|state| candidate(state.as_str(), "")).collect()
}

fn named_contexts() -> Vec<CompletionCandidate> {
    let contexts = contexts::Contexts::load().unwrap_or_default();
    contexts.iter().map(|(name, context)| candidate(name.as_str(), &context.about())).collect()
}

fn jobs() -> Vec<CompletionCandidate> {
    let list = List { limit: Some(JOBS), ..List::default() };
    let listed = asked(async |client| client.call(&list).await.ok());
    let jobs = listed.into_iter().flat_map(|listed| listed.jobs);
    jobs.map(|job| candidate(job.job.as_str(), &format!("{} · {}", job.state, job.goal))).collect()
}

fn agents() -> Vec<CompletionCandidate> {
    let listed = asked(async |client| client.agents(None).await.ok());
    let agents = listed.into_iter().flat_map(|listed| listed.agents);
    agents.map(|agent| candidate(agent.name.as_str(), &agent.about)).collect()
}

fn workflows() -> Vec<CompletionCandidate> {
    let listed = asked(async |client| client.call(&Workflows::default()).await.ok());
    let workflows = listed.into_iter().flat_map(|listed| listed.workflows);
    workflows.map(|workflow| candidate(workflow.name.as_str(), &workflow.about)).collect()
}

/// Returns the workflows and the files whose names begin with the word so far.
fn workflows_and_files(word: &OsStr) -> Vec<CompletionCandidate> {
    let start = word.to_string_lossy();
    let begins = |one: &CompletionCandidate| one.get_value().to_string_lossy().starts_with(&*start);
    let named = workflows().into_iter().filter(begins);
    named.chain(PathCompleter::any().complete(word)).collect()
}

/// Asks the server that the line so far names; `None` without an answer in time.
fn asked<T>(ask: impl AsyncFnOnce(Client) -> Option<T>) -> Option<T> {
    let global = global(std::env::args_os().skip_while(|word| word != "--").skip(1))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    // Fails only if a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let answer = async {
        let client = connect::client(&global, Output::silent()).await.ok()?;
        ask(client.with_retries(None)).await
    };
    let answer = runtime.block_on(async { tokio::time::timeout(TIMEOUT, answer).await });
    runtime.shutdown_background();
    answer.ok().flatten()
}

/// Returns the options of the connection on an unfinished line.
fn global(words: impl Iterator<Item = OsString>) -> Option<Global> {
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(words).ok()?;
    let mut global = Global::from_arg_matches(&matches).ok()?;
    contexts::apply(&mut global, contexts::InUse::Applies).ok()?;
    Some(global)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_connection_is_read_from_an_unfinished_line() {
        let of = |line: &str| global(line.split(' ').map(OsString::from)).unwrap();
        assert_eq!(of("callboard --url nats://a:1 jobs describe ").url.unwrap(), "nats://a:1");
        assert_eq!(of("callboard jobs ls --prefix x --state").prefix.unwrap(), "x");
        assert_eq!(of("callboard inbox answer j --url nats://b:2 ").url.unwrap(), "nats://b:2");
    }
}
