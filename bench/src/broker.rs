//! The nats-servers of a measurement: one server, or a cluster of three. They are real processes
//! with directories of their own, and end when the value is dropped.

use std::{net::TcpListener, path::Path, path::PathBuf};

use broker::nats_server::{Child, ChildOptions, StartError, Version};
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
    /// Returns the number of replicas of every record.
    pub(crate) fn replicas(self) -> u8 {
        match self {
            Self::Default | Self::Always => 1,
            Self::R3 => 3,
        }
    }

    /// Returns the setting's name for tables.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Default => "R1, sync 2 min",
            Self::Always => "R1, sync always",
            Self::R3 => "R3, sync 2 min",
        }
    }
}

/// The running servers.
pub(crate) struct Servers {
    children: Vec<Child>,
    /// The options with which each server is restarted.
    options: Vec<ChildOptions>,
    version: Version,
    /// The ports that serve the memory profiles.
    profiles: Vec<u16>,
}

impl Servers {
    /// Starts the servers below a directory. A leader may still be in election when this returns.
    pub(crate) async fn start(
        program: Option<&Path>,
        keeping: Keeping,
        dir: &Path,
    ) -> Result<Self, Failed> {
        // Another process may take a free port before the server binds it; then other ports will do.
        for _ in 0..3 {
            match Self::start_once(program, keeping, dir).await {
                Err(error) if error.is_port_taken() => {}
                started => return Ok(started?),
            }
        }
        Ok(Self::start_once(program, keeping, dir).await?)
    }

    async fn start_once(
        program: Option<&Path>,
        keeping: Keeping,
        dir: &Path,
    ) -> Result<Self, StartError> {
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
        let version = children.first().map(Child::version).ok_or(StartError::NotFound)?;
        Ok(Self { children, options: all, version, profiles })
    }

    /// Kills a server, as a crash would.
    pub(crate) fn kill(&mut self, n: usize) {
        if let Some(child) = self.children.get_mut(n) {
            child.kill();
        }
    }

    /// Restarts a killed server.
    pub(crate) async fn restart(&mut self, n: usize) -> Result<(), Failed> {
        if let (Some(child), Some(options)) = (self.children.get_mut(n), self.options.get(n)) {
            *child = Child::start(options).await?;
        }
        Ok(())
    }

    /// Returns the servers' addresses.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.children.iter().map(Child::url).collect()
    }

    /// Returns the servers' process ids.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Child::id).collect()
    }

    /// Returns the bytes in use on the heaps of all servers, after a garbage collection. They show
    /// the cost of jobs, while the kernel's count includes memory that Go has not returned yet.
    pub(crate) async fn live_bytes(&self) -> Result<u64, Failed> {
        let mut bytes = 0;
        for port in &self.profiles {
            let url = format!("http://127.0.0.1:{port}/debug/pprof/heap?gc=1&debug=1");
            let mut live = 0;
            // Pooled objects survive one collection, and weakly held ones another.
            for _ in 0..3 {
                let profile = reqwest::get(&url).await?.error_for_status()?.text().await?;
                live = heap_alloc(&profile).ok_or("the heap profile has no HeapAlloc")?;
            }
            bytes += live;
        }
        Ok(bytes)
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }
}

/// Parses the line `# HeapAlloc = 4159384` of a textual heap profile.
fn heap_alloc(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("# HeapAlloc = ")?.trim().parse().ok())
}

fn cluster(port: u16, all: &[u16]) -> String {
    let routes: Vec<_> = all.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
    let routes = routes.join(", ");
    format!("cluster {{ name: bench, listen: \"127.0.0.1:{port}\", routes: [{routes}] }}")
}

/// Returns distinct ports on which no process listens.
fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let held: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<Result<_, _>>()?;
    held.iter().map(|held| Ok(held.local_addr()?.port())).collect()
}
