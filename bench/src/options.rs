//! The command line: the scenarios, and their sizes.

use std::{path::PathBuf, time::Duration};

use clap::{Parser, ValueEnum};

use crate::{
    broker::Keeping,
    company::{Roles, Setup},
    workload::Workload,
};

/// The default arguments: every peer with a flush of every write, and with the flushing of NATS's
/// default.
const PEERS: [&str; 2] =
    ["all --fsync on --scenarios A,B,NA,NB", "all --fsync off --scenarios A,B,C,D,NA,NB"];

/// Measures Callboard on separate nats-servers, with supervisors and workers in separate processes.
#[derive(Debug, Clone, Parser)]
#[command(name = "callboard-bench")]
pub(crate) struct Options {
    /// Scenarios [default: a, b, c, d, e, n and w].
    #[arg(value_enum)]
    scenarios: Vec<Scenario>,
    /// nats-server program; repeatable: a and b run on each, the others on the first.
    #[arg(long = "server", value_name = "PROGRAM")]
    pub(crate) servers: Vec<PathBuf>,
    /// Durability of writes in NATS, for a, b and the graph of n.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "default,always,r3")]
    pub(crate) keeping: Vec<Keeping>,
    /// Distribution of the roles, for a, b, c, d, g and the graph of n.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "apart,together")]
    pub(crate) roles: Vec<Roles>,
    /// Rounds of each figure.
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Seconds of each round of a, e and n.
    #[arg(long, default_value_t = 6.0)]
    pub(crate) seconds: f64,
    /// Seconds under load before the first round.
    #[arg(long, default_value_t = 3.0)]
    pub(crate) warm_up: f64,
    /// Jobs in flight in a, e and n.
    #[arg(long, default_value_t = 200)]
    pub(crate) in_flight: usize,
    /// Jobs of each round of b, n and s, one at a time.
    #[arg(long, default_value_t = 200)]
    pub(crate) alone: usize,
    /// Jobs of c.
    #[arg(long, default_value_t = 20_000)]
    pub(crate) parked: usize,
    /// Jobs of c that are resumed, one at a time.
    #[arg(long, default_value_t = 500)]
    pub(crate) resumed: usize,
    /// Seconds before memory is read in c and n, so that work finishes and the broker frees its last blocks.
    #[arg(long, default_value_t = 30.0)]
    pub(crate) settle: f64,
    /// Jobs of d.
    #[arg(long, value_delimiter = ',', default_value = "2000,5000")]
    pub(crate) sleeping: Vec<usize>,
    /// Numbers of supervisors, and of workers, of e.
    #[arg(long, value_delimiter = ',', default_value = "1,2,4")]
    pub(crate) scale: Vec<usize>,
    /// Items of the map of n; a map may have 1,000.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) map_items: u32,
    /// Workflows of n that wait for an event.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) waiting: usize,
    /// Workflows of n that receive their event, one at a time.
    #[arg(long, default_value_t = 300)]
    pub(crate) woken: usize,
    /// Leaders that f kills, and supervisors that join and leave.
    #[arg(long, default_value_t = 20)]
    pub(crate) kills: usize,
    /// Ended jobs of l.
    #[arg(long, default_value_t = 100_000)]
    pub(crate) listed: usize,
    /// Watchers of w, and readers of h.
    #[arg(long, default_value_t = 1_000)]
    pub(crate) watchers: usize,
    /// Jobs of w and h that they watch.
    #[arg(long, default_value_t = 50)]
    pub(crate) watched: usize,
    /// Records of the long job of w and h. A job ends with 9,900.
    #[arg(long, default_value_t = 9_890)]
    pub(crate) records: usize,
    /// Watchers of the long job.
    #[arg(long, default_value_t = 20)]
    pub(crate) long_watchers: usize,
    /// Readers of h that take nothing.
    #[arg(long, default_value_t = 50)]
    pub(crate) silent: usize,
    /// Records a second of h.
    #[arg(long, value_delimiter = ',', default_value = "50,500")]
    pub(crate) rates: Vec<usize>,
    /// Ended jobs of the lists of h.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) http_listed: usize,
    /// Sampling ratios of traces, for t.
    #[arg(long, value_delimiter = ',', default_value = "0.1,1")]
    pub(crate) sampled: Vec<f64>,
    /// Steps of the plans of g; a plan may have 500.
    #[arg(long, value_delimiter = ',', default_value = "100,500")]
    pub(crate) steps: Vec<usize>,
    /// Jobs of each round of g, one at a time.
    #[arg(long, default_value_t = 3)]
    pub(crate) large: usize,
    /// Also measure each stage of a job, alone and under load.
    #[arg(long)]
    pub(crate) profile: bool,
    /// Write the tables as Markdown.
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Write all figures to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Program that measures comparable systems.
    #[arg(long, value_name = "PROGRAM", default_value = "bench/peers/run")]
    pub(crate) peers: PathBuf,
    /// Arguments of that program; repeatable, for several runs.
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true, default_values = PEERS)]
    pub(crate) peers_arguments: Vec<String>,
}

