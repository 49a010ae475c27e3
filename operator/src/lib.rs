//! Maintenance of an installation: checking every log, and removing what is no longer needed.
//!
//! The front door and the command line use it as a library. It reads logs through the machine and
//! changes nothing but what it is told to remove.

pub mod fsck;
pub mod purge;
