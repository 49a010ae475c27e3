//! Maintenance of an installation: consistency checks of every log, and the removal of old jobs.
//!
//! A library for the front door and the command line. It reads logs through the machine and changes
//! only the jobs and values that its caller names for removal.

pub mod fsck;
pub mod purge;
