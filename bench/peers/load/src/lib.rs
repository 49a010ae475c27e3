//! The workload of every peer of the comparison, and the load on it. `bench/peers/harness` has the
//! same for peers in other languages. The code that peers share is here and is independent of any
//! peer, so that no peer gets an easier job.

mod driver;
mod latency;
mod work;

pub use driver::{Peer, drive};
pub use work::{Job, PlannedStep, ROUNDS, StepInput, finished, node, plan, ready, step};
