//! The comparison with the systems that users might choose instead. `bench/peers/run` measures them
//! in the same run, and the table shows the ratio to our figures. A peer that flushes every write
//! is compared with our figures on a nats-server that does the same, and a peer on three servers with
//! ours on three.

use std::{collections::HashMap, path::Path, process::Stdio};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};

use crate::{
    Failed,
    broker::Keeping,
    company::Roles,
    figures::number,
    graphs::Measured,
    report::{Diamonds, Report},
    say,
    sleeping::Sleeping,
    table::Table,
};

/// One line of the program's output: one peer in one scenario.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Peer {
    /// The name of the peer and its variant.
    pub(crate) peer: String,
    pub(crate) version: String,
    /// The scenario: A, B, C, D, or NA and NB for the throughput and the latency of the graph of N.
    pub(crate) scenario: String,
    /// The durability that the peer promises.
    pub(crate) durability: String,
    /// `on` if the peer flushes every write, otherwise `off`.
    #[serde(default)]
    pub(crate) fsync: String,
    /// The number of servers that keep each record.
    #[serde(default = "one")]
    pub(crate) replicas: u8,
    /// The throughput, in A and NA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) jobs_per_s: Option<f64>,
    /// The median latency, in B, C and NB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) p50_ms: Option<f64>,
    /// The 99th percentile of the latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) p99_ms: Option<f64>,
    /// The total time of all jobs, in D.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) makespan_s: Option<f64>,
    /// CPU time per job without the submitter's.
    pub(crate) cpu_ms_per_job: f64,
    /// Memory of the peer's servers and workers.
    pub(crate) memory_mb: f64,
    /// The number of measured jobs.
    pub(crate) n: u64,
    /// Cores that other processes used during the measurement.
    #[serde(default)]
    pub(crate) other_cores: f64,
    /// Further fields of the line, copied to the report.
    #[serde(flatten)]
    more: HashMap<String, serde_json::Value>,
}

fn one() -> u8 {
    1
}

/// Returns our durability that compares with a peer's; `None` when we are not measured with it.
fn keeping(peer: &Peer) -> Option<Keeping> {
    match (peer.replicas, peer.fsync.as_str()) {
        (1, "on") => Some(Keeping::Always),
        (1, _) => Some(Keeping::Default),
        (3, "off") => Some(Keeping::R3),
        _ => None,
    }
}

/// Runs the program. Its messages go to this process's standard error.
pub(crate) async fn measure(program: &Path, arguments: &str) -> Result<Vec<Peer>, Failed> {
    say(&format!("peers: {} {arguments}", program.display()));
    let mut child = Command::new(program)
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let output = child.stdout.take().ok_or("the peers' output cannot be read")?;
    let (mut lines, mut peers) = (BufReader::new(output).lines(), Vec::new());
    while let Some(line) = lines.next_line().await? {
        let peer = serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"))?;
        peers.push(peer);
    }
    let status = child.wait().await?;
    if !status.success() {
        // The figures of the other peers are still valid.
        say(&format!("not every peer could be measured: {status}"));
    }
    Ok(peers)
}

/// Returns our figure for the same scenario and durability, and its ratio to the peer's; above 1
/// ours is better.
fn ours(peer: &Peer, report: &Report, roles: Roles) -> Option<(f64, f64)> {
    let keeping = keeping(peer)?;
    let is_like = |d: &&Diamonds| d.setup.keeping == keeping && d.setup.roles == roles;
    let diamonds = || report.diamonds.iter().find(is_like);
    let is_like = |graph: &&Measured| graph.keeping == keeping && graph.roles == roles;
    let graph = || report.graphs.as_ref()?.graphs.iter().find(is_like);
    match peer.scenario.as_str() {
        "A" => {
            let ours = diamonds()?.throughput.as_ref()?.jobs_per_s.median;
            Some((ours, ours / peer.jobs_per_s?))
        }
        "B" => {
            let ours = diamonds()?.latency.as_ref()?.p50_ms.median;
            Some((ours, peer.p50_ms? / ours))
        }
        "C" if keeping == Keeping::Default => {
            let ours =
                report.parked.iter().find(|parked| parked.roles == roles)?.done_ms.p50.median;
            Some((ours, peer.p50_ms? / ours))
        }
        "D" if keeping == Keeping::Default => {
            let same = |s: &&Sleeping| s.n as u64 == peer.n && s.roles == roles;
            let ours = report.sleeping.iter().find(same)?.makespan_s.median;
            Some((ours, peer.makespan_s? / ours))
        }
        "NA" => {
            let ours = graph()?.throughput.jobs_per_s.median;
            Some((ours, ours / peer.jobs_per_s?))
        }
        "NB" => {
            let ours = graph()?.latency.p50_ms.median;
            Some((ours, peer.p50_ms? / ours))
        }
        _ => None,
    }
}

