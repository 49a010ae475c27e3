//! The report of a run: all figures, as JSON for programs and as tables for people.

use std::{io, path::Path};

use serde::Serialize;

use crate::{
    busy::Busy,
    company::Setup,
    diamond::{Latency, Throughput},
    failover::Failover,
    figures::{Spread, number},
    graphs::Graphs,
    http::Http,
    large::Large,
    listing::Listing,
    machine::Machine,
    parked::Parked,
    peers::Peer,
    raw::Raw,
    sleeping::Sleeping,
    stages::{Stage, Stages},
    table::{Style, Table},
    telemetry::TelemetryFigures,
    usage::Part,
    watching::Watching,
    workload,
};

/// The figures of a run so far.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The machine of the run.
    pub(crate) machine: Machine,
    /// Scenarios A and B.
    pub(crate) diamonds: Vec<Diamonds>,
    /// Scenario C.
    pub(crate) parked: Vec<Parked>,
    /// Scenario D.
    pub(crate) sleeping: Vec<Sleeping>,
    /// Scenario E.
    pub(crate) scale: Vec<Diamonds>,
    /// Scenario F.
    pub(crate) failover: Option<Failover>,
    /// Scenario G.
    pub(crate) large: Vec<Large>,
    /// Scenario H.
    pub(crate) http: Option<Http>,
    /// Scenario L.
    pub(crate) listing: Option<Listing>,
    /// Scenario N.
    pub(crate) graphs: Option<Graphs>,
    /// Scenario S.
    pub(crate) busy: Option<Busy>,
    /// Scenario T.
    pub(crate) watched: Vec<TelemetryFigures>,
    /// Scenario W.
    pub(crate) watching: Option<Watching>,
    /// The systems of the comparison.
    pub(crate) peers: Vec<Peer>,
}

/// Scenarios A and B on one setup, with the limit of JetStream there.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Diamonds {
    /// The version of the broker.
    pub(crate) server: String,
    /// The system under measurement.
    #[serde(flatten)]
    pub(crate) setup: Setup,
    /// Scenario A.
    pub(crate) throughput: Option<Throughput>,
    /// Scenario B.
    pub(crate) latency: Option<Latency>,
    /// The limit of JetStream alone.
    pub(crate) raw: Option<Raw>,
    /// The stages of jobs that run alone.
    pub(crate) alone: Option<Stages>,
    /// The stages of jobs under load.
    pub(crate) loaded: Option<Stages>,
}

impl Diamonds {
    /// Creates an empty result.
    pub(crate) fn new(server: String, setup: Setup) -> Self {
        let (throughput, latency, raw, alone, loaded) = (None, None, None, None, None);
        Self { server, setup, throughput, latency, raw, alone, loaded }
    }

    /// Returns the name for the first column of a table.
    fn name(&self) -> String {
        format!("{}, {}", self.server, self.setup.name())
    }
}

impl Report {
    /// Creates an empty report, after an examination of the machine.
    pub(crate) async fn new() -> Self {
        Self {
            machine: Machine::look().await,
            diamonds: Vec::new(),
            parked: Vec::new(),
            sleeping: Vec::new(),
            scale: Vec::new(),
            failover: None,
            large: Vec::new(),
            http: None,
            listing: None,
            graphs: None,
            busy: None,
            watched: Vec::new(),
            watching: None,
            peers: Vec::new(),
        }
    }

    /// Returns the description of the machine, with warnings.
    pub(crate) fn head(&self, style: Style) -> String {
        let lines = std::iter::once(self.machine.line()).chain(self.machine.warnings());
        let between = match style {
            Style::Text => "\n",
            Style::Markdown => "\n\n",
        };
        lines.map(|line| line + between).collect()
    }

    /// Writes the report as JSON.
    pub(crate) fn save(&self, file: &Path) -> io::Result<()> {
        std::fs::write(file, serde_json::to_vec_pretty(self)?)
    }
}

/// Builds the table of scenario A: rates, CPU and memory.
pub(crate) fn throughput(title: &str, rows: &[(String, &Throughput, Option<&Raw>)]) -> Table {
    let mut columns =
        vec!["setup", "jobs/s", "records", "delivered", "of raw", "of delivered", "CPU ms/job"];
    columns.extend(Part::ALL.iter().map(|part| part.as_str()));
    columns.extend(["MiB of each", "others", "n"]);
    let mut table = Table::new(title, &columns);
    for (name, figures, raw) in rows {
        let share = |messages: f64, limit: fn(&Raw) -> f64| {
            let share = |raw| {
                let rate = figures.jobs_per_s.median * messages;
                format!("{:.0} %", 100.0 * rate / limit(raw))
            };
            raw.map_or("-".to_owned(), share)
        };
        let logs = &figures.logs;
        let mut row = vec![
            name.clone(),
            figures.jobs_per_s.to_string(),
            number(logs.records),
            number(logs.delivered),
            share(logs.records, |raw| raw.publishes_per_s.median),
            share(logs.delivered, |raw| raw.handed_out_per_s.median),
            figures.cpu_ms.to_string(),
        ];
        row.extend(Part::ALL.iter().map(|part| {
            figures.cpu_ms_per_job.get(part).map_or(String::new(), |s| number(s.median))
        }));
        let ours = figures.memory_mib.iter().filter(|(part, _)| **part != Part::Submitter);
        let mib: Vec<_> = ours.map(|(_, mib)| mib.to_string()).collect();
        row.push(mib.join("/"));
        row.push(number(figures.other_cores.median));
        row.push(figures.n.to_string());
        table.rows.push(row);
    }
    if let Some((_, figures, _)) = rows.first() {
        table.notes.push(format!(
            "{} in flight; median [range] of {} rounds; CPU is that of the broker and of our processes \
             (with the scripted model in them); the submitter shares the cores and is shown beside it; \
             records: of a job, of which a consumer received those that are delivered",
            figures.in_flight, figures.jobs_per_s.rounds
        ));
    }
    table
}

