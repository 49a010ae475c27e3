//! The actors of the supervisor role: ownership of shards, delivery of facts, and activation of
//! jobs.
//!
//! ```text
//! SupervisorActor   one per process: starts a ShardActor for every shard it should own
//!   └ ShardActor    one per owned shard: receives its facts, passes them to
//!       └ JobActor  one per job that moves: drives its activation; gone when the job rests for long
//! ```
//!
//! Three mechanisms have one duty each. Rendezvous hashing says which supervisor *should* own a
//! shard; the shard's feed of facts says which one *may* receive them; the compare-and-set on a
//! job's decisions says which one *did* decide. Correctness depends on the last one alone.

mod inbox;
mod job;
mod observe;
mod options;
mod ownership;
mod pulse;
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