/// Builds the table of all peers.
pub(crate) fn table(report: &Report) -> Table {
    let columns = [
        "peer",
        "version",
        "",
        "durability",
        "theirs",
        "ours, apart",
        "ours is",
        "ours, all roles",
        "ours is",
        "CPU ms/job",
        "MB",
        "others",
        "n",
    ];
    let mut table = Table::new("Peers, in the same run", &columns);
    for peer in &report.peers {
        let (value, unit) = match (peer.jobs_per_s, peer.makespan_s, peer.p50_ms) {
            (Some(rate), _, _) => (rate, "jobs/s"),
            (None, Some(makespan), _) => (makespan, "s"),
            (None, None, Some(p50)) => (p50, "ms"),
            (None, None, None) => continue,
        };
        let ours = [Roles::Apart, Roles::Together].map(|roles| {
            let found = ours(peer, report, roles);
            found.map_or(["-".to_owned(), "-".to_owned()], |(ours, ratio)| {
                [number(ours), format!("{ratio:.2} ×")]
            })
        });
        let p99 = peer.p99_ms.map_or(String::new(), |p99| format!(" / {}", number(p99)));
        let mut row = vec![
            peer.peer.clone(),
            peer.version.clone(),
            peer.scenario.clone(),
            format!("{} (fsync {})", peer.durability, peer.fsync),
            format!("{}{p99} {unit}", number(value)),
        ];
        row.extend(ours.into_iter().flatten());
        row.extend([peer.cpu_ms_per_job, peer.memory_mb, peer.other_cores].map(number));
        row.push(peer.n.to_string());
        table.rows.push(row);
    }
    table.notes.push(
        "A: jobs/s; B: p50 / p99 ms; C: p50 / p99 ms from an answer to the end of its job; D: seconds; \
         NA and NB: the graph of N, as in A and B. \
         \"ours is\": how many times better ours is, at the same flushing: fsync on beside `sync always` \
         (C and D of ours are measured without), fsync off beside NATS's default, three servers beside \
         three"
            .to_owned(),
    );
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_peers_is_understood() {
        let line = r#"{"peer": "dbos", "version": "0.5.0", "scenario": "A", "durability": "Postgres",
            "fsync": "on", "jobs_per_s": 472.0, "cpu_ms_per_job": 4.0, "memory_mb": 265, "n": 9000,
            "in_flight": 200, "seconds": 20.0}"#;
        let peer: Peer = serde_json::from_str(line).unwrap();
        assert_eq!((peer.jobs_per_s, peer.p50_ms, peer.n), (Some(472.0), None, 9000));
        assert_eq!(peer.more["in_flight"], 200);
        assert_eq!((peer.replicas, keeping(&peer)), (1, Some(Keeping::Always)));
    }

    #[test]
    fn a_peer_on_three_servers_is_compared_with_ours_on_three() {
        let with = |replicas, fsync: &str| {
            let line = serde_json::json!({"peer": "p", "version": "1", "scenario": "A", "n": 1,
                "durability": "", "fsync": fsync, "replicas": replicas, "cpu_ms_per_job": 1.0,
                "memory_mb": 1.0});
            keeping(&serde_json::from_value(line).unwrap())
        };
        assert_eq!([with(3, "off"), with(3, "on")], [Some(Keeping::R3), None]);
        assert_eq!(
            [with(1, "off"), with(1, "on")],
            [Some(Keeping::Default), Some(Keeping::Always)]
        );
    }
}
