//! A nats-server run as a child process, for `callboard dev` and for tests.
//!
//! Finds the program, writes a configuration, waits until the server accepts connections, and kills
//! the server on drop. It must never touch a server that it did not start.

use std::{
    io,
    net::TcpListener,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{self, Stdio},
    str::FromStr,
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::TcpStream,
    time::Instant,
};

/// Environment variable with the path of the nats-server to use instead of searching for one.
pub const VARIABLE: &str = "CALLBOARD_NATS_SERVER";

/// Interval at which a starting or ending server is polled.
const LOOK: Duration = Duration::from_millis(5);

/// A version of nats-server, without pre-release suffix (`-beta.1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{major}.{minor}.{patch}")]
pub struct Version {
    /// Incompatible releases.
    pub major: u16,
    /// Feature releases.
    pub minor: u16,
    /// Bug-fix releases.
    pub patch: u16,
}

impl Version {
    /// Oldest version with the features that jobs need: batch reads, scheduled messages, pinned
    /// consumers.
    pub const FLOOR: Self = Self { major: 2, minor: 12, patch: 0 };
    /// Oldest version without known bugs in those features.
    pub const SOUND: Self = Self { major: 2, minor: 14, patch: 4 };
}

/// A text is not a version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a version")]
pub struct InvalidVersion(String);

impl FromStr for Version {
    type Err = InvalidVersion;

    fn from_str(text: &str) -> Result<Self, InvalidVersion> {
        let invalid = || InvalidVersion(text.chars().take(40).collect());
        let plain = text.trim().trim_start_matches('v');
        let plain = plain.split(['-', '+']).next().unwrap_or_default();
        let mut numbers = plain.split('.').map(str::parse);
        let mut next = || numbers.next().and_then(Result::ok).ok_or_else(invalid);
        Ok(Self { major: next()?, minor: next()?, patch: next()? })
    }
}

/// A nats-server program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Absolute path of the program, or the path that [`VARIABLE`] gives.
    pub path: PathBuf,
    /// The version that the program prints.
    pub version: Version,
}

/// Finds the nats-server to use. [`VARIABLE`] decides if it is set. Otherwise the first program
/// that is new enough wins, in `.tools/bin` of the working directory and its parents, then on the
/// `PATH`. Returns one that is too old if no other exists.
#[must_use]
pub fn find() -> Option<Found> {
    if let Some(path) = std::env::var_os(VARIABLE) {
        return look_at(Path::new(&path));
    }
    let cwd = std::env::current_dir().unwrap_or_default();
    let tools = cwd.ancestors().map(|dir| dir.join(".tools/bin")).collect::<Vec<_>>();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = tools.into_iter().chain(std::env::split_paths(&path));
    let mut too_old = None;
    for place in places.filter(|p| p.is_absolute()) {
        match look_at(&place.join("nats-server")) {
            Some(found) if found.version >= Version::FLOOR => return Some(found),
            Some(found) => too_old = too_old.or(Some(found)),
            None => {}
        }
    }
    too_old
}

fn look_at(path: &Path) -> Option<Found> {
    if !path.is_file() {
        return None;
    }
    let said = process::Command::new(path).arg("--version").stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = said.split_whitespace().find_map(|word| word.parse().ok())?;
    Some(Found { path: path.to_owned(), version })
}

/// The settings of a server.
#[derive(Debug, Clone, Default)]
pub struct ChildOptions {
    /// Path of the program; the result of [`find`] when absent.
    pub program: Option<PathBuf>,
    /// Port on the loopback interface; 0 for a free one.
    pub port: u16,
    /// Data directory, created if missing.
    pub store_dir: PathBuf,
    /// `true` to use the same server name at every start. A cluster knows its members by name: a
    /// server with a new name joins as another member.
    pub keeps_name: bool,
    /// Additional lines of the server's configuration.
    pub config: Vec<String>,
    /// Further lines within `jetstream { … }`, for instance `sync_interval: always`.
    pub jetstream: Vec<String>,
    /// Time limit for the start; zero means 30 seconds.
    pub patience: Duration,
}

