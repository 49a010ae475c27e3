//! The MCP client: the tools of MCP servers as tools of Callboard.
//!
//! An operator names servers in the settings. A process starts a server when it needs its tools, lists
//! them, and offers those that a person trusts to the set of the role `tools`. A call passes the
//! guards of every tool; then this crate sends it to the server and bounds its result.
//!
//! Architecture invariants: what a server says about its tools is text of a stranger, and decides
//! nothing unless the operator trusts the server; a server gets the environment and the headers of its
//! settings and nothing else; every reading of a server has a bound; no request of a server to its
//! client is granted.

mod call;
mod connection;
mod frames;
mod http;
mod launch;
mod listing;
mod names;
mod pins;
mod process;
mod result;
mod server;
pub mod settings;
mod specs;
mod start;
mod tool;
mod words;

pub use self::{
    connection::ConnectError,
    http::ClientError,
    launch::{Launch, LaunchError},
    listing::ListError,
    pins::{Pins, read as read_pins, trust},
    server::ListOnceError,
    specs::{FoundTool, Refused},
    start::{ProbeError, Probed, Setup, probe, start},
};
