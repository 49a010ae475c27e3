//! The settings of the browser, whose tools are in a crate of their own.

use std::time::Duration;

use proto::lang::Words;
use runtime::config::{Check, HOUR};
use serde::Deserialize;

use crate::tools::Text;

/// Settings of the browser.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Browser {
    /// `true` to offer a browser.
    pub enabled: bool,
    /// The program: a path, or a name to seek in `PATH`. `None`: the first of [`PROGRAMS`].
    #[serde(default)]
    pub program: Option<String>,
    /// The confinement of pages.
    pub sandbox: Confinement,
    /// Largest number of jobs with a session at a time.
    pub sessions: u32,
    /// Largest number of tabs of a job.
    pub tabs: u32,
    /// Minutes after the last call until a session is closed.
    pub idle_minutes: u64,
    /// Longest load of a page, and longest wait for a text, in milliseconds.
    pub timeout_ms: u64,
    /// Largest number of MiB that one connection of a page carries each way.
    pub connection_mb: u64,
}

/// The names under which Chromium is installed.
pub const PROGRAMS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// The confinement of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confinement {
    /// Chromium's own sandbox, which needs user namespaces and refuses root.
    Namespaces,
    /// The container around the process: Chromium runs without its own sandbox.
    Container,
}

impl Browser {
    /// Time without a call after which a session is closed.
    #[must_use]
    pub fn idle(&self) -> Duration {
        Duration::from_secs(self.idle_minutes * 60)
    }

    /// Largest number of jobs with a session at a time.
    #[must_use]
    pub fn places(&self) -> usize {
        usize::try_from(self.sessions).unwrap_or(usize::MAX)
    }

    /// Longest load of a page.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms)
    }

    /// Largest number of bytes that one connection of a page carries each way.
    #[must_use]
    pub fn connection_bytes(&self) -> u64 {
        self.connection_mb.saturating_mul(1024 * 1024)
    }

    pub(crate) fn check(&self, check: &mut Check) {
        check.bounds(&[
            ("tools.browser.sessions", u64::from(self.sessions), 1, 1024),
            ("tools.browser.tabs", u64::from(self.tabs), 1, 100),
            ("tools.browser.idle_minutes", self.idle_minutes, 1, 24 * 60),
            ("tools.browser.timeout_ms", self.timeout_ms, 1, HOUR),
            ("tools.browser.connection_mb", self.connection_mb, 1, 1 << 20),
        ]);
        if self.program.as_ref().is_some_and(|program| program.trim().is_empty()) {
            let why = Words::new(|language| Text::ProgramName.text(language));
            check.wrong("tools.browser.program", why);
        }
    }
}
