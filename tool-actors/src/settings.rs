//! The settings of the built-in tools.

use std::{path::PathBuf, time::Duration};

use proto::{agent::Hosts, lang::Words};
use runtime::config::{Check, HOUR, Secret, Section, wide};
use serde::Deserialize;

use crate::{browser::Browser, search, shell, tools::Text};

/// Settings of the built-in tools.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// The directory of the workspaces, one for each job or conversation, and of the files that every
    /// job may read. A relative path starts at the working directory of the
    /// process.
    pub workspace: PathBuf,
    /// Days after the last change of a workspace's directory until it is removed, if no job uses it
    /// any more; 0 keeps it.
    pub unused_days: u64,
    /// Settings of the tools that use HTTP.
    pub http: Http,
    /// The providers of the tool `web_search`.
    pub search: search::settings::Search,
    /// The tool `run`.
    pub shell: shell::settings::Shell,
    /// The browser.
    pub browser: Browser,
}

/// The permitted targets of HTTP requests, and their limits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http {
    /// `true` to permit addresses outside the public internet. Services of a private network that
    /// trust addresses are then open to everybody who can write a goal.
    pub allow_private: bool,
    /// The only permitted hosts, unless empty: a host name, or `*.` and a domain for all hosts
    /// below it.
    pub allow_hosts: Vec<String>,
    /// Time limit of one request in milliseconds, including redirects and the body.
    pub timeout_ms: u64,
    /// Largest number of body bytes that one request returns.
    pub max_bytes: usize,
}

impl Default for Http {
    fn default() -> Self {
        Tools::defaults().http
    }
}

impl Http {
    /// Time limit of one request, at least one millisecond.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.max(1))
    }

    /// `true` if `allow_hosts` permits a host, given as the URL parser writes it.
    #[must_use]
    pub fn allows_host(&self, host: &str) -> bool {
        self.allow_hosts.is_empty() || Hosts::new(self.allow_hosts.clone()).allow(host)
    }
}

impl Tools {
    /// Time without a change after which a workspace that no job uses is removed; `None` for never.
    pub(crate) fn unused_for(&self) -> Option<Duration> {
        (self.unused_days > 0).then(|| Duration::from_secs(self.unused_days * 24 * 3600))
    }
}

impl Section for Tools {
    const NAME: &'static str = "tools";
    const DEFAULTS: &'static str = include_str!("settings.toml");

    const SECRETS: &'static [&'static str] =
        &["tools.search.brave.api_key", "tools.search.tavily.api_key", "tools.search.exa.api_key"];

    fn secrets(&mut self) -> Vec<&mut Option<Secret>> {
        let search::settings::Search { brave, tavily, exa, .. } = &mut self.search;
        vec![&mut brave.api_key, &mut tavily.api_key, &mut exa.api_key]
    }

    fn check(&self, check: &mut Check) {
        self.search.check(check);
        self.shell.check(check);
        self.browser.check(check);
        check.bounds(&[
            ("tools.unused_days", self.unused_days, 0, 36_500),
            ("tools.http.timeout_ms", self.http.timeout_ms, 1, HOUR),
            ("tools.http.max_bytes", wide(self.http.max_bytes), 1, 1 << 30),
        ]);
        if self.workspace.as_os_str().is_empty() {
            check.wrong("tools.workspace", Words::new(|language| Text::NoDirectory.text(language)));
        }
    }
}
