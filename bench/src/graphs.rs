//! Scenario N: workflows. A graph with a loop, a branch and a parallel part, many in flight and one at
//! a time; a map over several workers; and workflows that wait for an event.

pub(crate) mod map;
pub(crate) mod tables;
pub(crate) mod waiting;

use std::{collections::BTreeMap, path::PathBuf};

use proto::{
    door::{SetWorkflow, SubmitWorkflow},
    workflow::WorkflowName,
};
use serde::Serialize;

use crate::{
    Failed,
    broker::Keeping,
    company::{Company, Roles, Setup},
    diamond::{self, Latency, Throughput},
    figures::number,
    load::Submitter,
    options::Options,
    say,
    usage::Part,
    workload::{Graph, Workload, source},
};

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
    /// The distribution of the roles.
    pub(crate) roles: Roles,
    /// Many workflows in flight; the figures of jobs are those of workflows.
    pub(crate) throughput: Throughput,
    /// One workflow at a time.
    pub(crate) latency: Latency,
    /// CPU time per visit of each part under load, in milliseconds.
    pub(crate) cpu_ms_per_visit: BTreeMap<Part, f64>,
}

/// Measures the graph, the map and the waiting workflows, each on processes of its own.
pub(crate) async fn measure(options: &Options, program: Option<PathBuf>) -> Result<Graphs, Failed> {
    let mut graphs = Graphs::default();
    for setup in options.setups(program.as_ref(), Workload::Workflow(Graph::Whole)) {
        say(&format!("n: a graph, {}", setup.name()));
        let company = start(&setup, Graph::Whole).await?;
        graphs.graphs.push(whole(&company, options, &setup).await?);
        crate::run::tell_log(&company);
    }
    say(&format!("n: a map of {} items", options.map_items));
    let setup = of_default(program.clone(), Graph::Map, map::WORKERS);
    let company = start(&setup, Graph::Map).await?;
    graphs.map = Some(map::measure(&company, options).await?);
    crate::run::tell_log(&company);
    say(&format!("n: {} workflows that wait for an event", options.waiting));
    let company = start(&of_default(program, Graph::Waiting, 1), Graph::Waiting).await?;
    graphs.waiting = Some(waiting::measure(&company, options).await?);
    crate::run::tell_log(&company);
    Ok(graphs)
}

/// Returns a setup with the default durability and the roles apart.
fn of_default(program: Option<PathBuf>, graph: Graph, processes: usize) -> Setup {
    let workload = Workload::Workflow(graph);
    Setup { processes, ..Setup::new(program, Keeping::Default, workload) }
}

/// Starts processes with their defaults and stores the workflow.
async fn start(setup: &Setup, graph: Graph) -> Result<Company, Failed> {
    let company = Company::start(setup).await?;
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

async fn whole(company: &Company, options: &Options, setup: &Setup) -> Result<Measured, Failed> {
    let submitter = submitter(company)?;
    diamond::warm_up(company, &submitter).await?;
    let (latency, _) = diamond::latency_of(&submitter, company, options).await?;
    let (throughput, _) = diamond::throughput_of(&submitter, company, options).await?;
    let visits = throughput.logs.visits;
    let each = |(part, spread): (&Part, &crate::figures::Spread)| {
        (*part, if visits > 0.0 { spread.median / visits } else { 0.0 })
    };
    Ok(Measured {
        server: company.servers.version().to_string(),
        keeping: setup.keeping,
        roles: setup.roles,
        cpu_ms_per_visit: throughput.cpu_ms_per_job.iter().map(each).collect(),
        throughput,
        latency,
    })
}

/// Returns the sum of the processes that are not the broker's.
fn own(each: &BTreeMap<Part, f64>) -> f64 {
    [Part::Supervisor, Part::Worker, Part::AllRoles].iter().filter_map(|part| each.get(part)).sum()
}

/// Formats the CPU times of parts.
fn cpu(each: &BTreeMap<Part, f64>) -> Vec<String> {
    let of = |part: &Part| each.get(part).map_or(String::new(), |ms| number(*ms));
    let parts =
        [Part::Broker, Part::Supervisor, Part::Worker, Part::AllRoles].map(|part| of(&part));
    std::iter::once(number(own(each))).chain(parts).collect()
}
