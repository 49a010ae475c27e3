//! For tests only, of every crate: a real nats-server of a test's own, or three of them; what a
//! thread logs; waits.
//!
//! It is no feature, so that a test needs no other build of this crate; nothing that runs jobs may
//! use it.

mod clock;
mod cluster;
pub mod jobs;
mod lines;
mod raw;
pub mod wait;

use std::{path::PathBuf, time::Duration};

use rustix::process::Signal;

pub use self::{clock::ManualClock, cluster::NatsCluster, lines::Lines, raw::RawWriter};
use crate::nats_server::{Child, ChildOptions};

/// A nats-server with a port and a directory of its own. Both are gone when it is dropped.
#[derive(Debug)]
pub struct NatsServer {
    child: Option<Child>,
    options: ChildOptions,
    url: String,
}

impl NatsServer {
    /// Starts one.
    ///
    /// # Panics
    /// When no nats-server is found or it does not start; the message says what to do.
    pub async fn start() -> Self {
        Self::start_with(&[], &[]).await
    }

    /// Starts one with further lines of configuration, and further lines within `jetstream { … }`.
    ///
    /// # Panics
    /// When no nats-server is found or it does not start; the message says what to do.
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

    /// Its URL; the same after a restart.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process id, while it runs.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Its data directory.
    #[must_use]
    pub fn store_dir(&self) -> PathBuf {
        self.options.store_dir.clone()
    }

    /// Kills it, as a crash would. What the operating system has taken is kept.
    pub fn kill9(&mut self) {
        self.child = None;
    }

    /// Starts it again on its port and its directory; kills it before if it runs.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn restart(&mut self) {
        self.kill9();
        self.child = Some(start(&self.options).await);
    }

    /// Asks it to end and waits until it has.
    pub async fn shut_down(&mut self) {
        if let Some(child) = self.child.take() {
            child.stop(Duration::from_secs(10)).await;
        }
    }

    /// Suspends it: it holds its connections and sends nothing.
    pub fn stop(&mut self) {
        if let Some(child) = &mut self.child {
            child.suspend();
        }
    }

    /// Lets it go on.
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
    // A port that was free may be taken by the time the server wants it: then another will do.
    for _ in 0..3 {
        match Child::start(options).await {
            Err(crate::nats_server::StartError::Ended(log))
                if options.port == 0 && log.contains("address already in use") => {}
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
