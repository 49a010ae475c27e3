//! The front door on the log and the bus in memory: requests as any program would send them.

mod hall;
mod looking;
mod people;
mod signaling;
mod submitting;
mod watching;
