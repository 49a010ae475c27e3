//! The settings of the listener for operators.

use std::net::SocketAddr;

use proto::lang::Language;
use serde::Deserialize;

use crate::config::{Check, Section, words::Text};

/// Settings of the admin listener, which serves health, metrics and the log level.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admin {
    /// The address to listen on.
    pub listen: Listen,
}

/// The address of the admin listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, derive_more::Display)]
#[serde(try_from = "String")]
pub enum Listen {
    /// 127.0.0.1:9464, or a free port when another process uses that one.
    #[display("auto")]
    Auto,
    /// No listener.
    #[display("off")]
    Off,
    /// Exactly this address. The process does not start when the address is in use.
    At(SocketAddr),
}

impl TryFrom<String> for Listen {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "auto" => Ok(Self::Auto),
            "off" => Ok(Self::Off),
            address => address.parse().map(Self::At).map_err(|_| Text::Listen.text(Language::En)),
        }
    }
}

impl Section for Admin {
    const NAME: &'static str = "admin";
    const DEFAULTS: &'static str = include_str!("settings.toml");

    fn check(&self, _: &mut Check) {}
}
