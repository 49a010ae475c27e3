//! A map of many items over several workers: one job at a time, and its duration.

use std::collections::BTreeMap;

use proto::{door::SubmitWorkflow, entry::Entry, fact::Fact, id::Seq};
use serde::Serialize;
use serde_json::json;

use crate::{
    Failed,
    company::Company,
    figures::{Spread, ms},
    load::Submitter,
    logs::Logs,
    options::Options,
    usage::{Cpu, Part},
    workload::{Graph, source},
};

/// Number of supervisors, and of workers.
pub(crate) const WORKERS: usize = 2;

/// The figures of the map.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Mapped {
    /// The version of the broker.
    pub(crate) server: String,
    /// The number of items of each map.
    pub(crate) items: u32,
    /// The number of items that run at the same time.
    pub(crate) max_parallel: u32,
    /// Time of one job, in seconds.
    pub(crate) makespan_s: Spread,
    /// CPU time per visit of each part, in milliseconds.
    pub(crate) cpu_ms_per_visit: BTreeMap<Part, f64>,
    /// Visits and records of the last job.
    pub(crate) logs: Logs,
    /// Items of the last job that each worker carried out.
    pub(crate) items_by_worker: Vec<usize>,
}

/// Runs one map after the other.
pub(crate) async fn measure(company: &Company, options: &Options) -> Result<Mapped, Failed> {
    let rows: Vec<u32> = (0..options.map_items).collect();
    // The file travels with the job: the second front door may not know the stored one yet.
    let workflow = SubmitWorkflow {
        source: Some(source(Graph::Map)),
        input: json!({"rows": rows}),
        ..SubmitWorkflow::default()
    };
    let submitter = Submitter::of_workflow(company, workflow)?;
    submitter.run().await?;
    let (mut took, mut last) = (Vec::new(), None);
    let before = Cpu::read(&company.pids());
    for _ in 0..options.rounds {
        let done = submitter.run().await?;
        took.push(done.took.as_secs_f64());
        last = Some(done.job);
    }
    let (used, _) = Cpu::read(&company.pids()).since(&before);
    let last = last.ok_or("no round was measured: --rounds must be at least 1")?;
    let entries = company.broker.log.read(&last, Seq(0)).await?;
    let logs = Logs::of(&entries);
    #[expect(clippy::cast_precision_loss, reason = "a number of rounds")]
    let measured = logs.visits * options.rounds as f64;
    let each = used.into_iter().map(|(part, used)| (part, ms(used) / measured.max(1.0)));
    Ok(Mapped {
        server: company.servers.version().to_string(),
        items: options.map_items,
        max_parallel: crate::workload::MAP_PARALLEL,
        makespan_s: Spread::of(took),
        cpu_ms_per_visit: each.collect(),
        logs,
        items_by_worker: by_worker(&entries),
    })
}

/// Returns the number of results of each worker.
fn by_worker(entries: &[Entry]) -> Vec<usize> {
    let mut results = BTreeMap::<&str, usize>::new();
    for record in entries.iter().filter_map(|entry| entry.record.as_ref().ok()) {
        let called = record.results();
        let called = called.iter().filter(|fact| matches!(fact, Fact::Called(_)));
        *results.entry(&record.by).or_default() += called.count();
    }
    results.into_values().collect()
}
