//! Tests of the nats-server configuration in `deploy/nats` on real servers: everything that a role
//! needs is allowed, and everything else is denied.

mod agents;
mod broker;
mod flow;
mod replies;
mod table;
mod tricks;
mod wire;
