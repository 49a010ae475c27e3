//! The workload that every peer of the comparison runs, and the load that is put on it. Peers in
//! other languages have the same in `bench/peers/harness`. It must know no peer: what is common is
//! here so that no peer gets an easier job than another.

mod driver;
mod latency;
mod work;

pub use driver::{Peer, drive};
pub use work::{Job, PlannedStep, StepInput, finished, plan, ready, step};
