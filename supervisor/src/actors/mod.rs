//! The actors that run the job machine: who owns a shard, what comes in, and what is decided.
//!
//! ```text
//! SupervisorActor   one per process: starts a ShardActor for every shard it should own
//!   └ ShardActor    one per owned shard: takes its facts in, hands them to
//!       └ JobActor  one per job that moves: folds, decides, stores; gone when the job rests
//! ```
//!
//! Three mechanisms, each with one duty. Rendezvous hashing says who *should* own a shard; the
//! shard's feed of facts says who *may* be handed them; the compare-and-set on a job's decisions
//! says who *did* decide. Only the last one is ever relied upon.

mod folded;
mod inbox;
mod job;
mod observe;
mod options;
mod ownership;
#[cfg(test)]
mod proof;
mod registered;
mod shard;
mod supervisor;
mod sweep;
mod tell;
#[cfg(test)]
mod tests;

pub use self::{
    options::SupervisorOptions,
    ownership::owner_of,
    supervisor::{ROLE, SupervisorActor, SupervisorArgs, SupervisorMsg},
};
