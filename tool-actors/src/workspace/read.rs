//! Reading a file beneath the workspace.

use std::{fs::File, io::Read};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use super::{FileError, Workspace, plain_file};

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The file's bytes, or the first of them.
    pub bytes: Vec<u8>,
    /// The file's whole size.
    pub size: u64,
    /// Whether the file goes on.
    pub truncated: bool,
}

impl Workspace {
    /// Reads a file, up to the configured number of bytes. Symbolic links are followed as long as
    /// they stay beneath the workspace.
    ///
    /// # Errors
    /// When there is no such file, it is not a plain file, or its path leads out of the workspace.
    pub fn read(&self, path: &str) -> Result<Content, FileError> {
        if path.is_empty() || path.contains('\0') {
            let why = "a path has at least one byte and no NUL";
            return Err(FileError::Path { path: path.chars().take(200).collect(), why });
        }
        // Not to wait for the other end of a pipe, which is refused a line later.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let fd = self.beneath(path, flags, Mode::empty(), ResolveFlags::empty())?;
        let stat = plain_file(path, &fd)?;
        let max = self.config.read_bytes_max;
        let mut bytes = Vec::new();
        let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
        File::from(fd).take(limit).read_to_end(&mut bytes).map_err(|e| FileError::io(path, &e))?;
        let truncated = bytes.len() > max;
        bytes.truncate(max);
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        Ok(Content { bytes, size, truncated })
    }
}
