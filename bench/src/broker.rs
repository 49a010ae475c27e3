//! The nats-servers of a measurement: one, or three that are a cluster. Real processes with
//! directories of their own, gone when this is dropped.

use std::{net::TcpListener, path::Path, path::PathBuf};

use broker::nats_server::{Child, ChildOptions, Version};
use serde::Serialize;

use crate::Failed;

/// How NATS keeps what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Keeping {
    /// One server that flushes to disk every two minutes: nats-server's default. Killing processes
    /// loses nothing, a power cut may.
    Default,
    /// One server that flushes every write before it acknowledges it.
    Always,
    /// Three servers, three replicas, each with the default flushing.
    R3,
}

impl Keeping {
    /// Copies of every record.
    pub(crate) fn replicas(self) -> u8 {
        match self {
            Self::Default | Self::Always => 1,
            Self::R3 => 3,
        }
    }

    /// For people.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Default => "R1, sync 2 min",
            Self::Always => "R1, sync always",
            Self::R3 => "R3, sync 2 min",
        }
    }
}

/// The servers.
pub(crate) struct Servers {
    children: Vec<Child>,
    /// How each is started again in its place.
    options: Vec<ChildOptions>,
    version: Version,
    /// Where each says what it keeps in memory.
    profiles: Vec<u16>,
}

impl Servers {
    /// Starts them below a directory. They may still be electing a leader.
    pub(crate) async fn start(
        program: Option<&Path>,
        keeping: Keeping,
        dir: &Path,
    ) -> Result<Self, Failed> {
        let count = usize::from(keeping.replicas());
        let jetstream = match keeping {
            Keeping::Always => vec!["sync_interval: always".to_owned()],
            Keeping::Default | Keeping::R3 => Vec::new(),
        };
        let routes = if count > 1 { free_ports(count)? } else { Vec::new() };
        let profiles = free_ports(count)?;
        let (mut children, mut all) = (Vec::new(), Vec::new());
        for (n, profile) in profiles.iter().enumerate() {
            let mut config = vec![format!("prof_port: {profile}")];
            config.extend(routes.get(n).map(|port| cluster(*port, &routes)));
            let mut options = ChildOptions {
                program: program.map(PathBuf::from),
                store_dir: dir.join(format!("nats-{n}")),
                keeps_name: true,
                jetstream: jetstream.clone(),
                config,
                ..ChildOptions::default()
            };
            let child = Child::start(&options).await?;
            options.port = child.port();
            children.push(child);
            all.push(options);
        }
        let version = children.first().map(Child::version).ok_or("no server was started")?;
        Ok(Self { children, options: all, version, profiles })
    }

    /// Kills one, as a crash would.
    pub(crate) fn kill(&mut self, n: usize) {
        if let Some(child) = self.children.get_mut(n) {
            child.kill();
        }
    }

    /// Starts one again that was killed.
    pub(crate) async fn restart(&mut self, n: usize) -> Result<(), Failed> {
        if let (Some(child), Some(options)) = (self.children.get_mut(n), self.options.get(n)) {
            *child = Child::start(options).await?;
        }
        Ok(())
    }

    /// Where they listen.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.children.iter().map(Child::url).collect()
    }

    /// Their process ids.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }

    /// Bytes that all of them together have in use, after a collection of garbage. It is what jobs
    /// take, while what the kernel counts is also what Go has not given back yet.
    pub(crate) async fn live_bytes(&self) -> Result<u64, Failed> {
        let mut bytes = 0;
        for port in &self.profiles {
            let url = format!("http://127.0.0.1:{port}/debug/pprof/heap?gc=1&debug=1");
            let mut live = 0;
            // What lies in a pool outlives one collection, and what was only weakly held another.
            for _ in 0..3 {
                let profile = reqwest::get(&url).await?.error_for_status()?.text().await?;
                live = heap_alloc(&profile).ok_or("the heap profile has no HeapAlloc")?;
            }
            bytes += live;
        }
        Ok(bytes)
    }

    /// Their version.
    pub(crate) fn version(&self) -> Version {
        self.version
    }
}

/// The line `# HeapAlloc = 4159384` of a heap profile as text.
fn heap_alloc(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("# HeapAlloc = ")?.trim().parse().ok())
}

fn cluster(port: u16, all: &[u16]) -> String {
    let routes: Vec<_> = all.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
    let routes = routes.join(", ");
    format!("cluster {{ name: bench, listen: \"127.0.0.1:{port}\", routes: [{routes}] }}")
}

/// Ports nobody listens on now, each another one.
fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let held: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<Result<_, _>>()?;
    held.iter().map(|held| Ok(held.local_addr()?.port())).collect()
}
