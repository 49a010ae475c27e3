//! Tests of the job machine, on a log that is only a vector.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the one decision it is about")]

mod asking;
mod chance;
mod dispatching;
mod failing;
mod given_up;
mod hostile;
mod lifecycle;
mod planning;
mod play;
mod turning;
