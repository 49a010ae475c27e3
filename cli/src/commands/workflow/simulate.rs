//! `workflow simulate`: runs the cases of a workflow in the simulation, without a server.

use std::path::PathBuf;

use proto::lang::Words;
use simulation::cases::{self, Case, FILE_BYTES_MAX, Sources, Suite, TestedWorkflow, never_taken};

use super::text;
use crate::{
    args::{Global, SimulateArgs},
    commands::{agents::chosen, submit},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    input,
    output::Output,
    render::simulated::{self as render, Simulated, SimulatedCase},
};

pub(super) async fn run(global: &Global, output: Output, args: &SimulateArgs) -> Outcome {
    let source = text(&args.file)?;
    let definition = super::valid(&args.file)?;
    let workflows = submit::beside(&args.file, &source)?;
    let workflow = TestedWorkflow { source, definition: definition.clone(), workflows };
    let suite = suite(global, output, args, workflow)?;
    let mut all = Vec::new();
    for case in chosen(suite, &args.only)? {
        let has_trace = args.trace;
        // The worlds of the simulation have runtimes of their own.
        let run = tokio::task::spawn_blocking(move || simulated(&case, has_trace));
        all.push(run.await.map_err(|error| CliError::internal(error.to_string()))?);
    }
    let ways = all.iter().filter_map(|one| one.run.end.way.as_ref());
    let routes_never_taken = never_taken(&definition, ways);
    let is_wrong = all.iter().any(|one| !one.passed);
    let whole = Simulated { cases: all, routes_never_taken };
    output.one(&whole, definition.name.as_str(), |style| render::simulated(style, &whole))?;
    Ok(if is_wrong { Exit::Failed } else { Exit::Success })
}

/// Reads and checks the cases. Agents and scripts that they name are looked up beside their file.
fn suite(
    global: &Global,
    output: Output,
    args: &SimulateArgs,
    workflow: TestedWorkflow,
) -> Result<Suite, CliError> {
    let config = connect::config(global)?;
    let agents = crate::agents::unchecked(&config)
        .map_err(|error| CliError::input("agent", error.words()))?;
    let text = input::file("cases", &args.cases, FILE_BYTES_MAX)?;
    let directory = args.cases.parent().map(PathBuf::from).unwrap_or_default();
    let read = |named: &str| -> Result<String, Words> {
        let path = directory.join(named);
        input::file("cases", &path, FILE_BYTES_MAX).map_err(|error| error.message)
    };
    Suite::of_workflow(&text, workflow, Sources { agents, read: &read }).map_err(|mistake| {
        let place = args.cases.display().to_string();
        CliError::input("cases", mistake.text(&place, output.language))
    })
}

fn simulated(case: &Case, has_trace: bool) -> SimulatedCase {
    let (run, trace) = match has_trace {
        true => cases::trace(case, None),
        false => (cases::run(case, None), Vec::new()),
    };
    SimulatedCase { case: case.name.clone(), passed: run.is_passed(), run, trace }
}
