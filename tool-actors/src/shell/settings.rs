//! The settings of the shell.

use std::path::PathBuf;

use proto::{lang::Words, tool::Approval};
use runtime::config::{Check, HOUR, wide};
use sandbox::Isolation;
use serde::Deserialize;

use crate::tools::Text;

/// Settings of the tool `run`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// `false` to offer no shell.
    pub enabled: bool,
    /// The least isolation. Without it the tool is not offered.
    pub isolation: Isolation,
    /// Need for an approval of every command.
    pub approval: Approval,
    /// Time limit of one command in milliseconds.
    pub timeout_ms: u64,
    /// Largest number of bytes kept of standard output, and of standard error.
    pub output_bytes: usize,
    /// Largest address space of one process, in MiB.
    pub memory_mb: u64,
    /// Largest file, in MiB.
    pub file_mb: u64,
    /// Largest size of the workspace, in MiB.
    pub workspace_mb: u64,
    /// Largest number of files and directories in the workspace.
    pub workspace_files: usize,
    /// Largest number of processes and threads of one command.
    pub processes: u64,
    /// Largest number of commands at a time.
    pub concurrency: u32,
    /// Files and directories that commands may read and execute, besides programs and libraries.
    pub readable: Vec<PathBuf>,
    /// The first of [`USERS`] ids that no user of the machine has. The commands of a worker that is
    /// root run under them, those of a workspace always under the same one.
    pub first_user: u32,
}

/// Number of ids of users for commands.
pub const USERS: u32 = 1 << 20;

impl Shell {
    pub(crate) fn check(&self, check: &mut Check) {
        check.bounds(&[
            ("tools.shell.timeout_ms", self.timeout_ms, 1, 12 * HOUR),
            ("tools.shell.output_bytes", wide(self.output_bytes), 1, 64 * 1024),
            ("tools.shell.memory_mb", self.memory_mb, 16, 1 << 24),
            ("tools.shell.file_mb", self.file_mb, 1, 1 << 20),
            ("tools.shell.workspace_mb", self.workspace_mb, 1, 1 << 20),
            ("tools.shell.workspace_files", wide(self.workspace_files), 1, 1_000_000),
            ("tools.shell.processes", self.processes, 1, 65_536),
            ("tools.shell.concurrency", u64::from(self.concurrency), 1, 1024),
            ("tools.shell.first_user", u64::from(self.first_user), 1000, u64::from(u32::MAX / 2)),
        ]);
        for path in self.readable.iter().filter(|path| !path.is_absolute()) {
            let path = path.display();
            let why = Words::new(|language| Text::NotAbsolute { path: &path }.text(language));
            check.wrong("tools.shell.readable", why);
        }
    }
}
