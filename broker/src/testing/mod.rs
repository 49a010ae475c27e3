//! Test support for every crate: a nats-server or a cluster per test, captured logs, and waits.
//!
//! This is not behind a feature, so that tests need no second build of this crate. No production
//! code may use it.

mod clock;
mod cluster;
pub mod jobs;
mod lines;
mod raw;
pub mod wait;

use std::{path::PathBuf, time::Duration};

use rustix::process::{Pid, Resource, Rlimit, Signal};

pub use self::{clock::ManualClock, cluster::NatsCluster, lines::Lines, raw::RawWriter};
use crate::nats_server::{Child, ChildOptions};

/// A nats-server with its own port and data directory. Dropping this ends the server and removes
/// the directory.
#[derive(Debug)]
pub struct NatsServer {
    child: Option<Child>,
    options: ChildOptions,
    url: String,
}

impl NatsServer {
    /// Starts a server with the default configuration.
    ///
    /// # Panics
    /// If no nats-server is found or it does not start; the message says what to do.
    pub async fn start() -> Self {
        Self::start_with(&[], &[]).await
    }

    /// Starts a server with additional lines of configuration, and additional lines within
    /// `jetstream { … }`.
    ///
    /// # Panics
    /// If no nats-server is found or it does not start; the message says what to do.
    pub async fn start_with(config: &[&str], jetstream: &[&str]) -> Self {
        let name = format!("callboard-test-{}", uuid::Uuid::new_v4().simple());
        let owned = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect();
        let mut options = ChildOptions {
            store_dir: std::env::temp_dir().join(name),
            config: owned(config),
            jetstream: owned(jetstream),
            ..ChildOptions::default()
        };
        let child = start(&options).await;
        options.port = child.port();
        Self { url: child.url(), child: Some(child), options }
    }

    /// The server's URL; unchanged by a restart.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The server's process id, if it is running.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The server's data directory.
    #[must_use]
    pub fn store_dir(&self) -> PathBuf {
        self.options.store_dir.clone()
    }

    /// Kills the server with `SIGKILL`, as a crash would. Data that the operating system has
    /// accepted is kept.
    pub fn kill9(&mut self) {
        self.child = None;
    }

    /// Restarts the server on its port and directory; kills it first if it runs.
    ///
    /// # Panics
    /// If the server does not start.
    pub async fn restart(&mut self) {
        self.kill9();
        self.child = Some(start(&self.options).await);
    }

    /// Terminates the server and waits until it has ended.
    pub async fn shut_down(&mut self) {
        if let Some(child) = self.child.take() {
            child.stop(Duration::from_secs(10)).await;
        }
    }

    /// Suspends the server: it holds its connections open and sends nothing.
    pub fn stop(&mut self) {
        if let Some(child) = &mut self.child {
            child.suspend();
        }
    }

    /// Limits the size of each file that the server writes, as a full disk would, or removes the
    /// limit.
    ///
    /// # Panics
    /// If the server does not run, or its limits cannot be changed.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let pid = self.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        let limit = Rlimit { current: bytes, maximum: None };
        let set = rustix::process::prlimit(pid, Resource::Fsize, limit);
        set.expect("the limits of a running child can be changed");
    }

    /// Resumes a suspended server.
    pub fn cont(&mut self) {
        if let Some(child) = &mut self.child {
            child.signal(Signal::CONT);
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.child = None;
        let _ = std::fs::remove_dir_all(&self.options.store_dir);
    }
}

async fn start(options: &ChildOptions) -> Child {
    // Another process may take a free port before the server binds it; then another port will do.
    for _ in 0..3 {
        match Child::start(options).await {
            Err(error) if options.port == 0 && error.is_port_taken() => {}
            started => return started.map_err(Displayed).expect("a nats-server for a test"),
        }
    }
    Child::start(options).await.map_err(Displayed).expect("a nats-server for a test")
}

/// An error whose debug form, in a panic, is its message.
struct Displayed(crate::nats_server::StartError);

impl std::fmt::Debug for Displayed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.0, f)
    }
}
