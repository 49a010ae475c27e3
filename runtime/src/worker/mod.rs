//! The worker loop that every role shares: it takes a command, has an actor of the role carry it
//! out, stores the result, and only then acknowledges the command.
//!
//! Guarantees to a [`Role`]:
//!
//! * A decision is parsed into the role's typed [`Command`] once, before the role sees it.
//! * A command is acknowledged after its result is stored, never before. The commands of a process
//!   that dies at any point are delivered to another worker.
//! * Each command has an actor of its own, which the pool supervises: a panic ends that one task, is
//!   reported as a fault that may pass, and touches no other.
//! * While a task runs the command is kept alive three times per [`broker::log::Queues::ack_wait`]. A
//!   task that blocks its thread stops being kept alive, and its command is delivered to another
//!   worker.
//! * A task whose job has ended is canceled, and dropped when it does not stop in time.
//!
//! Not guaranteed: that a task runs once. A worker that appears dead may still be running. The fold
//! fences results by attempt, and tools whose effects must not repeat have a protocol of their own.

mod assignment;
mod feed;
mod gauge;
mod job_log;
mod lease;
mod live;
mod local;
mod observe;
mod options;
mod pool;
mod role;
mod settings;

pub(crate) use self::observe::count_from_zero;
pub use self::settings::Workers;
pub use self::{
    assignment::Assignment,
    gauge::Gauge,
    job_log::{read_first, read_log},
    live::{LiveChannel, LiveSink},
    local::{LocalCommand, LocalPools, LocalResult},
    observe::{dead_letter, redelivered},
    options::{PoolArgs, PoolOptions},
    pool::{PoolActor, PoolMsg},
    role::{Command, Failure, Role, Task},
};
#[doc(hidden)]
pub use proto::fact::Fact;

#[cfg(test)]
mod tests;
