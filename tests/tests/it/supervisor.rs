//! Tests of the supervisor's actors on the in-memory broker.

mod actors;
pub(crate) mod company;
mod counting;
mod forging;
mod local;
mod logging;
mod pulses;
