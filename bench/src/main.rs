//! A benchmark of Callboard: throughput, latency, parked jobs, slow activities, workflows, failover,
//! watchers and scale-out, on real nats-servers, with supervisors and workers as processes of their own.
//! Beside it, the limit of JetStream alone. docs/benchmarks.md explains the figures.
//!
//! The benchmark measures the software that users run: `callboard serve` with its defaults, through
//! the front door.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

mod broker;
mod busy;
mod company;
mod diamond;
mod ends;
mod failover;
mod figures;
mod graphs;
mod http;
mod large;
mod listing;
mod load;
mod logs;
mod machine;
mod options;
mod parked;
mod peers;
mod raw;
mod report;
mod run;
mod sleeping;
mod stages;
mod table;
mod tables;
mod telemetry;
mod usage;
mod watching;
mod workload;

use std::process::ExitCode;

use clap::Parser;

use self::{options::Options, report::Report, table::Style};

/// The reason why a measurement failed, for the user.
pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    // Fails only when another provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut report = Report::new().await;
    let style = if options.markdown { Style::Markdown } else { Style::Text };
    println!("{}", report.head(style));
    let measured = run::all(&options, &mut report, |table| {
        println!("{}", table.write(style));
    });
    let measured = Box::pin(measured).await;
    if let Some(file) = &options.json
        && let Err(error) = report.save(file)
    {
        eprintln!("{}: {error}", file.display());
        return ExitCode::FAILURE;
    }
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the benchmark failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Reports progress to the user.
pub(crate) fn say(what: &str) {
    eprintln!("bench: {what}");
}
