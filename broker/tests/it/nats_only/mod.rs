//! Tests that need a real nats-server: crashes, drift, limits, permissions, forged messages.

mod cluster;
mod crashes;
mod door;
mod installation;
mod limits;
mod milestones;
mod trust;
