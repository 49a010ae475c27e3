//! Writes of files beneath the workspace, once per idempotency key.

use std::{fs::File, io::Read, os::fd::OwnedFd};

use proto::digest;
use rustix::{
    fs::{AtFlags, Mode, OFlags, ResolveFlags, mkdirat, openat, statat},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    FileError, Workspace, beneath,
    journal::{Entry, Journal},
    path, plain, plain_file,
};

/// A write to a file.
#[derive(Debug, Clone)]
pub struct Write {
    /// Path relative to the workspace. Missing directories are created.
    pub path: String,
    /// The change of the file's content.
    pub change: Change,
    /// Idempotency key: a repeat writes nothing and returns the first result. Another request under
    /// the same key is refused.
    pub key: String,
}

/// A change of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The text becomes the whole content.
    Replace(String),
    /// The text follows the content.
    Append(String),
    /// A part of the content becomes another text.
    Edit(Edit),
}

/// An exact replacement in a text file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The text to replace.
    pub old: String,
    /// The text in its place.
    pub new: String,
    /// Replaces the text wherever it occurs. Otherwise it must occur once.
    pub all: bool,
}

impl Write {
    /// Returns the SHA-256 of everything but the key.
    fn digest(&self) -> String {
        let Self { path, change, key: _ } = self;
        digest::of_json(&match change {
            Change::Replace(content) => json!([path, content, false]),
            Change::Append(content) => json!([path, content, true]),
            Change::Edit(Edit { old, new, all }) => {
                json!([path, { "old": old, "new": new, "all": all }])
            }
        })
    }

    /// Returns the content after the change, and the number of replacements of an edit.
    fn applied(
        &self,
        before: Option<&Present>,
        max: u64,
    ) -> Result<(Vec<u8>, Option<usize>), FileError> {
        match &self.change {
            Change::Replace(content) => Ok((content.clone().into_bytes(), None)),
            Change::Append(content) => {
                let mut bytes = before.map(|before| before.bytes.clone()).unwrap_or_default();
                bytes.extend_from_slice(content.as_bytes());
                Ok((bytes, None))
            }
            Change::Edit(edit) => {
                let before = before.ok_or_else(|| FileError::Missing(self.path.clone()))?;
                let (text, times) = edit.applied(&self.path, &before.bytes, max)?;
                Ok((text.into_bytes(), Some(times)))
            }
        }
    }
}

impl Edit {
    fn applied(&self, path: &str, before: &[u8], max: u64) -> Result<(String, usize), FileError> {
        let text = str::from_utf8(before).map_err(|_| FileError::Binary(path.to_owned()))?;
        match text.matches(&self.old).count() {
            0 => Err(FileError::NoMatch(path.to_owned())),
            times if times > 1 && !self.all => {
                Err(FileError::Ambiguous { path: path.to_owned(), times })
            }
            times => {
                let left = text.len() - times * self.old.len();
                let bytes = times.saturating_mul(self.new.len()).saturating_add(left);
                if bytes as u64 > max {
                    return Err(FileError::TooLarge { path: path.to_owned(), max });
                }
                Ok((text.replace(&self.old, &self.new), times))
            }
        }
    }
}

/// The result of a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Path relative to the workspace.
    pub path: String,
    /// Size of the file after the write, in bytes.
    pub bytes: u64,
    /// `true` if the file did not exist before.
    pub created: bool,
    /// Number of replacements of an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<usize>,
}

/// A file before a write.
struct Present {
    bytes: Vec<u8>,
    mode: Mode,
}

impl Workspace {
    /// Writes a file atomically, once per idempotency key.
    ///
    /// # Errors
    /// If the path is not writable, an edit does not fit the file, the disk is full, or the operation
    /// was cancelled; then nothing was written. [`FileError::KeyUsed`] if the key belongs to another request.
    /// [`FileError::Unknown`] if an earlier attempt was interrupted and its outcome
    /// cannot be determined.
    pub fn write(&self, write: &Write, canceled: &CancellationToken) -> Result<Written, FileError> {
        let names = path::writable(&write.path, &self.all.limits.protected)?;
        let journal = self.all.journal(canceled)?;
        let begun = journal.entry(&write.key)?;
        if let Some(entry) = &begun {
            if entry.asked.as_ref().is_some_and(|asked| *asked != write.digest()) {
                return Err(FileError::KeyUsed(write.path.clone()));
            }
            if entry.done {
                return Ok(entry.result.clone());
            }
        }
        if matches!(write.change, Change::Edit(_)) {
            // An edit makes no file, so it makes no directory either.
            self.open(&write.path, OFlags::RDONLY | OFlags::NONBLOCK)?;
        }
        let (name, parents) = names.split_last().expect("a writable path has a name");
        let parent = self.make_dirs(parents)?;
        let present = self.present(&parent, name, &write.path)?;
        let shared = match &present {
            Some(_) => None,
            None => self.shared(&write.path)?,
        };
        let before = present.as_ref().or(shared.as_ref());
        let entry = match begun {
            Some(entry) => match Cut::of(&entry, present.as_ref()) {
                Cut::AfterWriting => return finish(&journal, &write.key, entry),
                Cut::BeforeWriting => entry,
                Cut::Unclear => return Err(FileError::Unknown(write.path.clone())),
            },
            None => self.begin(&journal, write, present.as_ref(), before)?,
        };
        if canceled.is_cancelled() {
            journal.forget(&write.key);
            return Err(FileError::Canceled);
        }
        let (bytes, _) = write.applied(before, self.all.limits.file_bytes_max)?;
        let mode = before.map(|before| before.mode);
        if let Err(error) = journal.replace(&parent, name, &write.path, &bytes, mode) {
            journal.forget(&write.key);
            return Err(error);
        }
        finish(&journal, &write.key, entry)
    }

