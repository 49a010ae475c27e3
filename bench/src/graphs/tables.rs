//! The tables of N.

use super::{Graphs, Measured, cpu, map::Mapped};
use crate::{
    figures::{Spread, number},
    table::Table,
    tables::{Waiting, waiting},
};

/// Builds the tables of N.
pub(crate) fn graphs(figures: &Graphs) -> Vec<Table> {
    let mut tables = vec![whole(&figures.graphs)];
    tables.extend(figures.map.as_ref().map(map));
    tables.extend(figures.waiting.as_ref().into_iter().flat_map(|parked| {
        let (of, report, next) = ("an event", "event", "record");
        let words = Waiting { scenario: "N", jobs: "workflows", of, report, next };
        waiting(parked, &words)
    }));
    tables
}

fn whole(rows: &[Measured]) -> Table {
    let columns = [
        "setup",
        "workflows/s",
        "p50 ms",
        "p99 ms",
        "records/visit",
        "CPU ms/visit, ours",
        "nats-server",
        "supervisor",
        "worker",
        "all roles",
        "others",
        "n",
    ];
    let mut table = Table::new("N: a workflow with a loop, a branch and a parallel part", &columns);
    for figures in rows {
        let mut row = vec![format!(
            "{}, {}, {}",
            figures.server,
            figures.keeping.as_str(),
            figures.roles.as_str()
        )];
        let spreads =
            [&figures.throughput.jobs_per_s, &figures.latency.p50_ms, &figures.latency.p99_ms];
        row.extend(spreads.map(Spread::to_string));
        row.push(number(figures.throughput.logs.records_per_visit()));
        row.extend(cpu(&figures.cpu_ms_per_visit));
        row.push(number(figures.throughput.other_cores.median));
        row.push(figures.throughput.n.to_string());
        table.rows.push(row);
    }
    if let Some(figures) = rows.first() {
        table.notes.push(format!(
            "workflows/s and CPU with {} in flight, p50 and p99 one at a time; {} visits of nodes a \
             workflow; records by the logs of {} workflows, with the submission and the end",
            figures.throughput.in_flight,
            number(figures.throughput.logs.visits),
            figures.throughput.logs.jobs
        ));
    }
    table
}

fn map(figures: &Mapped) -> Table {
    let title = format!(
        "N: a map of {} items over {} workers ({})",
        figures.items,
        super::map::WORKERS,
        figures.server
    );
    let columns = [
        "items at a time",
        "makespan s",
        "records/visit",
        "CPU ms/visit, ours",
        "nats-server",
        "supervisor",
        "worker",
        "all roles",
    ];
    let mut table = Table::new(title, &columns);
    let mut row = vec![figures.max_parallel.to_string(), figures.makespan_s.to_string()];
    row.push(number(figures.logs.records_per_visit()));
    row.extend(cpu(&figures.cpu_ms_per_visit));
    table.rows.push(row);
    let shares: Vec<_> = figures.items_by_worker.iter().map(usize::to_string).collect();
    table.notes.push(format!("items of the last map by worker: {}", shares.join(", ")));
    table
}
