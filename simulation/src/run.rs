//! Runs seeds: one twice, to see that it replays; many over all processors.

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
    plant::Plant,
    verdict,
    world::{self, Outcome},
};

/// Characters of a line that are shown where two runs part.
const LINE_CHARS: usize = 400;

/// What came of a seed.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The seed.
    pub seed: u64,
    /// What is wrong; empty when all is well.
    pub wrong: Vec<String>,
    /// How long its world took, in its own time.
    pub time: Duration,
    /// What happened in it how often.
    pub counts: BTreeMap<&'static str, u64>,
}

/// What came of many seeds.
#[derive(Debug, Clone, Default)]
pub struct Sweep {
    /// How many were run.
    pub seeds: u64,
    /// Those in which something is wrong, in order.
    pub failed: Vec<Judged>,
    /// How long their worlds took together, in their own time.
    pub time: Duration,
    /// What happened how often, over all worlds.
    pub counts: BTreeMap<&'static str, u64>,
}

/// Runs a world in a runtime of its own, from a generator of its own.
fn once(seed: u64, plant: Option<Plant>, with_story: bool) -> Outcome {
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O needs nothing from the machine");
    runtime.block_on(world::run(seed, plant, with_story))
}

/// Runs a seed twice and tells what is wrong with it: also when the second run was another one.
#[must_use]
pub fn judge(seed: u64, plant: Option<Plant>) -> Judged {
    let first = once(seed, plant, false);
    let mut wrong = first.wrong.clone();
    // A developer replays one that fails.
    if wrong.is_empty() {
        let second = once(seed, plant, false);
        if verdict::hash(&first.transcript) != verdict::hash(&second.transcript) {
            wrong.push(format!("it does not replay: {}", differ(&first, &second)));
        }
    }
    Judged { seed, wrong, time: first.time, counts: first.counts }
}

/// Where two runs part.
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

/// The story of a seed, for a person, and what is wrong at its end.
#[must_use]
pub fn story(seed: u64, plant: Option<Plant>) -> String {
    let outcome = once(seed, plant, true);
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

/// Runs `seeds` seeds from `from` on, over `threads` threads; `progress` is called now and then with
/// what is known so far. Stops early after `failures_max` seeds in which something is wrong.
#[must_use]
pub fn sweep(
    from: u64,
    seeds: u64,
    threads: usize,
    failures_max: usize,
    plant: Option<Plant>,
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
                    let judged = judge(from.saturating_add(n), plant);
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
