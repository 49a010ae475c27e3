//! First figures: how many four-step diamond jobs a second, and how many milliseconds for one alone,
//! with an instant model and instant tools, on a real nats-server, with the supervisor and the
//! workers as processes of their own.
//!
//! Build `callboard` first: `cargo build --release`. Then
//! `cargo run --release -p callboard-bench -- diamond`.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod company;
mod diamond;
mod usage;

use std::process::ExitCode;

use clap::Parser;

/// Measures Callboard on a nats-server of its own.
#[derive(Debug, Parser)]
enum Bench {
    /// Four-step diamonds: throughput with many in flight, and latency one at a time.
    Diamond(diamond::Options),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Bench::Diamond(options) = Bench::parse();
    match diamond::run(options).await {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("the benchmark failed: {error}");
            ExitCode::FAILURE
        }
    }
}
