//! The check of requests that change something, which keeps out pages in a browser.
//!
//! A web page can have a browser send requests to loopback and private addresses. With a host name
//! of its own that resolves to such an address (DNS rebinding) it may also read the responses. The
//! browser then sends that name as `Host`, and the page as `Origin`. So a request that changes
//! something must name the listener by a loopback address or by `localhost`, and must have no
//! `Origin`. The listener has no authentication, so one that other machines reach changes nothing.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};

/// Checks whether a request to a listener at `bound` may change something. The error is the reason
/// why not.
pub(super) fn may_change(headers: &HeaderMap, bound: SocketAddr) -> Result<(), String> {
    if !bound.ip().is_loopback() {
        return Err(format!(
            "changes need a listener on loopback, and this one is at {bound}: set admin.listen"
        ));
    }
    if headers.contains_key(header::ORIGIN) {
        return Err("requests from web pages may not change anything".to_owned());
    }
    let mut named = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (named.next(), named.next()) else {
        return Err("one Host header is needed".to_owned());
    };
    if is_loopback(name_of(host.to_str().unwrap_or_default())) {
        return Ok(());
    }
    Err(format!("call it by its address, such as http://{bound}, and not by another name"))
}

/// Returns `true` for `localhost` and loopback addresses. An address cannot be rebound.
fn is_loopback(name: &str) -> bool {
    let address = || name.trim_matches(['[', ']']).parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address().is_ok_and(|address| address.is_loopback())
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
    #[case("10.0.0.7:9464", "0.0.0.0:9464", false)]
    #[case("127.0.0.1:9464", "0.0.0.0:9464", false)]
    #[case("localhost", "[::]:9464", false)]
    fn only_a_listener_on_loopback_changes_anything(
        #[case] host: &str,
        #[case] bound: &str,
        #[case] good: bool,
    ) {
        let headers = HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]);
        assert_eq!(may_change(&headers, bound.parse().unwrap()).is_ok(), good);
    }
}
