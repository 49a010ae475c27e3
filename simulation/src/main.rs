//! The command that runs seeds of the simulation and lists those with violations.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints what it finds")]

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use callboard_simulation::{Mutation, Sweep, story, sweep};
use clap::{Parser, ValueEnum};

/// Simulates the whole of Callboard from seeds, with faults of every kind
#[derive(Debug, Parser)]
struct Options {
    /// Number of seeds
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Run only this seed
    #[arg(long)]
    seed: Option<u64>,
    /// Print the events of the world of --seed
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Number of threads [default: one per processor]
    #[arg(long)]
    threads: Option<usize>,
    /// Stop after this many seeds with violations
    #[arg(long, default_value_t = 20)]
    failures: usize,
    /// Plant a bug, to show that the simulation finds it
    #[arg(long = "plant", value_name = "BUG")]
    mutation: Option<Mutation>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let (Some(seed), true) = (options.seed, options.trace) {
        print!("{}", story(seed, options.mutation));
        return ExitCode::SUCCESS;
    }
    let (from, seeds) = options.seed.map_or((options.from, options.seeds), |seed| (seed, 1));
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = options.threads.unwrap_or(processors);
    let (begin, said) = (Instant::now(), AtomicU64::new(0));
    let progress = |so_far: &Sweep| {
        let seconds = begin.elapsed().as_secs();
        if said.swap(seconds, Ordering::Relaxed) != seconds {
            eprint!("\r{} of {seeds} seeds, {} failed", so_far.seeds, so_far.failed.len());
        }
    };
    let swept = sweep(from, seeds, threads, options.failures, options.mutation, progress);
    let seconds = begin.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "an approximate figure")]
    let speed = swept.seeds as f64 / seconds;
    eprintln!();
    println!(
        "{} seeds in {seconds:.1} s ({speed:.1} a second): {:.0} hours of simulated time; {} failed",
        swept.seeds,
        swept.time.as_secs_f64() / 3600.0,
        swept.failed.len(),
    );
    let counts = swept.counts.iter().map(|(what, times)| format!("{times} {what}"));
    println!("{}", counts.collect::<Vec<_>>().join(", "));
    for failed in &swept.failed {
        println!("seed {}:", failed.seed);
        failed.wrong.iter().for_each(|what| println!("  {what}"));
        let mutation = options.mutation.and_then(|mutation| mutation.to_possible_value());
        let mutation = mutation.map(|mutation| format!(" --plant {}", mutation.get_name()));
        println!(
            "  cargo run --profile simulation -p callboard-simulation -- --seed {} --trace{}",
            failed.seed,
            mutation.unwrap_or_default(),
        );
    }
    if swept.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
