//! The configuration of nats-server in `deploy/nats`, tried on real servers: what each role may do
//! works, and everything else is denied.

mod agents;
mod broker;
mod flow;
mod replies;
mod table;
mod tricks;
mod wire;
