//! The settings of the listener for operators.

use std::{fmt, net::SocketAddr};

use serde::Deserialize;

use crate::config::{Check, Section};

/// Settings of the admin listener, which serves health, metrics and the log level.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admin {
    /// The address to listen on.
    pub listen: Listen,
}

/// The address of the admin listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Listen {
    /// 127.0.0.1:9464, or a free port when another process uses that one.
    Auto,
    /// No listener.
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
            address => address.parse().map(Self::At).map_err(|_| {
                "must be auto, off, or an address with a port such as 127.0.0.1:9464".to_owned()
            }),
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Off => f.write_str("off"),
            Self::At(address) => address.fmt(f),
        }
    }
}

impl Section for Admin {
    const NAME: &'static str = "admin";
    const DEFAULTS: &'static str = include_str!("settings.toml");

    fn check(&self, _: &mut Check) {}
}