/// Builds the table of scenario B.
pub(crate) fn latency(rows: &[(String, &Latency)]) -> Table {
    let columns = ["setup", "p50 ms", "p90 ms", "p99 ms", "CPU ms/job", "others", "n"];
    let mut table = Table::new("B: latency of one diamond at a time", &columns);
    for (name, figures) in rows {
        let spreads = [&figures.p50_ms, &figures.p90_ms, &figures.p99_ms, &figures.cpu_ms];
        let mut row = vec![name.clone()];
        row.extend(spreads.map(Spread::to_string));
        row.extend([number(figures.other_cores.median), figures.n.to_string()]);
        table.rows.push(row);
    }
    table
}

/// Builds the table of JetStream alone.
pub(crate) fn raw(rows: &[(String, &Raw)]) -> Table {
    let columns =
        ["setup", "publishes/s", "/12", "delivered/s", "/12", "publish ms", "relay ms", "bytes"];
    let mut table = Table::new("JetStream alone: the limit", &columns);
    for (name, raw) in rows {
        let jobs = |rate: &Spread| number(rate.median / f64::from(workload::RECORDS));
        table.rows.push(vec![
            name.clone(),
            raw.publishes_per_s.to_string(),
            jobs(&raw.publishes_per_s),
            raw.handed_out_per_s.to_string(),
            jobs(&raw.handed_out_per_s),
            raw.publish_ms.to_string(),
            raw.relay_ms.to_string(),
            raw.bytes.to_string(),
        ]);
    }
    table.notes.push(
        "publishes: 1,024 in flight over 8 streams, without headers; delivered: the same, and a \
         consumer receives and acknowledges each message; publish: one at a time, to its acknowledgement; \
         relay: from one stored message to the next, when the receiver of one publishes the next"
            .to_owned(),
    );
    table
}

/// Builds the table of all transitions of a job, alone and under load.
pub(crate) fn transitions(diamonds: &Diamonds) -> Option<Table> {
    let alone = diamonds.alone.as_ref()?;
    let mut columns = vec!["transition", "stage", "p50 ms", "p90 ms", "p99 ms"];
    if diamonds.loaded.is_some() {
        columns.extend(["loaded p50", "loaded p90", "loaded p99"]);
    }
    let title = format!("B: every transition of a job ({})", diamonds.name());
    let mut table = Table::new(title, &columns);
    for transition in &alone.transitions {
        let mut row = vec![transition.name.clone(), transition.stage.as_str().to_owned()];
        let of = |t: &crate::stages::Transition| [t.p50_ms, t.p90_ms, t.p99_ms].map(number);
        row.extend(of(transition));
        if let Some(loaded) = &diamonds.loaded {
            let same = loaded.transitions.iter().find(|t| t.name == transition.name);
            row.extend(same.map_or([(); 3].map(|()| "-".to_owned()), of));
        }
        table.rows.push(row);
    }
    table.notes.push(format!("by the server's times of the records of {} jobs", alone.n));
    Some(table)
}

/// Builds the table of the stages on the critical path.
pub(crate) fn stages(diamonds: &Diamonds) -> Option<Table> {
    let alone = diamonds.alone.as_ref()?;
    let title = format!("Where the time of a job goes ({})", diamonds.name());
    let mut table = Table::new(title, &["stage", "alone: mean ms", "%", "loaded: mean ms", "%"]);
    let share = |stages: &Stages, stage| {
        let total: f64 = stages.mean_ms.values().sum();
        let mean = stages.mean_ms.get(&stage).copied()?;
        Some([number(mean), format!("{:.0}", 100.0 * mean / total)])
    };
    for &stage in Stage::ALL {
        let mut row = vec![stage.as_str().to_owned()];
        row.extend(share(alone, stage).unwrap_or_default());
        let loaded = diamonds.loaded.as_ref().and_then(|loaded| share(loaded, stage));
        row.extend(loaded.unwrap_or_default());
        table.rows.push(row);
    }
    if let Some(raw) = &diamonds.raw {
        let hops = workload::CRITICAL - 1;
        let least = f64::from(hops) * raw.relay_ms.median;
        table.notes.push(format!(
            "{hops} transitions one after the other; JetStream alone takes {} ms for as many (relay)",
            number(least)
        ));
    }
    if let Some(throughput) = &diamonds.throughput {
        let cores = |part: &Part| {
            let each = throughput.cpu_ms_per_job.get(part).map_or(0.0, |s| s.median);
            format!("{} {:.2}", part.as_str(), each * throughput.jobs_per_s.median / 1000.0)
        };
        let cores: Vec<_> = Part::ALL.iter().map(cores).collect();
        table.notes.push(format!("cores in use under load: {}", cores.join(", ")));
    }
    Some(table)
}

/// Returns the named results that `of` selects.
pub(crate) fn rows<'a, T>(
    diamonds: &'a [Diamonds],
    of: impl Fn(&'a Diamonds) -> Option<&'a T>,
) -> Vec<(String, &'a T)> {
    diamonds.iter().filter_map(|d| Some((d.name(), of(d)?))).collect()
}
