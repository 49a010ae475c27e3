//! The broker in memory misbehaving on demand: what callers must be told all the same.

mod deliveries;
mod writes;
