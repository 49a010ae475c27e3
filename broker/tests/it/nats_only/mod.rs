//! What only a real nats-server can show: crashes, drift, limits, permissions, forged messages.

mod cluster;
mod crashes;
mod door;
mod installation;
mod limits;
mod trust;
