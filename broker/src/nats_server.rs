//! A nats-server of our own, as a child process: for `callboard dev` and for tests.
//!
//! It finds the program, writes a configuration, waits until the server takes connections, and ends
//! the server when it is dropped. It must never touch a server that it did not start.

use std::{
    fmt, io,
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

/// Names a nats-server to use instead of any that is found.
pub const VARIABLE: &str = "CALLBOARD_NATS_SERVER";

/// The interval at which a starting server is polled.
const LOOK: Duration = Duration::from_millis(5);

/// A version of nats-server, without what follows the patch number (`-beta.1`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Major.
    pub major: u16,
    /// Minor.
    pub minor: u16,
    /// Patch.
    pub patch: u16,
}

impl Version {
    /// The oldest that has what jobs need: batch reads, scheduled messages, pinned consumers.
    pub const FLOOR: Self = Self { major: 2, minor: 12, patch: 0 };
    /// The oldest without known faults in what jobs use.
    pub const SOUND: Self = Self { major: 2, minor: 14, patch: 4 };
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A text is no version.
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
    /// Its path.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
}

/// The nats-server to use: the one that [`VARIABLE`] names and no other, or else the first that is
/// new enough in `.tools/bin` of the working directory or one above it and on the `PATH`. Finds one
/// that is too old when there is no other.
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
    /// The program; [`find`] when absent.
    pub program: Option<PathBuf>,
    /// Its port on the loopback interface; 0 for a free one.
    pub port: u16,
    /// Its data directory, created if missing.
    pub store_dir: PathBuf,
    /// Whether it has the same name at every start. A cluster knows its members by their names: a
    /// server that does not keep its name joins as another member.
    pub keeps_name: bool,
    /// Further lines of its configuration.
    pub config: Vec<String>,
    /// Further lines within `jetstream { … }`, for instance `sync_interval: always`.
    pub jetstream: Vec<String>,
    /// The time limit for its start; 0 for 30 seconds.
    pub patience: Duration,
}

/// A server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No program was found.
    #[error(
        "no nats-server was found: `make nats-server` installs one into .tools/bin, or set \
         {VARIABLE} to the path of one ({} or newer)",
        Version::FLOOR
    )]
    NotFound,
    /// It is too old.
    #[error("{} is nats-server {}: Callboard needs {} or newer", .0.path.display(), .0.version, Version::FLOOR)]
    TooOld(Found),
    /// A file or the process could not be made.
    #[error("nats-server could not be started: {0}")]
    Io(#[from] io::Error),
    /// It ended while it started.
    #[error("nats-server ended while it started; the end of its log:\n{0}")]
    Ended(String),
    /// It took too long.
    #[error("nats-server took no connections within {0:?}; the end of its log:\n{1}")]
    TooSlow(Duration, String),
}

/// The file with the process ids of a directory's server and of its parent.
const PID_FILE: &str = "nats-server.pid";

/// The file with the name of a directory's server.
const NAME_FILE: &str = "nats-server.name";

/// The time limit for the end of a server whose parent was killed.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(10);

/// Ends the server that a parent which was killed has left running on the same directory: two servers
/// must not write to one, and the port is taken. A process that only has the same id is left alone.
async fn end_orphan(store_dir: &Path) {
    let ours = store_dir.join("nats-server.conf");
    let whose = std::fs::read_to_string(store_dir.join(PID_FILE)).unwrap_or_default();
    let mut ids = whose.split_whitespace().map(str::parse::<i32>);
    let (Some(Ok(pid)), Some(Ok(parent))) = (ids.next(), ids.next()) else { return };
    if parent_of(pid) == Some(parent) {
        // Its parent is alive: it is no orphan, and the port will say so.
        return;
    }
    let runs = || {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|word| word == ours.as_os_str().as_encoded_bytes())
    };
    let Some(id) = Pid::from_raw(pid).filter(|_| runs()) else { return };
    tracing::info!(pid, "ending the nats-server of a process that was killed");
    // It may have ended by itself, which is as good.
    let _ = rustix::process::kill_process(id, Signal::TERM);
    let start = Instant::now();
    while runs() && start.elapsed() < ORPHAN_PATIENCE {
        tokio::time::sleep(LOOK).await;
    }
}

/// The parent of a process, as the kernel knows it.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the program's name in parentheses come the state and the parent.
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

/// A nats-server that was started here. Killed when it is dropped.
#[derive(Debug)]
pub struct Child {
    process: process::Child,
    port: u16,
    version: Version,
    log: PathBuf,
}

impl Child {
    /// Starts a server and waits until it takes connections. It is in a process group of its own, so
    /// that an interrupt from the terminal reaches it through its parent alone.
    ///
    /// # Errors
    /// When there is no program that is new enough, or it does not start.
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

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends it a signal. Nothing happens when it has ended.
    pub fn signal(&mut self, signal: Signal) {
        // The process was not waited for, so its id cannot be another's.
        if let (Ok(None), Some(pid)) = (self.process.try_wait(), self.pid()) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Stops it in the middle of whatever it does, until it is sent [`Signal::CONT`]. It has stopped
    /// when this returns.
    pub fn suspend(&mut self) {
        self.signal(Signal::STOP);
        if let (Ok(None), Some(pid)) = (self.process.try_wait(), self.pid()) {
            // A signal is only sent: the process may go on for a moment.
            let stopped = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = rustix::process::waitid(WaitId::Pid(pid), stopped);
        }
    }

    fn pid(&self) -> Option<Pid> {
        i32::try_from(self.process.id()).ok().and_then(Pid::from_raw)
    }

    /// Asks it to end and waits; kills it when it takes longer than `patience`.
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

    /// Kills it and waits until it is gone.
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

/// A port that is free now. Another process may take it before the server does; then the server
/// reports that and ends.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// The name of a directory's server, the same at every start.
///
/// No other server has it, so that a greeting on the port is known to be ours. It stays because a
/// cluster knows its members by their names: under a new one, a restarted server would be a stranger
/// and its old copies of streams would count as lost.
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

/// The server of that name answers there: its first message has its name.
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
