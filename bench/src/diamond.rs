//! Scenarios A and B: diamonds with many jobs in flight, and one at a time.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde::Serialize;

use crate::{
    Failed,
    broker::Keeping,
    company::{Company, Roles, Setup},
    figures::{Spread, ms, ms_each, per_second, percentile},
    load::{Done, Submitter, Window, closed_loop},
    logs::Logs,
    options::Options,
    usage::{self, Part, Pids},
    workload::Workload,
};

/// The number of jobs that run before a measurement, one at a time.
pub(crate) const WARM: usize = 50;
/// Timeout of the warm-up.
const PATIENCE: Duration = Duration::from_secs(60);

/// The figures of scenario A.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Throughput {
    /// Completed jobs per second.
    pub(crate) jobs_per_s: Spread,
    /// CPU time per job of each part, in milliseconds.
    pub(crate) cpu_ms_per_job: BTreeMap<Part, Spread>,
    /// CPU time per job of all parts except the submitter, in milliseconds.
    pub(crate) cpu_ms: Spread,
    /// Memory of each part at the end, in MiB.
    pub(crate) memory_mib: BTreeMap<Part, u64>,
    /// Cores that other processes used during the measurement.
    pub(crate) other_cores: Spread,
    /// The number of jobs in flight.
    pub(crate) in_flight: usize,
    /// The number of measured jobs.
    pub(crate) n: u64,
    /// Records of the last jobs.
    pub(crate) logs: Logs,
}

/// The figures of scenario B.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Latency {
    /// The median latency of each round, in milliseconds.
    pub(crate) p50_ms: Spread,
    /// The 90th percentile, in milliseconds.
    pub(crate) p90_ms: Spread,
    /// The 99th percentile, in milliseconds.
    pub(crate) p99_ms: Spread,
    /// CPU time per job of all parts except the submitter, in milliseconds.
    pub(crate) cpu_ms: Spread,
    /// Cores that other processes used during the measurement.
    pub(crate) other_cores: Spread,
    /// The number of measured jobs.
    pub(crate) n: usize,
}

/// Warms up with [`WARM`] jobs.
pub(crate) async fn warm_up(company: &Company, submitter: &Submitter) -> Result<(), Failed> {
    warm(company, submitter, WARM).await
}

/// Runs some jobs, so that caches, consumers and connections exist. Processes with all roles also
/// begin to carry out work without the queue, once they know all live processes.
pub(crate) async fn warm(
    company: &Company,
    submitter: &Submitter,
    jobs: usize,
) -> Result<(), Failed> {
    let began = Instant::now();
    loop {
        let mut done = submitter.alone(jobs).await?;
        let last = done.pop().map(|done| done.job);
        let logs = Logs::read(&company.broker, last.as_slice()).await?;
        if company.roles == Roles::Apart || logs.joined > 0.0 {
            return Ok(());
        }
        if began.elapsed() > PATIENCE {
            return Err("no process with all roles works without the queue".into());
        }
    }
}

/// Measures scenario A. Also returns the last window, whose jobs are analysed by stage.
pub(crate) async fn throughput(
    company: &Company,
    options: &Options,
) -> Result<(Throughput, Window), Failed> {
    throughput_of(&Submitter::new(company)?, company, options).await
}

/// Measures the throughput of a submitter's jobs. Also returns the last window.
pub(crate) async fn throughput_of(
    submitter: &Submitter,
    company: &Company,
    options: &Options,
) -> Result<(Throughput, Window), Failed> {
    let pids = company.pids();
    let (warm_up, windows) = (options.warm_up(), options.windows());
    let mut windows = closed_loop(submitter, &pids, options.in_flight, warm_up, &windows).await?;
    let mut figures = of_windows(&windows, &pids, options.in_flight);
    let last = windows.pop().ok_or("no round was measured: --rounds must be at least 1")?;
    figures.logs = Logs::read(&company.broker, &last.last).await?;
    Ok((figures, last))
}

fn of_windows(windows: &[Window], pids: &Pids, in_flight: usize) -> Throughput {
    let each = |part: Part| {
        let used = |w: &Window| w.cpu.get(&part).copied().unwrap_or_default();
        Spread::of(windows.iter().map(|window| ms_each(used(window), window.jobs)))
    };
    let ours = |w: &Window| {
        w.cpu.iter().filter(|(part, _)| **part != Part::Submitter).map(|(_, used)| *used).sum()
    };
    let mib = |pids: &Vec<u32>| usage::memory_kib(pids) / 1024;
    let parts = pids.keys().copied();
    Throughput {
        jobs_per_s: Spread::of(windows.iter().map(|w| per_second(w.jobs, w.time))),
        cpu_ms_per_job: parts.map(|part| (part, each(part))).collect(),
        cpu_ms: Spread::of(windows.iter().map(|w| ms_each(ours(w), w.jobs))),
        memory_mib: pids.iter().map(|(part, pids)| (*part, mib(pids))).collect(),
        other_cores: Spread::of(
            windows.iter().map(|w| w.others.as_secs_f64() / w.time.as_secs_f64()),
        ),
        in_flight,
        n: windows.iter().map(|w| w.jobs).sum(),
        logs: Logs::default(),
    }
}

/// Measures scenario B. Also returns every job, for the analysis by stage.
pub(crate) async fn latency(
    company: &Company,
    options: &Options,
) -> Result<(Latency, Vec<Done>), Failed> {
    latency_of(&Submitter::new(company)?, company, options).await
}

/// Measures the latency of a submitter's jobs, one at a time. Also returns every job.
pub(crate) async fn latency_of(
    submitter: &Submitter,
    company: &Company,
    options: &Options,
) -> Result<(Latency, Vec<Done>), Failed> {
    let pids = company.pids();
    let (mut rounds, mut all) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let (before, began) = (usage::Cpu::read(&pids), Instant::now());
        let done = submitter.alone(options.alone).await?;
        let (mut cpu, others) = usage::Cpu::read(&pids).since(&before);
        cpu.remove(&Part::Submitter);
        let took: Vec<f64> = done.iter().map(|done| ms(done.took)).collect();
        let others = others.as_secs_f64() / began.elapsed().as_secs_f64();
        rounds.push((took, ms_each(cpu.values().sum(), done.len() as u64), others));
        all.extend(done);
    }
    let at = |share: f64| {
        Spread::of(rounds.iter().map(|(took, _, _)| percentile(&mut took.clone(), share)))
    };
    let latency = Latency {
        p50_ms: at(0.5),
        p90_ms: at(0.9),
        p99_ms: at(0.99),
        cpu_ms: Spread::of(rounds.iter().map(|(_, cpu, _)| *cpu)),
        other_cores: Spread::of(rounds.iter().map(|(_, _, others)| *others)),
        n: all.len(),
    };
    Ok((latency, all))
}

/// Returns the setup of a scenario with diamonds: one supervisor and one worker with their defaults.
pub(crate) fn setup(program: Option<std::path::PathBuf>, keeping: Keeping) -> Setup {
    Setup::new(program, keeping, Workload::Diamond)
}
