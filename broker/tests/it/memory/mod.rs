//! Faults of the broker in memory, which its callers must not notice.

mod deliveries;
mod writes;
