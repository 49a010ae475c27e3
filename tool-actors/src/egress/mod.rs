//! HTTP egress: every request of a tool to a URL passes through here.
//!
//! A refusal precedes the first byte. Refused are schemes other than http and https, user names in
//! URLs, and every address that is not public, in any notation and behind any name. The client
//! connects to the very address that was checked; it follows redirects one by one and checks each
//! of them.

mod address;
mod client;
mod error;
mod resolver;
mod thread;

pub use self::{
    address::is_public,
    client::{Egress, Fetched, Get, Post},
    error::EgressError,
    resolver::{Lookup, SystemLookup},
};

#[cfg(test)]
mod tests;
