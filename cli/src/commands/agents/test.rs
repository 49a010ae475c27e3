//! `agents test`: runs the cases of a file in the simulation, without a server.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use proto::lang::Words;
use simulation::cases::{self, Case, FILE_BYTES_MAX, Sources, Suite};

use crate::{
    agents,
    args::{Global, Seeds, TestAgentsArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    input,
    output::Output,
    render::agents_test::{self as render, Tested},
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, args: TestAgentsArgs) -> Outcome {
    let suite = suite(global, output, &args.file)?;
    let chosen = chosen(suite, &args.cases)?;
    let file = args.file.display().to_string();
    let args = Arc::new(args);
    let mut tested = Vec::new();
    for case in chosen {
        let args = Arc::clone(&args);
        // The worlds of the simulation have runtimes of their own.
        let run = tokio::task::spawn_blocking(move || tested_case(&case, &args));
        tested.push(run.await.map_err(|error| CliError::internal(error.to_string()))?);
    }
    let is_wrong = tested.iter().any(|one| !one.passed);
    output.list(
        &tested,
        &tested,
        |one| one.case.clone(),
        |style| render::tested(style, &file, &tested),
    )?;
    Ok(if is_wrong { Exit::Failed } else { Exit::Success })
}

/// Reads and checks the file. Agents and scripts that it names are looked up beside it.
fn suite(global: &Global, output: Output, file: &Path) -> Result<Suite, CliError> {
    let config = connect::config(global)?;
    let known =
        agents::unchecked(&config).map_err(|error| CliError::input("agent", error.words()))?;
    let text = input::file("file", file, FILE_BYTES_MAX)?;
    let directory = file.parent().map(PathBuf::from).unwrap_or_default();
    let read = |named: &str| -> Result<String, Words> {
        let path = directory.join(named);
        input::file("file", &path, FILE_BYTES_MAX).map_err(|error| error.message)
    };
    Suite::parse(&text, Sources { agents: known, read: &read }).map_err(|mistake| {
        CliError::input("file", mistake.text(&file.display().to_string(), output.language))
    })
}

/// Returns the cases with these names; all without names.
pub(in crate::commands) fn chosen(suite: Suite, names: &[String]) -> Result<Vec<Case>, CliError> {
    if let Some(name) = names.iter().find(|name| !suite.cases.iter().any(|c| c.name == **name)) {
        let known = suite.cases.iter().map(|case| case.name.as_str());
        let known = &known.collect::<Vec<_>>().join("; ");
        return Err(CliError::input("case", Text::NoCase { name }).hint(Text::CasesAre { known }));
    }
    let is_chosen = |case: &Case| names.is_empty() || names.contains(&case.name);
    Ok(suite.cases.into_iter().filter(is_chosen).collect())
}

fn tested_case(case: &Case, args: &TestAgentsArgs) -> Tested {
    let (run, trace) = match args.trace {
        true => cases::trace(case, args.chaos_seed),
        false => (cases::run(case, args.chaos_seed), Vec::new()),
    };
    let chaos = args.chaos.as_ref().map(|Seeds(seeds)| {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        cases::chaos(case, seeds, args.threads.unwrap_or(processors))
    });
    let passed = run.is_passed() && chaos.as_ref().is_none_or(|chaos| chaos.failures == 0);
    Tested { case: case.name.clone(), passed, run, chaos, trace }
}
