//! The settings of the built-in tools.

use std::path::PathBuf;

use runtime::config::{Check, HOUR, Section, wide};
use serde::Deserialize;

use crate::config::{EgressConfig, FilesConfig, ToolsConfig};

/// Settings of the built-in tools.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// The directory that file tools see. A relative path starts at the working directory of the
    /// process.
    pub workspace: PathBuf,
    /// Settings of the HTTP tool.
    pub http: Http,
}

/// Settings of the HTTP tool.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// `true` if the tool may reach private and local addresses.
    pub allow_private: bool,
    /// Hosts that the tool may reach. Empty: every public host.
    pub allow_hosts: Vec<String>,
    /// Timeout of a request, in milliseconds.
    pub timeout_ms: u64,
    /// Bound of a response, in bytes.
    pub max_bytes: usize,
}

impl From<&Tools> for ToolsConfig {
    fn from(tools: &Tools) -> Self {
        let Tools { workspace, http } = tools;
        Self {
            files: FilesConfig { workspace: workspace.clone(), ..FilesConfig::default() },
            http: EgressConfig {
                allow_private: http.allow_private,
                allow_hosts: http.allow_hosts.clone(),
                timeout_ms: http.timeout_ms,
                body_bytes_max: http.max_bytes,
            },
        }
    }
}

impl Section for Tools {
    const NAME: &'static str = "tools";
    const DEFAULTS: &'static str = include_str!("settings.toml");

    fn check(&self, check: &mut Check) {
        check.bounds(&[
            ("tools.http.timeout_ms", self.http.timeout_ms, 1, HOUR),
            ("tools.http.max_bytes", wide(self.http.max_bytes), 1, 1 << 30),
        ]);
        if self.workspace.as_os_str().is_empty() {
            check.wrong("tools.workspace", "names no directory");
        }
    }
}
