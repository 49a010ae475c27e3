//! The check of requests that change something, which keeps out pages in a browser.
//!
//! A web page can have a browser send requests to loopback and private addresses. With a host name
//! of its own that resolves to such an address (DNS rebinding) it may also read the responses. The
//! browser then sends that name as `Host`, and the page as `Origin`. So a request that changes
//! something must name the listener by an address, by `localhost` or by this machine's host name,
//! and must have no `Origin`. Scrapers and scripts on other machines are not affected where the
//! listener is bound to a reachable address, since they name that address.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};

use crate::presence::host_name;

/// Checks whether a request to a listener at `bound` may change something. The error is the reason
/// why not.
pub(super) fn may_change(headers: &HeaderMap, bound: SocketAddr) -> Result<(), String> {
    if headers.contains_key(header::ORIGIN) {
        return Err("requests from web pages may not change anything".to_owned());
    }
    let mut named = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (named.next(), named.next()) else {
        return Err("one Host header is needed".to_owned());
    };
    let host = host.to_str().unwrap_or_default();
    if is_ours(name_of(host), bound.ip(), &host_name()) {
        return Ok(());
    }
    Err(format!("call it by its address, such as http://{bound}, and not by another name"))
}

fn is_ours(name: &str, bound: IpAddr, machine: &str) -> bool {
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    match name.trim_matches(['[', ']']).parse::<IpAddr>() {
        // An address cannot be rebound. A listener on loopback accepts only loopback addresses.
        Ok(address) => !bound.is_loopback() || address.is_loopback(),
        Err(_) => !bound.is_loopback() && name.eq_ignore_ascii_case(machine),
    }
}

/// Returns the name in a `Host` header, without the port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("127.0.0.1:9464", "127.0.0.1:9464", true)]
    #[case("localhost:9464", "127.0.0.1:9464", true)]
    #[case("LOCALHOST", "127.0.0.1:9464", true)]
    #[case("[::1]:9464", "[::1]:9464", true)]
    #[case("[::1]", "127.0.0.1:9464", true)]
    #[case("evil.example:9464", "127.0.0.1:9464", false)]
    #[case("localhost.evil.example", "127.0.0.1:9464", false)]
    #[case("10.0.0.7:9464", "127.0.0.1:9464", false)]
    #[case("", "127.0.0.1:9464", false)]
    #[case("10.0.0.7:9464", "0.0.0.0:9464", true)]
    #[case("worker-1:9464", "0.0.0.0:9464", true)]
    #[case("evil.example:9464", "0.0.0.0:9464", false)]
    fn only_our_own_names_count(#[case] host: &str, #[case] bound: &str, #[case] good: bool) {
        let bound: SocketAddr = bound.parse().unwrap();
        assert_eq!(is_ours(name_of(host), bound.ip(), "worker-1"), good);
    }
}
