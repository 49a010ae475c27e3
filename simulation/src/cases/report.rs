//! The runs of a case, and their reports.

use std::{
    collections::BTreeMap,
    ops::RangeInclusive,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde::Serialize;

use super::{
    Case,
    expect::{self, End, Excuse, Finding},
    stage::{self, Played},
};

/// Bound of the seeds of one command.
pub const CHAOS_MAX: u64 = 1_000_000;
/// Bound of the failed seeds in a report. A longer list says nothing more.
const FAILED_MAX: usize = 5;
/// Bound of a line of a trace, in characters.
const LINE_CHARS: usize = 240;

/// The report of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The seed of the faults; absent for a run without faults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The expectations that were not met.
    pub findings: Vec<Finding>,
    /// The broken promises of Callboard, as sentences. Each is a defect of Callboard.
    pub broken: Vec<String>,
    /// The reason for which the run was held to fewer expectations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excuse: Option<Excuse>,
    /// The end of the run.
    pub end: End,
}

impl Report {
    /// Returns whether every expectation was met.
    #[must_use]
    pub fn is_passed(&self) -> bool {
        self.findings.is_empty() && self.broken.is_empty()
    }
}

/// The report of many runs, each with the faults of its seed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Chaos {
    /// The number of runs.
    pub seeds: u64,
    /// The number of runs that the faults decided, so that they were held to fewer expectations.
    pub excused: u64,
    /// The number of runs with findings.
    pub failures: u64,
    /// The failed runs with the lowest seeds.
    pub failed: Vec<Report>,
    /// The faults and other events of all runs, counted by name.
    pub counts: BTreeMap<&'static str, u64>,
}

/// Runs a case once: without faults, or with those of a seed.
#[must_use]
pub fn run(case: &Case, seed: Option<u64>) -> Report {
    report(case, seed, &stage::play(case, seed, false))
}

/// Runs a case once, and returns the report and the events of its world, one a line. Long lines are cut.
#[must_use]
pub fn trace(case: &Case, seed: Option<u64>) -> (Report, Vec<String>) {
    let played = stage::play(case, seed, true);
    let line = |line: &crate::story::Line| {
        let whole = format!("{:>10.3}  {:<12} {}", line.at.as_secs_f64(), line.who, line.what);
        match whole.char_indices().nth(LINE_CHARS) {
            Some((end, _)) => format!("{}…", whole.split_at(end).0),
            None => whole,
        }
    };
    (report(case, seed, &played), played.story.iter().map(line).collect())
}

fn report(case: &Case, seed: Option<u64>, played: &Played) -> Report {
    let evidence = played.evidence.as_ref();
    let (findings, excuse) = expect::judge(case, played, seed.is_some());
    Report {
        seed,
        findings,
        broken: played.broken.clone(),
        excuse,
        end: evidence.map(|evidence| expect::end(case, evidence)).unwrap_or_default(),
    }
}

/// Runs a case with the faults of each seed, over `threads` threads.
///
/// # Panics
/// If a thread of the operating system cannot be started.
#[must_use]
pub fn chaos(case: &Case, seeds: &RangeInclusive<u64>, threads: usize) -> Chaos {
    let (next, total) = (AtomicU64::new(0), Mutex::new(Chaos::default()));
    let last = seeds.end().saturating_sub(*seeds.start());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n > last {
                        return;
                    }
                    let seed = seeds.start().saturating_add(n);
                    let played = stage::play(case, Some(seed), false);
                    let report = report(case, Some(seed), &played);
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    total.add(report, &played);
                }
            });
        }
    });
    let mut chaos = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    chaos.failed.sort_by_key(|report| report.seed);
    chaos.failed.truncate(FAILED_MAX);
    chaos
}

impl Chaos {
    fn add(&mut self, report: Report, played: &Played) {
        self.seeds += 1;
        self.excused += u64::from(report.excuse.is_some());
        for (what, times) in &played.counts {
            *self.counts.entry(what).or_default() += times;
        }
        if !report.is_passed() {
            self.failures += 1;
            self.failed.push(report);
            self.failed.sort_by_key(|report| report.seed);
            self.failed.truncate(FAILED_MAX);
        }
    }
}
