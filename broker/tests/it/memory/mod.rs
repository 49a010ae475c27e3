//! Faults of the in-memory broker that its callers must not notice.

mod deliveries;
mod writes;
