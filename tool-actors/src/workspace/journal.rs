//! The journal of writes, by idempotency key.
//!
//! The journal is beside the workspaces (`.callboard/`, which tools cannot write), so workers
//! that share the directory share the journal. All access holds its lock. Hence one
//! name suffices for all temporary files, and the next writer overwrites the leftovers of a killed
//! one.

use std::{
    fs::File,
    io::Write as _,
    os::fd::OwnedFd,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use proto::digest;
use rustix::{
    fs::{
        AtFlags, Dir, FlockOperation, Mode, OFlags, ResolveFlags, fchmod, flock, mkdirat, renameat,
        statat, unlinkat,
    },
    io::Errno,
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{FileError, Workspaces, beneath, write::Written};

const DIR: &str = ".callboard";
const WRITES: &str = ".callboard/writes";
const TEMPORARY: &str = "temporary";

/// Longest wait for the lock. A writer holds it for the time of one write.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Time for which a write is remembered. Repeats occur within minutes.
const REMEMBERED: Duration = Duration::from_secs(30 * 24 * 3600);

/// A write that has started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) path: String,
    /// SHA-256 of the request; absent in entries of earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) asked: Option<String>,
    /// State of the file before the write: its SHA-256, or for a move or a removal the identity of
    /// the file; absent if there was none.
    pub(super) before: Option<String>,
    /// SHA-256 of the file after the write; absent for a move or a removal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) after: Option<String>,
    pub(super) result: Written,
    pub(super) done: bool,
}

/// The journal, held exclusively until it is dropped.
pub(super) struct Journal {
    dir: OwnedFd,
    writes: OwnedFd,
    _lock: File,
}

impl Workspaces {
    /// Waits for the journal's lock and opens the journal.
    #[expect(clippy::disallowed_methods, reason = "workspaces are used on blocking threads only")]
    pub(super) fn journal(&self, canceled: &CancellationToken) -> Result<Journal, FileError> {
        for dir in [DIR, WRITES] {
            match mkdirat(&*self.root, dir, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(FileError::system(dir, errno)),
            }
        }
        let directory = |path| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            beneath(&self.root, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        };
        let (dir, writes) = (directory(DIR)?, directory(WRITES)?);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mode = Mode::from_raw_mode(0o644);
        let lock = beneath(&self.root, ".callboard/lock", flags, mode, ResolveFlags::NO_SYMLINKS)?;
        let begun = Instant::now();
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(errno) => return Err(FileError::system(DIR, errno)),
            }
            if canceled.is_cancelled() {
                return Err(FileError::Canceled);
            }
            if begun.elapsed() > LOCK_WAIT {
                return Err(FileError::Busy);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(Journal { dir, writes, _lock: File::from(lock) })
    }

    /// Removes old entries of the journal.
    ///
    /// # Errors
    /// If the journal cannot be read or changed.
    pub fn forget_old_writes(&self) -> Result<(), FileError> {
        let journal = self.journal(&CancellationToken::new())?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let oldest = i64::try_from(now.saturating_sub(REMEMBERED).as_secs()).unwrap_or_default();
        let system = |errno| FileError::system(WRITES, errno);
        for entry in Dir::read_from(&journal.writes).map_err(system)? {
            let name = entry.map_err(system)?.file_name().to_owned();
            if name.to_bytes().starts_with(b".") {
                continue;
            }
            let stat = statat(&journal.writes, &name, AtFlags::SYMLINK_NOFOLLOW).map_err(system)?;
            if stat.st_mtime < oldest {
                unlinkat(&journal.writes, &name, AtFlags::empty()).map_err(system)?;
            }
        }
        Ok(())
    }
}

impl Journal {
    /// Reads the entry of a key.
    pub(super) fn entry(&self, key: &str) -> Result<Option<Entry>, FileError> {
        let name = digest::of_bytes(key.as_bytes());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.writes, &name, flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(FileError::system(WRITES, errno)),
        };
        serde_json::from_reader(File::from(fd))
            .map(Some)
            .map_err(|e| FileError::Failed { path: format!("{WRITES}/{name}"), why: e.to_string() })
    }

    /// Writes the entry of a key.
    pub(super) fn note(&self, key: &str, entry: &Entry) -> Result<(), FileError> {
        let name = digest::of_bytes(key.as_bytes());
        let text = serde_json::to_vec(entry).expect("a journal entry is strings and numbers");
        self.replace(&self.writes, &name, WRITES, &text, None)
    }

    /// Removes the entry of a key.
    pub(super) fn forget(&self, key: &str) {
        let _ = unlinkat(&self.writes, digest::of_bytes(key.as_bytes()), AtFlags::empty());
    }

    /// Replaces a file atomically and durably.
    pub(super) fn replace(
        &self,
        parent: &OwnedFd,
        name: &str,
        path: &str,
        bytes: &[u8],
        mode: Option<Mode>,
    ) -> Result<(), FileError> {
        let result = self.put(parent, name, bytes, mode).map_err(|e| FileError::io(path, &e));
        if result.is_err() {
            let _ = unlinkat(&self.dir, TEMPORARY, AtFlags::empty());
        }
        result
    }

    fn put(
        &self,
        parent: &OwnedFd,
        name: &str,
        bytes: &[u8],
        mode: Option<Mode>,
    ) -> std::io::Result<()> {
        match unlinkat(&self.dir, TEMPORARY, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let fresh = Mode::from_raw_mode(0o644);
        let fd = rustix::fs::openat(&self.dir, TEMPORARY, flags | OFlags::CLOEXEC, fresh)?;
        if let Some(mode) = mode {
            fchmod(&fd, mode)?;
        }
        let mut file = File::from(fd);
        file.write_all(bytes)?;
        file.sync_all()?;
        renameat(&self.dir, TEMPORARY, parent, name)?;
        rustix::fs::fsync(parent)?;
        Ok(())
    }
}
