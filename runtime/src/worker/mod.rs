//! The loop that every worker role shares: take a command, carry it out, store what came of it,
//! and only then acknowledge.
//!
//! What it guarantees to a [`Work`]:
//!
//! * A command is acknowledged after its result is stored, never before. A process that dies at any
//!   point has its commands handed to another worker.
//! * Each command runs in an actor of its own: a panic ends that one task, is reported as a fault
//!   that may pass, and touches no other.
//! * While a task runs the command is kept alive three times per [`broker::log::Log::ack_wait`]. A
//!   task that blocks its thread stops being kept alive, and is handed to another worker.
//! * A task whose job has ended is asked to stop, and dropped when it does not stop in time.
//!
//! What it does not guarantee: that a task runs once. A worker that is thought dead may still be
//! running; results are fenced by attempt when they are folded, and tools with effects that must
//! not repeat have a protocol of their own.

mod feed;
mod gauge;
mod observe;
mod options;
mod pool;
mod report;
mod speaker;
mod task;
mod work;

pub(crate) use self::observe::count_from_zero;
pub use self::{
    gauge::Gauge,
    observe::{dead_letter, redelivered},
    options::{PoolArgs, PoolOptions},
    pool::{PoolActor, PoolMsg},
    report::{broken, lost},
    speaker::Speaker,
    work::{LiveSink, Task, Work},
};

#[cfg(test)]
mod tests;
