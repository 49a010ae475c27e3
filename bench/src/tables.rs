//! The tables of C to H, L, T and W. Those of N are beside its measurements.

use crate::{
    failover::Failover,
    figures::{Spread, number},
    http::{Http, Pages},
    large::Large,
    listing::Listing,
    parked::{Parked, per_job},
    report::{Diamonds, throughput},
    sleeping::Sleeping,
    table::Table,
    telemetry::TelemetryFigures,
    usage::Part,
    watching::Watching,
};

/// Builds the table of G.
pub(crate) fn large(rows: &[Large]) -> Table {
    let mut columns = vec!["plan", "steps", "roles", "job ms", "CPU ms/step"];
    let parts = [Part::Broker, Part::Supervisor, Part::Worker, Part::AllRoles];
    columns.extend(parts.map(Part::as_str));
    columns.push("n");
    let mut table = Table::new("G: large plans whose steps answer at once", &columns);
    for figures in rows {
        let mut row = vec![
            figures.shape.as_str().to_owned(),
            figures.steps.to_string(),
            figures.roles.as_str().to_owned(),
            figures.job_ms.to_string(),
            figures.cpu_ms.to_string(),
        ];
        row.extend(parts.map(|part| {
            figures.cpu_ms_per_step.get(&part).map_or(String::new(), |s| number(s.median))
        }));
        row.push(figures.n.to_string());
        table.rows.push(row);
    }
    table
}

/// The words for jobs that wait.
pub(crate) struct Waiting {
    /// Letter of the scenario.
    pub(crate) scenario: &'static str,
    /// Word for the jobs.
    pub(crate) jobs: &'static str,
    /// Object of the wait.
    pub(crate) of: &'static str,
    /// Report that ends the wait, without its article.
    pub(crate) report: &'static str,
    /// Name of the first record after it.
    pub(crate) next: &'static str,
}

/// Builds the tables of C: memory, and resuming.
pub(crate) fn parked(parked: &Parked) -> [Table; 2] {
    let (of, report, next) = ("a person", "answer", "command");
    waiting(parked, &Waiting { scenario: "C", jobs: "jobs", of, report, next })
}

/// Builds the tables of jobs that wait: memory, and resuming.
pub(crate) fn waiting(parked: &Parked, words: &Waiting) -> [Table; 2] {
    let Waiting { scenario, jobs, of, report, next } = words;
    let (n, server) = (parked.n, &parked.server);
    let roles = parked.roles.as_str();
    let title = format!("{scenario}: {n} {jobs} that wait for {of} ({server}, {roles})");
    let columns =
        ["process", "MiB before", "half", "all", "bytes/job", "bytes/job of the later half"];
    let mut memory = Table::new(title, &columns);
    for (part, kib) in &parked.memory_kib {
        let mut row = vec![part.as_str().to_owned()];
        row.extend(kib.map(|kib| format!("{:.1}", kib_to_mib(kib))));
        for each in [&parked.bytes_per_job, &parked.bytes_per_later_job] {
            row.push(number(each.get(part).copied().unwrap_or_default()));
        }
        memory.rows.push(row);
        if *part == Part::Broker {
            memory.rows.push(live(parked));
        }
    }
    memory.notes.push(format!(
        "parked at {} {jobs}/s, 200 at a time; PSS, read {} s after the last one; in use: the heap of \
         Go after a collection of garbage",
        number(parked.parked_per_s),
        number(parked.settle_s)
    ));
    let (title, from) = (
        format!("{scenario}: an {report}, one at a time ({roles})"),
        format!("from the {report} to"),
    );
    let mut resume = Table::new(title, &[&from, "p50 ms", "p99 ms", "n"]);
    let next = format!("the next {next}");
    for (name, percentiles) in
        [(next, &parked.resumed_ms), ("the end of the job".to_owned(), &parked.done_ms)]
    {
        let (p50, p99) = (percentiles.p50.to_string(), percentiles.p99.to_string());
        resume.rows.push(vec![name, p50, p99, parked.resumed.to_string()]);
    }
    [memory, resume]
}

/// Returns the row with the broker's heap in use.
fn live(parked: &Parked) -> Vec<String> {
    let [before, half, all] = parked.live_kib;
    let each = per_job(Some(before), Some(all), parked.n);
    let later = per_job(Some(half), Some(all), parked.n - parked.n / 2);
    let mut row = vec!["... in use".to_owned()];
    row.extend(parked.live_kib.map(|kib| format!("{:.1}", kib_to_mib(kib))));
    row.extend([number(each), number(later)]);
    row
}

