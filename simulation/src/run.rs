//! The runner of seeds: one seed twice, to check that it replays, or many seeds over all processors,
//! some of them twice.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use crate::{
    mutation::Mutation,
    verdict,
    world::{self, Outcome},
};

/// Bound of a transcript line in a message about two different runs, in characters.
const LINE_CHARS: usize = 400;

/// One of this many seeds of a sweep is run twice, to check that it replays. A world that does not replay
/// is a fault of the simulation, which other seeds show as well, and a first run finds more in the same time.
const REPLAYED_OF: u64 = 4;

/// The result of a seed.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The number of the seed.
    pub seed: u64,
    /// The violations; empty when the world kept every claim.
    pub wrong: Vec<String>,
    /// The duration of the world on its own clock.
    pub time: Duration,
    /// The events of the world, counted by name.
    pub counts: BTreeMap<&'static str, u64>,
}

/// The results of many seeds.
#[derive(Debug, Clone, Default)]
pub struct Sweep {
    /// The number of seeds that were run.
    pub seeds: u64,
    /// The seeds with violations, in ascending order.
    pub failed: Vec<Judged>,
    /// The sum of the worlds' durations, on their own clocks.
    pub time: Duration,
    /// The events of all worlds, counted by name.
    pub counts: BTreeMap<&'static str, u64>,
}

/// Runs a world in a runtime of its own, with a seeded generator for its thread.
fn once(seed: u64, mutation: Option<Mutation>, with_story: bool) -> Outcome {
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing from the machine");
    runtime.block_on(world::run(seed, mutation, with_story))
}

/// Runs a seed once, and returns its violations.
fn judge_once(seed: u64, mutation: Option<Mutation>) -> Judged {
    let Outcome { wrong, time, counts, .. } = once(seed, mutation, false);
    Judged { seed, wrong, time, counts }
}

/// Runs a seed twice, and returns its violations. A different second run is a violation too.
#[must_use]
pub fn judge(seed: u64, mutation: Option<Mutation>) -> Judged {
    let first = once(seed, mutation, false);
    let mut wrong = first.wrong.clone();
    // A failed seed is replayed by a developer, so the second run is skipped.
    if wrong.is_empty() {
        let second = once(seed, mutation, false);
        if verdict::hash(&first.transcript) != verdict::hash(&second.transcript) {
            wrong.push(format!("it does not replay: {}", differ(&first, &second)));
        }
    }
    Judged { seed, wrong, time: first.time, counts: first.counts }
}

/// Describes the first difference between two runs.
fn differ(first: &Outcome, second: &Outcome) -> String {
    let (mut one, mut other) = (first.transcript.iter(), second.transcript.iter());
    loop {
        match (one.next(), other.next()) {
            (None, None) => return "the same lines, and another hash".to_owned(),
            (a, b) if a == b => {}
            (a, b) => {
                let short = |line: Option<&String>| {
                    line.map(|line| line.chars().take(LINE_CHARS).collect::<String>())
                };
                return format!("first {:?}, then {:?}", short(a), short(b));
            }
        }
    }
}

/// Returns the story of a seed as text, with the violations at its end.
#[must_use]
pub fn story(seed: u64, mutation: Option<Mutation>) -> String {
    let outcome = once(seed, mutation, true);
    let mut text = String::new();
    for line in &outcome.story {
        let _ = writeln!(text, "{:>10.3}  {:<8} {}", line.at.as_secs_f64(), line.who, line.what);
    }
    let hash = verdict::hash(&outcome.transcript);
    let _ = writeln!(text, "hash {hash}");
    let _ = writeln!(text, "seed {seed}: {:?}, {:?}", outcome.time, outcome.counts);
    for what in &outcome.wrong {
        let _ = writeln!(text, "WRONG: {what}");
    }
    text
}

/// Runs `seeds` seeds, starting at `from`, over `threads` threads. Calls `progress` after each seed
/// with the results so far. Stops early after `failures_max` seeds with violations.
#[must_use]
pub fn sweep(
    from: u64,
    seeds: u64,
    threads: usize,
    failures_max: usize,
    mutation: Option<Mutation>,
    progress: impl Fn(&Sweep) + Sync,
) -> Sweep {
    let (next, enough) = (AtomicU64::new(0), AtomicBool::new(false));
    let total = Mutex::new(Sweep::default());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= seeds || enough.load(Ordering::Relaxed) {
                        return;
                    }
                    let seed = from.saturating_add(n);
                    let judged = match seed % REPLAYED_OF {
                        0 => judge(seed, mutation),
                        _ => judge_once(seed, mutation),
                    };
                    let mut total = total.lock().unwrap_or_else(PoisonError::into_inner);
                    total.seeds += 1;
                    total.time += judged.time;
                    for (what, times) in &judged.counts {
                        *total.counts.entry(what).or_default() += times;
                    }
                    if !judged.wrong.is_empty() {
                        total.failed.push(judged);
                        if total.failed.len() >= failures_max {
                            enough.store(true, Ordering::Relaxed);
                        }
                    }
                    progress(&total);
                }
            });
        }
    });
    let mut total = total.into_inner().unwrap_or_else(PoisonError::into_inner);
    total.failed.sort_by_key(|judged| judged.seed);
    total
}
