//! The settings of the gateway.

use std::{
    net::SocketAddr,
    num::NonZeroU32,
    path::{Path, PathBuf},
};

use proto::lang::Language;
use runtime::config::{Check, MANY, Section, wide};
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
    /// Requests of one caller a second that change nothing.
    pub reads_per_second: NonZeroU32,
    /// Requests of one caller a second that change something.
    pub writes_per_second: NonZeroU32,
    /// Streams of events that one caller reads at once.
    pub streams: usize,
    /// TLS of the listener.
    pub tls: Tls,
}

/// TLS of the listener. Both files are present, or none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// A PEM file of the certificate and those above it.
    pub cert_file: Option<PathBuf>,
    /// A PEM file of the certificate's key.
    pub key_file: Option<PathBuf>,
}

impl Tls {
    /// Returns the files of the certificate and of its key.
    #[must_use]
    pub fn files(&self) -> Option<(&Path, &Path)> {
        self.cert_file.as_deref().zip(self.key_file.as_deref())
    }
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
        if self.listens_publicly() && !self.behind_proxy && self.tls.files().is_none() {
            check.wrong("gateway.listen", Text::NeedsTls);
        }
        match (&self.tls.cert_file, &self.tls.key_file) {
            (Some(_), None) => {
                check.missing_beside("gateway.tls.key_file", "gateway.tls.cert_file")
            }
            (None, Some(_)) => {
                check.missing_beside("gateway.tls.cert_file", "gateway.tls.key_file")
            }
            (Some(_), Some(_)) if self.behind_proxy => {
                check.wrong("gateway.tls", Text::TlsAndProxy);
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
        let (reads, writes) = (self.reads_per_second.get(), self.writes_per_second.get());
        check.bounds(&[
            ("gateway.reads_per_second", reads.into(), 1, MANY),
            ("gateway.writes_per_second", writes.into(), 1, MANY),
            ("gateway.streams", wide(self.streams), 1, MANY),
        ]);
        let is_name = |name: &String| {
            !name.is_empty()
                && name.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b))
        };
        for (n, _) in self.hosts.iter().enumerate().filter(|(_, name)| !is_name(name)) {
            check.wrong(format!("gateway.hosts[{n}]"), Text::HostName);
        }
    }
}
