//! The one way out: every URL a tool is given is fetched here.
//!
//! What is refused is refused before a byte is sent: other schemes than http and https, user names
//! in URLs, and every address that is not a public one, however it is written and whatever name it
//! hides behind. The address that was checked is the address that is connected to; redirects are
//! followed here, one by one, each checked again.

mod address;
mod client;
mod error;
mod resolver;

pub use self::{
    address::is_public,
    client::{Egress, Fetched, Get, Post},
    error::EgressError,
    resolver::{Lookup, SystemLookup},
};

#[cfg(test)]
mod tests;