/// The scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// Throughput of diamonds, many in flight.
    A,
    /// Latency of diamonds, one at a time, and of every transition.
    B,
    /// Jobs that wait for a person: memory and resuming.
    C,
    /// Jobs in which every activity takes a second.
    D,
    /// Throughput with more supervisors and workers.
    E,
    /// Time until jobs continue after a leader of three nats-servers was killed.
    F,
    /// Latency while one of two processes with all roles is full of slow work.
    S,
    /// Throughput with telemetry and without.
    T,
    /// Large plans: the cost of a step by the size and shape of the plan.
    G,
    /// Many watchers: the cost of a record and of a watcher, and the opening of a long job.
    W,
    /// The gateway and the console: readers of streams, pages in a browser, lists.
    H,
    /// Lists by state and dead letters, with many ended jobs.
    L,
    /// Workflows: a graph with a loop, a branch and a parallel part; a map; many that wait.
    N,
    /// Limits of JetStream alone, without a and b.
    Raw,
    /// Comparable systems.
    Peers,
}

impl Options {
    /// Returns whether a scenario is to be measured.
    pub(crate) fn wants(&self, scenario: Scenario) -> bool {
        if self.scenarios.is_empty() {
            return match scenario {
                Scenario::A
                | Scenario::B
                | Scenario::C
                | Scenario::D
                | Scenario::E
                | Scenario::N
                | Scenario::W => true,
                Scenario::F
                | Scenario::G
                | Scenario::H
                | Scenario::T
                | Scenario::L
                | Scenario::S
                | Scenario::Raw
                | Scenario::Peers => false,
            };
        }
        self.scenarios.contains(&scenario)
    }

    /// Returns the nats-server programs. `None` stands for the one in the usual places.
    pub(crate) fn programs(&self) -> Vec<Option<PathBuf>> {
        if self.servers.is_empty() {
            return vec![None];
        }
        self.servers.iter().cloned().map(Some).collect()
    }

    /// Returns the setups of a workload on one broker, with every distribution of the roles.
    pub(crate) fn setups_on(&self, of: &Setup) -> Vec<Setup> {
        let setup = |roles: &Roles| Setup { roles: *roles, ..of.clone() };
        self.roles.iter().map(setup).collect()
    }

    /// Returns the setups of a workload: every durability with every distribution of the roles.
    pub(crate) fn setups(&self, program: Option<&PathBuf>, workload: Workload) -> Vec<Setup> {
        let on =
            |keeping: &Keeping| self.setups_on(&Setup::new(program.cloned(), *keeping, workload));
        self.keeping.iter().flat_map(on).collect()
    }

    /// Returns the lengths of the rounds under load.
    pub(crate) fn windows(&self) -> Vec<Duration> {
        vec![seconds(self.seconds); self.rounds]
    }

    /// Returns the wait before memory is read.
    pub(crate) fn settle(&self) -> Duration {
        seconds(self.settle)
    }

    /// Returns the length of the warm-up.
    pub(crate) fn warm_up(&self) -> Duration {
        seconds(self.warm_up)
    }
}

/// Converts seconds from the command line; zero when the number is negative or invalid.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn peers_are_measured_only_when_they_are_named() {
        let of = |args: &[&str]| Options::parse_from([&["bench"], args].concat());
        assert!(of(&[]).wants(Scenario::A) && !of(&[]).wants(Scenario::Peers));
        let some = of(&["b", "peers"]);
        assert!(some.wants(Scenario::Peers) && !some.wants(Scenario::A));
    }
}
