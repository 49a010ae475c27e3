//! HTTP egress: every request of a tool to a URL passes through here.
//!
//! A refusal precedes the first byte. Refused are schemes other than http and https, user names in
//! URLs, and every address that is not public, in any notation and behind any name. The client
//! connects to the very address that was checked; it follows redirects one by one and checks each
//! of them.

mod client;
mod error;
mod thread;

pub use runtime::egress::{Lookup, SystemLookup};

pub use self::{
    client::{Egress, Fetched, Get, Post},
    error::EgressError,
};

#[cfg(test)]
mod tests;