/// The reason why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No program was found, or the given path is not a nats-server.
    #[error(
        "no nats-server was found: `make nats-server` installs one into .tools/bin, or set \
         {VARIABLE} to the path of one ({} or newer)",
        Version::FLOOR
    )]
    NotFound,
    /// The program is older than [`Version::FLOOR`].
    #[error("{} is nats-server {}: Callboard needs {} or newer", .0.path.display(), .0.version, Version::FLOOR)]
    TooOld(Found),
    /// A file or the process could not be created.
    #[error("nats-server could not be started: {0}")]
    Io(#[from] io::Error),
    /// The process ended during startup; holds the end of its log.
    #[error("nats-server ended while it started; the end of its log:\n{0}")]
    Ended(String),
    /// The server accepted no connections in time; holds the limit and the end of its log.
    #[error("nats-server took no connections within {0:?}; the end of its log:\n{1}")]
    TooSlow(Duration, String),
}

impl StartError {
    /// `true` if another process bound one of the server's ports first.
    #[must_use]
    pub fn is_port_taken(&self) -> bool {
        match self {
            Self::Ended(log) => log.contains("address already in use"),
            Self::Io(error) => error.kind() == io::ErrorKind::AddrInUse,
            Self::NotFound | Self::TooOld(_) | Self::TooSlow(..) => false,
        }
    }
}

/// File with the process ids of a directory's server and of its parent.
const PID_FILE: &str = "nats-server.pid";

/// File with the name of a directory's server.
const NAME_FILE: &str = "nats-server.name";

/// Time limit for terminating a server whose parent was killed.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(10);

/// Terminates a server that a killed parent left running on this directory: two servers must not
/// write to the same directory, and the port is taken. Ignores an unrelated process with the same
/// id.
async fn end_orphan(store_dir: &Path) {
    let ours = store_dir.join("nats-server.conf");
    let whose = std::fs::read_to_string(store_dir.join(PID_FILE)).unwrap_or_default();
    let mut ids = whose.split_whitespace().map(str::parse::<i32>);
    let (Some(Ok(pid)), Some(Ok(parent))) = (ids.next(), ids.next()) else { return };
    if parent_of(pid) == Some(parent) {
        // The parent is alive, so the server is not an orphan; binding the port will fail.
        return;
    }
    let runs = || {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|word| word == ours.as_os_str().as_encoded_bytes())
    };
    let Some(id) = Pid::from_raw(pid).filter(|_| runs()) else { return };
    tracing::info!(pid, "ending the nats-server of a process that was killed");
    // The server may already have ended.
    let _ = rustix::process::kill_process(id, Signal::TERM);
    let start = Instant::now();
    while runs() && start.elapsed() < ORPHAN_PATIENCE {
        tokio::time::sleep(LOOK).await;
    }
}

/// Reads a process's parent from the kernel.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the program's name in parentheses come the state and the parent.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

/// A running nats-server, killed on drop.
#[derive(Debug)]
pub struct Child {
    process: process::Child,
    port: u16,
    version: Version,
    log: PathBuf,
}

impl Child {
    /// Starts a server and waits until it accepts connections. Its process group is separate, so
    /// that a terminal's interrupt does not reach it directly.
    ///
    /// # Errors
    /// If no program is new enough, or the server does not start.
    pub async fn start(options: &ChildOptions) -> Result<Self, StartError> {
        let found = match &options.program {
            Some(path) => look_at(path),
            None => find(),
        };
        let found = found.ok_or(StartError::NotFound)?;
        if found.version < Version::FLOOR {
            return Err(StartError::TooOld(found));
        }
        std::fs::create_dir_all(&options.store_dir)?;
        end_orphan(&options.store_dir).await;
        let port = if options.port == 0 { free_port()? } else { options.port };
        let config = options.store_dir.join("nats-server.conf");
        let log = options.store_dir.join("nats-server.log");
        let name = match options.keeps_name {
            true => server_name(&options.store_dir)?,
            false => new_name(),
        };
        if options.port != 0 && greets(port, &name).await {
            return Err(io::Error::from(io::ErrorKind::AddrInUse).into());
        }
        std::fs::write(&config, configuration(&name, port, options))?;
        let output = std::fs::OpenOptions::new().create(true).append(true).open(&log)?;
        let process = process::Command::new(&found.path)
            .arg("--config")
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .spawn()?;
        let whose = format!("{} {}", process.id(), std::process::id());
        std::fs::write(options.store_dir.join(PID_FILE), whose)?;
        let mut child = Self { process, port, version: found.version, log };
        let patience =
            if options.patience.is_zero() { Duration::from_secs(30) } else { options.patience };
        child.wait_until_ready(&name, patience).await?;
        Ok(child)
    }

