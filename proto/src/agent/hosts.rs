//! The hosts that the tools of an agent may send requests to.

use serde::{Deserialize, Serialize};

use crate::{bounds::Text, lang::Words};

/// Maximum number of hosts of an agent.
const HOSTS_MAX: usize = 64;

/// Maximum length of a host, in bytes.
const HOST_BYTES_MAX: usize = 253;

/// A list of hosts: a name or an address, or `*.` and a domain for every host below it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct Hosts(Vec<String>);

impl Hosts {
    /// Creates a list.
    #[must_use]
    pub fn new(hosts: Vec<String>) -> Self {
        Self(hosts)
    }

    /// Returns `true` if the list permits a host, given as a URL parser writes it.
    #[must_use]
    pub fn allow(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        self.0.iter().any(|allowed| covers(allowed, host))
    }

    /// Returns the list of the hosts that both lists permit.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let narrower = |these: &Self, those: &Self| {
            let in_both = |host: &&String| those.0.iter().any(|allowed| covers(allowed, host));
            these.0.iter().filter(in_both).cloned().collect::<Vec<_>>()
        };
        let mut both = [narrower(self, other), narrower(other, self)].concat();
        both.sort();
        both.dedup();
        Self(both)
    }

    /// Checks the number and the form of the hosts.
    pub(super) fn check(&self) -> Result<(), Words> {
        if self.0.len() > HOSTS_MAX {
            return Err(Text::Hosts { max: &HOSTS_MAX }.into());
        }
        let is_host = |host: &String| {
            let name = host.strip_prefix("*.").unwrap_or(host);
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            // Hosts are compared as a URL parser writes them: without a last dot, and an IPv6 address
            // in its shortest form in brackets.
            let is_name = !name.ends_with('.') && name.chars().all(fits);
            let is_short = |address: core::net::Ipv6Addr| *host == format!("[{address}]");
            let inner = host.trim_matches(['[', ']']);
            let is_address = inner.parse().is_ok_and(is_short);
            let is_below_address = name != host && name.parse::<core::net::Ipv4Addr>().is_ok();
            let fits_size = (1..=HOST_BYTES_MAX).contains(&name.len());
            fits_size && (is_name || is_address) && !is_below_address
        };
        let wrong = !self.0.iter().all(is_host);
        if wrong { Err(Text::Host.into()) } else { Ok(()) }
    }
}

/// Returns `true` if an entry of a list permits every host that `host`, a host or another entry,
/// stands for.
fn covers(allowed: &str, host: &str) -> bool {
    let (allowed, host) = (allowed.to_ascii_lowercase(), host.to_ascii_lowercase());
    match allowed.strip_prefix("*.") {
        Some(_) if host == allowed => true,
        Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None => host == allowed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(list: &str) -> Hosts {
        Hosts::new(list.split_whitespace().map(str::to_owned).collect())
    }

    #[test]
    fn a_list_permits_its_hosts_alone() {
        for (list, host, allowed) in [
            ("example.com", "example.com", true),
            ("example.com", "EXAMPLE.com.", true),
            ("example.com", "www.example.com", false),
            ("example.com", "example.com.evil.test", false),
            ("*.example.com", "www.example.com", true),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "badexample.com", false),
            ("a.test b.test", "b.test", true),
            ("", "a.test", false),
        ] {
            assert_eq!(hosts(list).allow(host), allowed, "{list}: {host}");
        }
    }

    #[test]
    fn two_lists_permit_what_both_permit() {
        for (one, other, both) in [
            ("a.test b.test", "b.test c.test", "b.test"),
            ("*.a.test", "x.a.test y.b.test", "x.a.test"),
            ("*.a.test", "*.x.a.test", "*.x.a.test"),
            ("*.a.test", "*.a.test", "*.a.test"),
            ("*.a.test", "a.test", ""),
            ("a.test", "", ""),
        ] {
            assert_eq!(hosts(one).and(&hosts(other)), hosts(both), "{one}, {other}");
            assert_eq!(hosts(other).and(&hosts(one)), hosts(both), "{other}, {one}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for wrong in [
            "http://a.test",
            "a.test/x",
            "*",
            "a.*",
            "a.test:80",
            "*.",
            "",
            "a.test.",
            "::1",
            "[::1",
            "[0:0:0:0:0:0:0:1]",
            "*.10.0.0.1",
        ] {
            assert!(Hosts::new(vec![wrong.to_owned()]).check().is_err(), "{wrong}");
        }
        assert!(hosts("a.test *.b.test 10.0.0.1 [::1] localhost").check().is_ok());
        assert_eq!(Hosts::new(vec!["a".into(); 65]).check(), Err(Text::Hosts { max: &64 }.into()));
    }
}
