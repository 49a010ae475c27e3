//! Scenario N: workflows. A graph with a loop, a branch and a parallel part, many in flight and one at
//! a time; a map over several workers; and workflows that wait for an event.

pub(crate) mod map;
pub(crate) mod tables;
pub(crate) mod waiting;

use std::{collections::BTreeMap, path::PathBuf};

use broker::Broker;
use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    decision::{Decision, Note},
    door::{SetWorkflow, SubmitWorkflow},
    entry::Entry,
    id::{JobId, Seq},
    record::Known,
    workflow::{Move, WorkflowName},
};
use serde::Serialize;

use crate::{
    Failed,
    broker::Keeping,
    company::{Company, Setup},
    diamond::{self, Latency, Throughput},
    figures::number,
    load::Submitter,
    options::Options,
    say,
    usage::Part,
    workload::{Graph, Workload, source},
};

/// Number of logs that are read concurrently.
const READERS: usize = 32;

/// The figures of scenario N.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Graphs {
    /// The graph, by the durability of writes.
    pub(crate) graphs: Vec<Measured>,
    /// The map.
    pub(crate) map: Option<map::Mapped>,
    /// The workflows that wait for an event.
    pub(crate) waiting: Option<crate::parked::Parked>,
}

/// The figures of the graph on one setup.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Measured {
    /// The version of the broker.
    pub(crate) server: String,
    /// The durability of writes.
    pub(crate) keeping: Keeping,
    /// Many workflows in flight; the figures of jobs are those of workflows.
    pub(crate) throughput: Throughput,
    /// One workflow at a time.
    pub(crate) latency: Latency,
    /// Visits of nodes and records, by the logs of the last workflows.
    pub(crate) logs: Logs,
    /// CPU time per visit of each part under load, in milliseconds.
    pub(crate) cpu_ms_per_visit: BTreeMap<Part, f64>,
}

/// The visits and records of some logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Logs {
    /// Number of logs.
    pub(crate) jobs: usize,
    /// Visits of nodes in each, those of branches and parallel nodes included.
    pub(crate) visits: f64,
    /// Records for each visit, the submission and the end included.
    pub(crate) records_per_visit: f64,
}

/// Measures the graph, the map and the waiting workflows, each on processes of its own.
pub(crate) async fn measure(options: &Options, program: Option<PathBuf>) -> Result<Graphs, Failed> {
    let mut graphs = Graphs::default();
    for keeping in &options.keeping {
        say(&format!("n: a graph, {}", keeping.as_str()));
        let company = start(program.clone(), *keeping, Graph::Whole, 1).await?;
        graphs.graphs.push(whole(&company, options, *keeping).await?);
        crate::run::tell_log(&company);
    }
    say(&format!("n: a map of {} items", options.map_items));
    let company = start(program.clone(), Keeping::Default, Graph::Map, map::WORKERS).await?;
    graphs.map = Some(map::measure(&company, options).await?);
    crate::run::tell_log(&company);
    say(&format!("n: {} workflows that wait for an event", options.waiting));
    let company = start(program, Keeping::Default, Graph::Waiting, 1).await?;
    graphs.waiting = Some(waiting::measure(&company, options).await?);
    crate::run::tell_log(&company);
    Ok(graphs)
}

/// Starts processes with their defaults and stores the workflow.
async fn start(
    program: Option<PathBuf>,
    keeping: Keeping,
    graph: Graph,
    processes: usize,
) -> Result<Company, Failed> {
    let workload = Workload::Workflow(graph);
    let setup = Setup { program, keeping, processes, workload, settings: Vec::new() };
    let company = Company::start(&setup).await?;
    let (name, text) = (name()?, source(graph));
    let stored = SetWorkflow { name, text, expected_revision: None, check: false, by: None };
    company.client.call(&stored).await?;
    Ok(company)
}

fn name() -> Result<WorkflowName, Failed> {
    Ok(WorkflowName::new(crate::workload::WORKFLOW)?)
}

/// Returns a submitter of the stored workflow.
fn submitter(company: &Company) -> Result<Submitter, Failed> {
    let workflow = SubmitWorkflow { name: Some(name()?), ..SubmitWorkflow::default() };
    Submitter::of_workflow(company, workflow)
}

async fn whole(company: &Company, options: &Options, keeping: Keeping) -> Result<Measured, Failed> {
    let submitter = submitter(company)?;
    submitter.alone(options.alone.min(diamond::WARM)).await?;
    let (latency, _) = diamond::latency_of(&submitter, company, options).await?;
    let (throughput, last) = diamond::throughput_of(&submitter, company, options).await?;
    let logs = logs(&company.broker, &last.last).await?;
    let each = |(part, spread): (&Part, &crate::figures::Spread)| {
        (*part, if logs.visits > 0.0 { spread.median / logs.visits } else { 0.0 })
    };
    Ok(Measured {
        server: company.servers.version().to_string(),
        keeping,
        cpu_ms_per_visit: throughput.cpu_ms_per_job.iter().map(each).collect(),
        throughput,
        latency,
        logs,
    })
}

/// Counts the visits and records of jobs.
async fn logs(broker: &Broker, jobs: &[JobId]) -> Result<Logs, Failed> {
    let read = stream::iter(jobs).map(|job| async move {
        let entries = broker.log.read(job, Seq(0)).await?;
        Ok::<_, Failed>((entries.len(), entries.iter().map(visits).sum::<usize>()))
    });
    let counted: Vec<(usize, usize)> = read.buffered(READERS).try_collect().await?;
    let records = counted.iter().map(|(records, _)| records).sum();
    Ok(Logs::of(jobs.len(), records, counted.iter().map(|(_, visits)| visits).sum()))
}

impl Logs {
    #[expect(clippy::cast_precision_loss, reason = "numbers of records")]
    fn of(jobs: usize, records: usize, visits: usize) -> Self {
        Self {
            jobs,
            visits: visits as f64 / jobs.max(1) as f64,
            records_per_visit: records as f64 / visits.max(1) as f64,
        }
    }
}

/// Returns the number of nodes that a record enters.
fn visits(entry: &Entry) -> usize {
    moves(entry, |one| matches!(one, Move::Enter { .. }))
}

/// Returns the number of moves of a record that are of a kind.
fn moves(entry: &Entry, is: impl Fn(&Move) -> bool) -> usize {
    let known = entry.record.as_ref().ok().and_then(|record| record.known().ok());
    let Some(Known::Decision(decision)) = known else { return 0 };
    let Decision::Note(Note::Advanced(advance)) = *decision else { return 0 };
    advance.moves.iter().filter(|one| is(one)).count()
}

/// Returns the sum of supervisor and worker.
fn own(each: &BTreeMap<Part, f64>) -> f64 {
    [Part::Supervisor, Part::Worker].iter().filter_map(|part| each.get(part)).sum()
}

/// Formats the CPU times of parts.
fn cpu(each: &BTreeMap<Part, f64>) -> Vec<String> {
    let of = |part: &Part| each.get(part).map_or(String::new(), |ms| number(*ms));
    let parts = [Part::Broker, Part::Supervisor, Part::Worker].map(|part| of(&part));
    std::iter::once(number(own(each))).chain(parts).collect()
}
