//! Edits of the graph of a running job: the check of the new graph against the registry, the agent and
//! the paths of the job.

use std::collections::BTreeMap;

use agents::workflow::{edit, schema, shelf::Shelf, spell::blocks};
use machine::{EditRefusal, Job};
use proto::{
    error::{Code, Failure},
    fact::Signal,
    refusal::Text,
    workflow::{GraphChanges, GraphEdit, WorkflowName, WorkflowRun},
};
use runtime::registry::Registry;

use super::{File, below::Sources, fits, frozen};

/// Field of the request with the edits.
const EDITS: &str = "signal.edit_graph.edits";
/// Field of the request with another version of the workflow.
const SOURCE: &str = "signal.migrate.source";
/// Field of the request with the revision of the graph that the sender saw.
const BASE: &str = "signal.edit_graph.base";

/// Returns the signal that changes the job's graph by edits.
///
/// # Errors
/// Returns the edit that does not fit, or the mistakes of the graph that would be in force.
pub(in super::super) fn edited(
    job: &Job,
    base: u32,
    edits: &[GraphEdit],
    registry: &Registry,
    shelf: &Shelf,
) -> Result<Signal, Failure> {
    let run = run_of(job)?;
    let source = edit::edited(&run.definition, edits).map_err(|unfit| {
        let edit::Unfit { at, field, why } = unfit;
        let place =
            if field.is_empty() { EDITS.to_owned() } else { format!("{EDITS}[{at}].{field}") };
        Failure::composed(Code::InvalidRequest, &why).at(&place)
    })?;
    let texts = run.workflows.iter();
    let texts = texts.map(|(name, below)| (name.clone(), blocks(&below.definition).to_string()));
    let sources = Sources { request: &texts.collect(), shelf };
    signal(job, base, &file(&source, EDITS), &sources, registry)
}

/// Returns the signal that gives the job another version of its workflow.
///
/// # Errors
/// Returns the mistakes of the file.
pub(in super::super) fn migrated(
    job: &Job,
    base: u32,
    (source, workflows): (&str, &BTreeMap<WorkflowName, String>),
    registry: &Registry,
    shelf: &Shelf,
) -> Result<Signal, Failure> {
    let sources = Sources { request: workflows, shelf };
    signal(job, base, &file(source, SOURCE), &sources, registry)
}

fn file<'a>(text: &'a str, field: &str) -> File<'a> {
    File { place: "workflow".to_owned(), text, field: field.to_owned(), name: None }
}

/// Checks that the job takes the graph now.
///
/// # Errors
/// `stale` if another edit was made meanwhile, and `invalid_request` if a path would have no place.
pub(in super::super) fn check_edit(job: &Job, base: u32, run: &WorkflowRun) -> Result<(), Failure> {
    let id = job.id();
    let refused = |text: Text<'_>| Failure::about(Code::InvalidRequest, "signal", text);
    Err(match job.refuses_edit(base, run) {
        None => return Ok(()),
        Some(EditRefusal::NoWorkflow) => no_workflow(job),
        Some(EditRefusal::Ended) => refused(Text::GraphEnded { job: id }),
        Some(EditRefusal::Stale { revision }) => {
            Failure::about(Code::Stale, BASE, Text::GraphMoved { job: id, revision: &revision })
                .next(Text::SeeState { job: id })
        }
        Some(EditRefusal::Pending) => {
            Failure::about(Code::Stale, BASE, Text::GraphWaits { job: id })
                .next(Text::SeeState { job: id })
        }
        Some(EditRefusal::OtherName { name }) => refused(Text::GraphOther { name: &name }),
        Some(EditRefusal::Stranded { node }) => refused(Text::GraphStrands { node: &node }),
        Some(EditRefusal::State { key }) => refused(Text::GraphState { key: &key }),
        Some(EditRefusal::Missing { node }) => refused(Text::GraphMissing { node: &node }),
        Some(EditRefusal::NotGranted { why }) => refused(Text::GraphRefused { why: &why }),
    })
}

fn run_of(job: &Job) -> Result<&WorkflowRun, Failure> {
    job.workflow().map(|(run, _)| run).ok_or_else(|| no_workflow(job))
}

fn no_workflow(job: &Job) -> Failure {
    Failure::about(Code::InvalidRequest, "signal", Text::NoGraph { job: job.id() })
}

fn signal(
    job: &Job,
    base: u32,
    file: &File<'_>,
    sources: &Sources<'_>,
    registry: &Registry,
) -> Result<Signal, Failure> {
    let run = run_of(job)?;
    let agent = job.agent().ok_or_else(|| no_workflow(job))?;
    let new = frozen(file, sources, agent, registry)?;
    fits(&new.definition, &run.input)?;
    values_fit(job, run, &new)?;
    let mut new = WorkflowRun { input: run.input.clone(), ..new };
    // The deadline of a job counts from its beginning and stays.
    new.definition.limits.deadline_ms = run.definition.limits.deadline_ms;
    let changes = GraphChanges::of_run(run, &new);
    if changes.is_empty() {
        return Err(Failure::about(Code::InvalidRequest, "signal", Text::GraphSame));
    }
    Ok(Signal::EditGraph { base, changes, run: Box::new(new) })
}

/// Checks the values of the state against the schemas that change.
fn values_fit(job: &Job, old: &WorkflowRun, new: &WorkflowRun) -> Result<(), Failure> {
    for (key, slot) in &new.definition.state {
        let before = old.definition.state.get(key);
        let value = job.workflow_value(key).filter(|_| before != Some(slot));
        if let Some(why) = value.and_then(|value| schema::misfit(&slot.schema, value)) {
            let text = Text::GraphStateMisfit { key, why: &why };
            return Err(Failure::about(Code::InvalidRequest, "signal", text));
        }
    }
    Ok(())
}
