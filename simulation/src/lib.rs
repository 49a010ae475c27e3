//! The whole of Callboard in one thread, and everything that can go wrong, from a seed.
//!
//! A seed builds a world: supervisors and workers with their real actors on the broker in memory, on
//! a clock that moves only when everybody waits; jobs, people, and troubles. At the end all troubles
//! stop, and the logs, the effects of tools and what people were told must be as promised. A seed
//! replays exactly. `docs/internals/simulation.md` says how to read what it finds.
//!
//! It must use nothing of its own where there is a real part, except for what lies outside Callboard:
//! models, tools, people and the broker.

mod agents;
mod bound;
mod chance;
mod door_client;
mod environment;
mod fault_rates;
mod flaky_model;
mod ledger;
mod link;
mod operator_actions;
mod people;
mod plant;
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
mod trouble;
mod verdict;
mod wire;
mod workload;
mod world;

pub use self::{
    plant::Plant,
    run::{Judged, Sweep, judge, story, sweep},
};
