//! The actors that run the job machine: ownership of shards, their facts, and the activations of jobs.
//!
//! ```text
//! SupervisorActor   one per process: starts a ShardActor for every shard it should own
//!   └ ShardActor    one per owned shard: receives its facts, passes them to
//!       └ JobActor  one per job that moves: drives its activation; gone when the job rests
//! ```
//!
//! Three mechanisms, each with one duty. Rendezvous hashing says which supervisor *should* own a
//! shard; the shard's feed of facts says which one *may* receive them; the compare-and-set on a job's
//! decisions says which one *did* decide. Only the last one is ever relied upon.

mod inbox;
mod job;
mod observe;
mod options;
mod ownership;
mod registered;
mod shard;
mod supervisor;
mod sweep;
#[cfg(test)]
mod tests;

pub use self::{
    options::SupervisorOptions,
    ownership::owner_of,
    supervisor::{ROLE, SupervisorActor, SupervisorArgs, SupervisorMsg},
};