    fn begin(
        &self,
        journal: &Journal,
        write: &Write,
        present: Option<&Present>,
        before: Option<&Present>,
    ) -> Result<Entry, FileError> {
        let (bytes, replaced) = write.applied(before, self.all.limits.file_bytes_max)?;
        let (size, max) = (bytes.len() as u64, self.all.limits.file_bytes_max);
        if size > max {
            return Err(FileError::TooLarge { path: write.path.clone(), max });
        }
        let created = before.is_none();
        let result = Written { path: write.path.clone(), bytes: size, created, replaced };
        let entry = Entry {
            path: write.path.clone(),
            asked: Some(write.digest()),
            before: present.map(|present| digest::of_bytes(&present.bytes)),
            after: Some(digest::of_bytes(&bytes)),
            result,
            done: false,
        };
        journal.note(&write.key, &entry)?;
        Ok(entry)
    }

    /// Creates the missing directories and opens the last one, following no symbolic link.
    pub(super) fn make_dirs(&self, names: &[&str]) -> Result<OwnedFd, FileError> {
        let open = |path: &str| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            beneath(&self.all.root, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        };
        let (mut path, mut dir) = (String::from("."), open(".")?);
        for name in [self.kind, &self.id].iter().chain(names) {
            path = format!("{path}/{name}");
            dir = match open(&path) {
                Ok(dir) => dir,
                Err(FileError::Missing(_)) => {
                    match mkdirat(&dir, *name, Mode::from_raw_mode(0o755)) {
                        Ok(()) | Err(Errno::EXIST) => open(&path)?,
                        Err(errno) => return Err(FileError::system(&path, errno)),
                    }
                }
                Err(other) => return Err(other),
            };
        }
        Ok(dir)
    }

    fn present(
        &self,
        parent: &OwnedFd,
        name: &str,
        path: &str,
    ) -> Result<Option<Present>, FileError> {
        let system = |errno| FileError::system(path, errno);
        match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => plain(path, &stat)?,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(system(errno)),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(parent, name, flags, Mode::empty()).map_err(system)?;
        self.content_of(path, fd).map(Some)
    }

    /// Reads the file that all jobs may read, which the workspace's own is about to hide.
    fn shared(&self, path: &str) -> Result<Option<Present>, FileError> {
        match self.open(path, OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(fd) => self.content_of(path, fd).map(Some),
            Err(FileError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn content_of(&self, path: &str, fd: OwnedFd) -> Result<Present, FileError> {
        let stat = plain_file(path, &fd)?;
        let max = self.all.limits.file_bytes_max;
        let mut bytes = Vec::new();
        File::from(fd)
            .take(max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|e| FileError::io(path, &e))?;
        if bytes.len() as u64 > max {
            return Err(FileError::TooLarge { path: path.to_owned(), max });
        }
        // Permission bits are kept, except set-user-id and set-group-id.
        Ok(Present { bytes, mode: Mode::from_raw_mode(stat.st_mode & 0o777) })
    }
}

/// The point at which an earlier attempt with the same key was interrupted.
enum Cut {
    BeforeWriting,
    AfterWriting,
    Unclear,
}

impl Cut {
    fn of(entry: &Entry, present: Option<&Present>) -> Self {
        let now = present.map(|present| digest::of_bytes(&present.bytes));
        if now == entry.after {
            Self::AfterWriting
        } else if now == entry.before {
            Self::BeforeWriting
        } else {
            Self::Unclear
        }
    }
}

pub(super) fn finish(journal: &Journal, key: &str, mut entry: Entry) -> Result<Written, FileError> {
    entry.done = true;
    journal.note(key, &entry)?;
    Ok(entry.result)
}
