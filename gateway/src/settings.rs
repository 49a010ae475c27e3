//! The settings of the gateway.

use std::net::SocketAddr;

use proto::lang::Language;
use runtime::config::{Check, Section};
use serde::Deserialize;

use crate::words::Text;

/// Settings of the HTTP gateway.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// The address to listen on.
    pub listen: Listen,
    /// `true` if a proxy in front of the gateway ends TLS. An address that other machines reach
    /// needs it.
    pub behind_proxy: bool,
    /// Host names by which the gateway is called, besides addresses and `localhost`.
    pub hosts: Vec<String>,
}

/// The address of the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, derive_more::Display)]
#[serde(try_from = "String")]
pub enum Listen {
    /// 127.0.0.1:8600, or a free port when another process uses that one.
    #[display("auto")]
    Auto,
    /// Exactly this address. The process does not start when the address is in use.
    At(SocketAddr),
}

impl TryFrom<String> for Listen {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            address => address.parse().map(Self::At).map_err(|_| Text::Listen.text(Language::En)),
        }
    }
}

impl Gateway {
    /// `true` if others than programs on this machine reach the gateway, directly or by a proxy.
    #[must_use]
    pub fn is_public(&self) -> bool {
        self.listens_publicly() || self.behind_proxy || !self.hosts.is_empty()
    }

    fn listens_publicly(&self) -> bool {
        match self.listen {
            Listen::Auto => false,
            Listen::At(address) => !address.ip().is_loopback(),
        }
    }
}

impl Section for Gateway {
    const NAME: &'static str = "gateway";
    const DEFAULTS: &'static str = include_str!("settings.toml");

    fn check(&self, check: &mut Check) {
        if self.listens_publicly() && !self.behind_proxy {
            check.wrong("gateway.listen", Text::NeedsProxy);
        }
        let is_name = |name: &String| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
        };
        for (n, _) in self.hosts.iter().enumerate().filter(|(_, name)| !is_name(name)) {
            check.wrong(format!("gateway.hosts[{n}]"), Text::HostName);
        }
    }
}
