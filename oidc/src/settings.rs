//! The settings of the issuer.

use std::{collections::BTreeMap, net::IpAddr};

use proto::door::Role;
use runtime::config::{Check, Secret, Section};
use serde::Deserialize;
use url::{Host, Url};

use crate::Text;

/// Settings of tokens of an OpenID Connect issuer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Oidc {
    /// The issuer as its tokens name it. `None`: no token of an issuer counts.
    pub issuer: Option<String>,
    /// Accepted audiences.
    pub audience: Vec<String>,
    /// The claim that names the person.
    pub person: String,
    /// The claim with the person's groups. Dots lead into objects.
    pub groups: String,
    /// Rights by group. The group `*` is everybody.
    #[serde(default)]
    pub roles: BTreeMap<String, Vec<Role>>,
    /// The client as which the gateway signs people in. `None`: it does not.
    pub client_id: Option<String>,
    /// The secret of that client; `None` for a public client.
    pub client_secret: Option<Secret>,
    /// The scopes that the sign-in asks for.
    pub scopes: Vec<String>,
}

/// The group of every person of the issuer.
pub const EVERYBODY: &str = "*";

impl Section for Oidc {
    const NAME: &'static str = "oidc";
    const DEFAULTS: &'static str = include_str!("settings.toml");
    const SECRETS: &'static [&'static str] = &["client_secret"];

    fn secrets(&mut self) -> Vec<&mut Option<Secret>> {
        vec![&mut self.client_secret]
    }

    fn check(&self, check: &mut Check) {
        let Some(issuer) = &self.issuer else {
            if self.client_id.is_some() {
                check.missing_beside("oidc.issuer", "oidc.client_id");
            }
            return;
        };
        if !Url::parse(issuer).is_ok_and(|url| is_trustworthy(&url) && url.query().is_none()) {
            check.wrong("oidc.issuer", Text::Issuer);
        }
        if self.audience.is_empty() {
            check.wrong("oidc.audience", Text::Audience);
        }
        for (key, claim) in [("oidc.person", &self.person), ("oidc.groups", &self.groups)] {
            if claim.is_empty() {
                check.wrong(key, Text::Claim);
            }
        }
        if self.roles.values().all(Vec::is_empty) {
            check.wrong("oidc.roles", Text::Roles);
        }
        if self.client_id.as_ref().is_some_and(|client| !self.audience.contains(client)) {
            check.wrong("oidc.audience", Text::ClientAudience);
        }
        if !self.scopes.iter().any(|scope| scope == "openid") {
            check.wrong("oidc.scopes", Text::Scopes);
        }
    }
}

/// `true` for an address whose answers nobody on the way can change: HTTPS, or this machine.
#[must_use]
pub fn is_trustworthy(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
        None => false,
    };
    url.host().is_some() && (url.scheme() == "https" || (url.scheme() == "http" && is_here))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("https://login.example.com/realms/a", true)]
    #[case("http://127.0.0.1:9000", true)]
    #[case("http://[::1]:9000/x", true)]
    #[case("http://localhost:9000", true)]
    #[case("http://login.example.com", false)]
    #[case("http://localhost.example.com", false)]
    #[case("file:///etc/passwd", false)]
    fn keys_come_by_https_or_from_this_machine(#[case] url: &str, #[case] trusted: bool) {
        assert_eq!(is_trustworthy(&Url::parse(url).unwrap()), trusted);
    }
}
