//! The supervisor's actors on the log in memory.

mod actors;
pub(crate) mod company;
mod counting;
mod forging;
mod logging;
