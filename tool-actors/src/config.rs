//! What can be set for the built-in tools.

use std::{path::PathBuf, time::Duration};

/// What can be set for the built-in tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolsConfig {
    /// For `read_file` and `write_file`.
    pub files: FilesConfig,
    /// For `http_get`.
    pub http: EgressConfig,
}

/// Where files are read and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesConfig {
    /// The directory beneath which tools read and write. Made when it is not there.
    pub workspace: PathBuf,
    /// Files and directories beneath it that are never written, besides every name that begins with
    /// a dot.
    pub protected: Vec<String>,
    /// Most bytes one `read_file` gives.
    pub read_bytes_max: usize,
    /// Largest file `write_file` makes, in bytes.
    pub file_bytes_max: u64,
}

impl Default for FilesConfig {
    fn default() -> Self {
        Self {
            workspace: PathBuf::from("."),
            protected: vec!["callboard.toml".to_owned(), "agents".to_owned()],
            read_bytes_max: 256 * 1024,
            file_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// What may be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressConfig {
    /// Whether addresses may be reached that are not of the public internet. Anything a private
    /// network trusts by address is then open to everybody who can write a goal.
    pub allow_private: bool,
    /// If any are given, only these hosts may be reached: a host, or `*.` and a domain for all hosts
    /// below it.
    pub allow_hosts: Vec<String>,
    /// Longest fetch, redirects and body included, in milliseconds.
    pub timeout_ms: u64,
    /// Most bytes one fetch gives.
    pub body_bytes_max: usize,
}

impl Default for EgressConfig {
    fn default() -> Self {
        Self {
            allow_private: false,
            allow_hosts: Vec::new(),
            timeout_ms: 20_000,
            body_bytes_max: 512 * 1024,
        }
    }
}

impl EgressConfig {
    /// Longest fetch.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.max(1))
    }

    /// Whether a host, as the URL parser writes it, may be reached as far as the list is concerned.
    #[must_use]
    pub fn allows_host(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let fits = |allowed: &String| {
            let allowed = allowed.to_ascii_lowercase();
            match allowed.strip_prefix("*.") {
                Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
                None => host == allowed,
            }
        };
        self.allow_hosts.is_empty() || self.allow_hosts.iter().any(fits)
    }
}
