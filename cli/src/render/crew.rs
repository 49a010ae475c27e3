//! Rendering of the running processes.

use jiff::Timestamp;
use proto::{
    door::Crew,
    escape,
    wire::{PoolLoad, Presence},
};

use crate::{
    render::table::{Piece, plain, table},
    style::{Style, Tone},
    words::Text,
};

/// Renders the list, by id.
pub(crate) fn list(style: &Style, crew: &Crew) -> String {
    let rows = crew.workers.iter().map(|worker| row(style, worker)).collect();
    table(style, Text::CrewHeads, rows, Text::NoCrew)
}

fn row(style: &Style, worker: &Presence) -> Vec<Piece> {
    let roles = worker.roles.join(",");
    let shards: Vec<String> = worker.shards.iter().map(ToString::to_string).collect();
    let started =
        i64::try_from(worker.started_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    let busy = if worker.draining {
        (Tone::Wait, "draining".to_owned())
    } else {
        plain(busy(&worker.pools))
    };
    vec![
        plain(worker.worker.as_str()),
        plain(started.map(|at| style.time(at)).unwrap_or_default()),
        plain(format!("{}:{}", escape::line(&worker.host), worker.pid)),
        plain(escape::line(&worker.version)),
        plain(shards.join(",")),
        busy,
        plain(escape::line(&roles)),
    ]
}

fn busy(pools: &[PoolLoad]) -> String {
    let loads: Vec<String> = pools
        .iter()
        .map(|pool| format!("{} {}/{}", escape::line(&pool.pool), pool.in_flight, pool.capacity))
        .collect();
    loads.join(" ")
}
