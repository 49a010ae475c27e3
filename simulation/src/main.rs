//! The command that runs seeds of the simulation and lists those with violations.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints what it finds")]

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use callboard_simulation::{Mutation, Sweep, story, sweep};
use clap::{Parser, ValueEnum};

/// Runs the whole of Callboard from seeds, with everything that can go wrong.
#[derive(Debug, Parser)]
struct Options {
    /// How many seeds.
    #[arg(long, default_value_t = 2_000)]
    seeds: u64,
    /// The first one.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Only this seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Print what happens in the world of `--seed`.
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Threads; as many as there are processors when absent.
    #[arg(long)]
    threads: Option<usize>,
    /// Stop after so many seeds in which something is wrong.
    #[arg(long, default_value_t = 20)]
    failures: usize,
    /// A bug to plant, to see that it is found.
    #[arg(long)]
    plant: Option<Mutation>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let (Some(seed), true) = (options.seed, options.trace) {
        print!("{}", story(seed, options.plant));
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
    let swept = sweep(from, seeds, threads, options.failures, options.plant, progress);
    let seconds = begin.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let speed = swept.seeds as f64 / seconds;
    eprintln!();
    println!(
        "{} seeds, each twice, in {seconds:.1} s ({speed:.1} a second): {:.0} hours of their own time; {} failed",
        swept.seeds,
        swept.time.as_secs_f64() / 3600.0,
        swept.failed.len(),
    );
    let counts = swept.counts.iter().map(|(what, times)| format!("{times} {what}"));
    println!("{}", counts.collect::<Vec<_>>().join(", "));
    for failed in &swept.failed {
        println!("seed {}:", failed.seed);
        failed.wrong.iter().for_each(|what| println!("  {what}"));
        let plant = options.plant.and_then(|plant| plant.to_possible_value());
        let plant = plant.map(|plant| format!(" --plant {}", plant.get_name()));
        println!(
            "  cargo run --profile simulation -p callboard-simulation -- --seed {} --trace{}",
            failed.seed,
            plant.unwrap_or_default(),
        );
    }
    if swept.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
