//! A deterministic simulation of the whole of Callboard in one thread, with faults of every kind.
//!
//! A seed builds a world: supervisors and workers with their real actors on the in-memory broker,
//! on a clock that moves only when every task waits; jobs, people, and faults. At the end all
//! faults stop, and the logs, the effects of tools and the replies to people must keep the
//! documented claims. A seed replays exactly. `docs/internals/simulation.md` explains how to read a
//! finding.
//!
//! The simulation replaces only the parts outside Callboard: models, tools, people and the broker.
//! All other parts are the real ones.

mod agents;
mod bound;
pub mod cases;
mod chance;
mod disruption;
mod door_client;
mod environment;
mod fault_rates;
mod flaky_model;
mod ledger;
mod link;
mod mutation;
mod operator_actions;
mod outage;
mod people;
mod process;
mod process_slot;
mod props;
mod quiescence;
mod run;
mod story;
mod sub_agents;
#[cfg(test)]
mod tests;
mod tools;
mod verdict;
mod wire;
mod workflows;
mod workload;
mod world;

pub use self::{
    mutation::Mutation,
    outage::{Outlasted, outlast},
    run::{Judged, Sweep, judge, story, sweep},
};
