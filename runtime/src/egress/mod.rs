//! The guard of requests that leave Callboard for an address that others chose: tools and webhooks.
//!
//! A client connects to the very address that was checked, in any notation and behind any name.
//! Redirects, hosts and methods are the caller's business.

mod address;
mod resolver;

use std::net::{IpAddr, Ipv4Addr};

use url::{Host, Url};

pub use self::{
    address::is_public,
    resolver::{Checked, Lookup, SystemLookup, Unresolved},
};

/// A host whose address is not public.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("refused: {host} is {address}, which is not a public address")]
pub struct NotPublic {
    /// The host as written in the URL.
    pub host: String,
    /// The private address.
    pub address: IpAddr,
}

/// Returns the port of a URL, if it belongs to another protocol than HTTP.
#[must_use]
pub fn foreign_port(url: &Url) -> Option<u16> {
    url.port().filter(|port| address::is_for_other_protocols(*port))
}

/// Checks an address that a URL names by itself. A numeric host never reaches the resolver, so its
/// address is checked here, after the URL parser has normalised forms such as `127.1`, `0x7f.1` and
/// `2130706433`.
///
/// # Errors
/// [`NotPublic`] if the host is this machine or a private address.
pub fn check_address(url: &Url) -> Result<(), NotPublic> {
    let address = match url.host() {
        // These names mean the local machine, whatever a resolver says (RFC 6761).
        Some(Host::Domain(name)) if is_local(name) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Some(Host::Domain(_)) | None => return Ok(()),
        Some(Host::Ipv4(address)) => IpAddr::V4(address),
        Some(Host::Ipv6(address)) => IpAddr::V6(address),
    };
    if is_public(address) {
        return Ok(());
    }
    Err(NotPublic { host: url.host_str().unwrap_or_default().to_owned(), address })
}

fn is_local(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}
