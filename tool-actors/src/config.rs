//! The settings of the built-in tools.

use std::{path::PathBuf, time::Duration};

/// The settings of the built-in tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolsConfig {
    /// Settings of `read_file` and `write_file`.
    pub files: FilesConfig,
    /// Settings of the tools that use HTTP.
    pub http: EgressConfig,
}

/// The workspace of the file tools and its limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesConfig {
    /// Directory beneath which tools read and write; created if missing.
    pub workspace: PathBuf,
    /// Files and directories beneath the workspace that tools never write, in addition to every
    /// name that begins with a dot.
    pub protected: Vec<String>,
    /// Largest number of bytes that one `read_file` returns.
    pub read_bytes_max: usize,
    /// Largest file that `write_file` writes, in bytes.
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

/// The permitted targets of HTTP requests, and their limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressConfig {
    /// `true` to permit addresses outside the public internet. Services of a private network that
    /// trust addresses are then open to everybody who can write a goal.
    pub allow_private: bool,
    /// The only permitted hosts, unless empty: a host name, or `*.` and a domain for all hosts
    /// below it.
    pub allow_hosts: Vec<String>,
    /// Time limit of one request in milliseconds, including redirects and the body.
    pub timeout_ms: u64,
    /// Largest number of body bytes that one request returns.
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
    /// Time limit of one request, at least one millisecond.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.max(1))
    }

    /// `true` if `allow_hosts` permits a host, given as the URL parser writes it.
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
