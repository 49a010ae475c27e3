//! Tests of the job machine, on a log that is only a vector.

mod asking;
mod chance;
mod dispatching;
mod failing;
mod hostile;
mod lifecycle;
mod planning;
mod play;
mod turning;