#[expect(clippy::cast_precision_loss, reason = "a figure of memory")]
fn kib_to_mib(kib: u64) -> f64 {
    kib as f64 / 1024.0
}

/// Builds the table of D.
pub(crate) fn sleeping(rows: &[Sleeping]) -> Table {
    let columns = ["jobs at once", "roles", "makespan s", "ideal s", "MiB"];
    let mut table = Table::new("D: every activity takes a second", &columns);
    for figures in rows {
        let mib = figures.memory_mib.iter().map(|(part, mib)| format!("{} {mib}", part.as_str()));
        table.rows.push(vec![
            figures.n.to_string(),
            figures.roles.as_str().to_owned(),
            figures.makespan_s.to_string(),
            number(figures.ideal_s),
            mib.collect::<Vec<_>>().join(", "),
        ]);
        table.notes.push(format!("the last of {} jobs: {}", figures.n, figures.slowest));
    }
    table.notes.push(
        "one worker process that may have everything in hand; memory is the most that was seen (PSS)"
            .to_owned(),
    );
    table
}

/// Builds the table of E.
pub(crate) fn scale(rows: &[Diamonds]) -> Table {
    let named = |d: &Diamonds| {
        let name = format!("{0} supervisors, {0} workers", d.setup.processes);
        Some((name, d.throughput.clone()?))
    };
    let rows: Vec<_> = rows.iter().filter_map(named).collect();
    let rows: Vec<_> = rows.iter().map(|(name, figures)| (name.clone(), figures, None)).collect();
    throughput("E: throughput with more processes on the same cores", &rows)
}

/// Builds the table of F.
pub(crate) fn failover(failover: &Failover) -> Table {
    let title = format!("F: until jobs flow again ({}, R3)", failover.server);
    let mut table = Table::new(title, &["from", "until", "p50 s", "p99 s", "most s", "n"]);
    for (from, until, times) in [
        ("a leader is killed", "every stream and consumer has a leader", &failover.elected),
        ("a leader is killed", "a new job is planned in every shard", &failover.killed),
        ("the leaders are elected", "a new job is planned in every shard", &failover.added),
        ("a second supervisor starts", "it has its half of the shards", &failover.joined),
        ("it is asked to leave", "the first has all shards", &failover.left),
    ] {
        let mut row = vec![from.to_owned(), until.to_owned()];
        row.extend([times.p50_s, times.p99_s, times.most_s].map(number));
        row.push(times.n.to_string());
        table.rows.push(row);
    }
    table.notes.push("looked at every 20 ms".to_owned());
    table
}

/// Builds the table of L.
pub(crate) fn listing(listing: &Listing) -> Table {
    let title = format!("L: requests with {} ended jobs ({})", listing.jobs, listing.server);
    let mut table = Table::new(title, &["request", "first ms", "p50 ms", "p99 ms"]);
    for times in &listing.requests {
        let mut row = vec![times.request.to_owned()];
        row.extend([times.first_ms, times.p50_ms, times.p99_ms].map(number));
        table.rows.push(row);
    }
    table
}

/// Builds the table of T.
pub(crate) fn watched(rows: &[TelemetryFigures]) -> Table {
    let columns = ["telemetry", "jobs/s", "CPU ms/job", "cost", "KiB sent", "others", "n"];
    let mut table = Table::new("T: throughput of diamonds, watched", &columns);
    let off = rows.iter().filter(|row| row.sampled.is_none());
    let cpu_off = Spread::of(off.map(|row| row.throughput.cpu_ms.median)).median;
    for row in rows {
        let (name, cost) = match row.sampled {
            None => ("off".to_owned(), "-".to_owned()),
            Some(sampled) => {
                let more = row.throughput.cpu_ms.median / cpu_off - 1.0;
                let name = format!("all metrics, {:.0} % of traces", 100.0 * sampled);
                (name, format!("{:+.1} %", 100.0 * more))
            }
        };
        table.rows.push(vec![
            name,
            row.throughput.jobs_per_s.to_string(),
            row.throughput.cpu_ms.to_string(),
            cost,
            (row.bytes / 1024).to_string(),
            number(row.throughput.other_cores.median),
            row.throughput.n.to_string(),
        ]);
    }
    table.notes.push(format!(
        "cost: of CPU time a job in {}, {} and {}, beside the middle of the runs without; the \
         receiver is in the submitter",
        Part::Broker.as_str(),
        Part::Supervisor.as_str(),
        Part::Worker.as_str()
    ));
    table
}

