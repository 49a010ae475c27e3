//! The configuration of nats-server in `deploy/nats`, tried on real servers: what each role may do
//! works, and everything else is denied.

mod broker;
mod flow;
mod table;
mod tricks;
mod wire;