    async fn wait_until_ready(&mut self, name: &str, patience: Duration) -> Result<(), StartError> {
        let start = Instant::now();
        while !greets(self.port, name).await {
            if self.process.try_wait()?.is_some() {
                return Err(StartError::Ended(self.end_of_log()));
            }
            if start.elapsed() > patience {
                return Err(StartError::TooSlow(patience, self.end_of_log()));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    fn end_of_log(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }

    /// The port on the loopback interface.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The `nats://` URL on the loopback interface.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The version of the program.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal to the server. Does nothing if the server has ended.
    pub fn signal(&mut self, signal: Signal) {
        // The process has not been reaped, so its id cannot belong to another process.
        if let (Ok(None), Some(pid)) = (self.process.try_wait(), self.pid()) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Suspends the server until it receives [`Signal::CONT`]. The server has stopped when this
    /// returns.
    pub fn suspend(&mut self) {
        self.signal(Signal::STOP);
        if let (Ok(None), Some(pid)) = (self.process.try_wait(), self.pid()) {
            // Signals are asynchronous: the process may run for another moment.
            let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = rustix::process::waitid(WaitId::Pid(pid), stopped);
        }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.process.id()).ok().and_then(Pid::from_raw)
    }

    /// Sends `SIGTERM` and waits; kills the server after `patience`.
    pub async fn stop(mut self, patience: Duration) {
        self.signal(Signal::TERM);
        let start = Instant::now();
        while start.elapsed() < patience {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Kills the server and waits until its process has ended.
    pub fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns a port that is free now. Another process may bind it first; then the server reports that
/// and ends.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Returns the name of a directory's server, the same at every start.
///
/// The name is unique, so a greeting on the port proves that it is this server's. A cluster knows
/// its members by name: under a new name, a restarted server would be a stranger and its old copies
/// of streams would count as lost.
fn server_name(store_dir: &Path) -> io::Result<String> {
    let file = store_dir.join(NAME_FILE);
    match std::fs::read_to_string(&file) {
        Ok(name) if !name.is_empty() => Ok(name),
        Ok(_) => new_server_name(&file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => new_server_name(&file),
        Err(error) => Err(error),
    }
}

fn new_server_name(file: &Path) -> io::Result<String> {
    let name = new_name();
    std::fs::write(file, &name)?;
    Ok(name)
}

fn new_name() -> String {
    format!("callboard-{}", uuid::Uuid::new_v4().simple())
}

fn configuration(name: &str, port: u16, options: &ChildOptions) -> String {
    let dir = options.store_dir.join("data").display().to_string().replace('\\', "/");
    let mut config = format!(
        "# Written at every start; changes are lost.\n\
         server_name: {name}\n\
         listen: \"127.0.0.1:{port}\"\n\
         jetstream {{\n  store_dir: {}\n",
        serde_json::Value::String(dir)
    );
    options.jetstream.iter().for_each(|line| config.extend(["  ", line, "\n"]));
    config.push_str("}\n");
    options.config.iter().for_each(|line| config.extend([line.as_str(), "\n"]));
    config
}

/// `true` if the first message on the port carries that server name.
async fn greets(port: u16, name: &str) -> bool {
    let greeting = async {
        let server = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        let mut line = String::new();
        BufReader::new(server.take(64 * 1024)).read_line(&mut line).await.ok()?;
        let info: serde_json::Value = serde_json::from_str(line.strip_prefix("INFO ")?).ok()?;
        Some(info["server_name"] == name)
    };
    let greeting = tokio::time::timeout(Duration::from_secs(1), greeting).await;
    greeting.ok().flatten().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        let version = |text: &str| text.parse::<Version>();
        assert_eq!(version("v2.15.1"), Ok(Version { major: 2, minor: 15, patch: 1 }));
        assert_eq!(version("2.15.0-beta.1+x"), Ok(Version { major: 2, minor: 15, patch: 0 }));
        for bad in ["", "nats-server:", "2.15", "v2.x.1", "2..1"] {
            assert!(version(bad).is_err(), "{bad}");
        }
        assert!(version("2.9.10").unwrap() < Version::FLOOR);
        assert!(version("2.12.0").unwrap() >= Version::FLOOR);
        assert_eq!(Version::SOUND.to_string(), "2.14.4");
    }
}
