//! The settings of the listener for operators.

use std::{fmt, net::SocketAddr};

use serde::Deserialize;

use crate::config::{Check, Section};

/// The listener for operators: health, metrics, and the level of the log.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admin {
    /// Where it listens.
    pub listen: Listen,
}

/// Where the listener for operators listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Listen {
    /// On 127.0.0.1:9464, or on a free port when another process is there already.
    Auto,
    /// Nowhere.
    Off,
    /// Here, or the process does not start.
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
