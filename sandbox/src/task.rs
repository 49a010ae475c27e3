//! A command with its bounds, and its end.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::message::Status;

/// A command and everything that it may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// The program and its arguments. A name without a slash is searched on [`Task::PATH`].
    pub argv: Vec<String>,
    /// The working directory, an absolute path.
    pub directory: PathBuf,
    /// Environment variables besides `PATH`. No other variable is passed on.
    pub variables: BTreeMap<String, String>,
    /// Files and directories to read and execute, besides [`Task::READABLE`]. Those that do not
    /// exist are left out.
    pub readable: Vec<PathBuf>,
    /// Files and directories to read, write and execute; each must exist.
    pub writable: Vec<PathBuf>,
    /// Directory that becomes `/tmp` in namespaces; it must be in `writable`.
    pub temporary: Option<PathBuf>,
    /// User and group of the command; `None` for those of this process, which must not be root.
    pub user: Option<u32>,
    /// The layers around the command.
    pub isolation: Isolation,
    /// The bounds of the command.
    pub limits: Limits,
}

impl Task {
    /// The directories of programs.
    pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

    /// Paths that every command may read and execute: programs, libraries, and the few files of `/etc`
    /// that programs need to start. None of them holds a secret.
    pub const READABLE: &[&str] = &[
        "/usr",
        "/bin",
        "/sbin",
        "/lib",
        "/lib32",
        "/lib64",
        "/etc/alternatives",
        "/etc/group",
        "/etc/ld.so.cache",
        "/etc/ld.so.conf",
        "/etc/ld.so.conf.d",
        "/etc/localtime",
        "/etc/nsswitch.conf",
        "/etc/passwd",
        "/etc/ssl/certs",
    ];
}

/// The layers around a command. Each includes the layers before it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, derive_more::Display,
)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// No capabilities and no way to new ones, Landlock, seccomp and resource limits. Needs nothing
    /// but the kernel, so it works in a container.
    #[display("kernel")]
    Kernel,
    /// Also namespaces of its own for processes, mounts, network and IPC.
    #[display("namespaces")]
    Namespaces,
}

/// The bounds of a command and of all that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Run time in milliseconds; the end is a kill.
    pub time_ms: u64,
    /// Largest number of bytes kept of standard output, and of standard error.
    pub output_bytes: usize,
    /// Largest address space of one process, in bytes.
    pub memory_bytes: u64,
    /// Largest file, in bytes.
    pub file_bytes: u64,
    /// Largest number of processes and threads at a time.
    pub processes: u64,
    /// Largest number of open files of one process.
    pub open_files: u64,
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// End of the command's own process.
    pub status: Status,
    /// Why the warden killed the command; `None` if it ended by itself.
    pub stopped: Option<Stopped>,
    /// Standard output.
    pub stdout: Output,
    /// Standard error.
    pub stderr: Output,
    /// Run time in milliseconds.
    pub took_ms: u64,
    /// Number of processes that still ran at the end and were killed.
    pub killed: usize,
}

/// Why a command was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// Its time was over.
    TimedOut,
    /// Nobody waits for it any more.
    Canceled,
}

/// The beginning of an output stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The kept text; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Number of further bytes, which were dropped.
    pub dropped: u64,
}