/// Builds the tables of W: records and watchers, and the long job.
pub(crate) fn watching(watching: &Watching) -> [Table; 2] {
    let title = format!("W: {} watchers over {} jobs", watching.watchers, watching.jobs);
    let columns = ["process", "CPU ms/record", "KiB/watcher", "ms until all have all", "records"];
    let mut table = Table::new(title, &columns);
    for (part, cpu) in &watching.cpu_ms_per_record {
        let of_supervisor = |value: String| match part {
            Part::Supervisor => value,
            Part::Broker | Part::Worker | Part::AllRoles | Part::Submitter => "-".to_owned(),
        };
        table.rows.push(vec![
            part.as_str().to_owned(),
            cpu.to_string(),
            of_supervisor(number(watching.kib_per_watcher)),
            of_supervisor(watching.round_ms.to_string()),
            watching.records.to_string(),
        ]);
    }
    let long = &watching.long;
    let title = format!("W: a job of {} records is opened", long.records);
    let columns = ["watchers", "ms until all have all", "CPU us/record and watcher"];
    let mut opened = Table::new(title, &columns);
    let figures = [long.watchers.to_string(), long.open_ms.to_string()];
    opened.rows.push([figures.as_slice(), &[long.cpu_us_per_record.to_string()]].concat());
    [table, opened]
}

/// Builds the tables of H: readers, requests, throughput, and pages where there was a browser.
pub(crate) fn http(http: &Http) -> Vec<Table> {
    let of = |[p50, p99]: [f64; 2]| format!("{}, {}", number(p50), number(p99));
    let title = format!("H: {} readers of {} jobs over HTTP", http.readers, http.jobs);
    let columns = ["records/s", "events/s", "HTTP: p50, p99 ms", "page: p50, p99 ms", "n"];
    let mut readers = Table::new(title, &columns);
    for rate in &http.rates {
        readers.rows.push(vec![
            rate.records_per_s.to_string(),
            number(rate.events_per_s),
            of(rate.http_ms),
            rate.page_ms.map_or_else(|| "-".to_owned(), of),
            rate.n.to_string(),
        ]);
    }
    let [gateway, door] = http.kib_per_reader;
    readers.notes.push(format!(
        "from the acknowledgement of a record to a reader, and to the document of a page of the \
         console; {} further readers take nothing; memory of a reader: {} KiB in the gateway, {} KiB \
         in the front door",
        http.silent,
        number(gateway),
        number(door)
    ));
    let title = format!("H: lists of {} ended jobs over HTTP", http.listed);
    let mut lists = Table::new(title, &["request", "first ms", "p50 ms", "p99 ms"]);
    for list in &http.lists {
        let times = [list.first_ms, list.p50_ms, list.p99_ms].map(number);
        lists.rows.push([[list.request.to_owned()].as_slice(), &times].concat());
    }
    let columns = ["A", "jobs/s", "CPU ms/job"];
    let mut throughput = Table::new("H: throughput of diamonds beside the readers", &columns);
    for (name, figures) in ["before", "with readers", "after"].iter().zip(&http.throughput) {
        let (jobs, cpu) = (figures.jobs_per_s.to_string(), figures.cpu_ms.to_string());
        throughput.rows.push(vec![(*name).to_owned(), jobs, cpu]);
    }
    throughput
        .notes
        .push(format!("with readers: {:.0} % of before and after", 100.0 * http.share()));
    let pages = http.pages.as_ref().map(pages);
    [readers, lists, throughput].into_iter().chain(pages).collect()
}

fn pages(pages: &Pages) -> Table {
    let mut table = Table::new("H: the console in Chromium", &["what", "ms"]);
    let [p50, p99] = pages.frame_ms.map(number);
    let log = format!("a log of {} records", pages.records);
    for (what, ms) in [
        ("list of jobs: first paint".to_owned(), pages.first_paint_ms.to_string()),
        ("list of jobs: rows".to_owned(), pages.usable_ms.to_string()),
        (format!("{log}: last event"), pages.open_ms.to_string()),
        (format!("{log}, scrolled: frames, p50 and p99"), format!("{p50}, {p99}")),
        ("layout of a plan of 500 steps".to_owned(), pages.layout_ms.to_string()),
    ] {
        table.rows.push(vec![what, ms]);
    }
    table
}
