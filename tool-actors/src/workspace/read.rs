//! Reads of files beneath the workspace.

use std::{fs::File, io::Read};

use rustix::fs::OFlags;

use super::{FileError, Workspace, error::Text, plain_file};

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The file's bytes, up to the configured limit.
    pub bytes: Vec<u8>,
    /// Size of the whole file, in bytes.
    pub size: u64,
    /// `true` if the file exceeds the limit.
    pub truncated: bool,
}

impl Workspace {
    /// Reads a file, up to the configured number of bytes. Follows symbolic links that stay beneath
    /// the job's own workspace.
    ///
    /// # Errors
    /// If the file is missing or not regular, or its path leaves the workspace.
    pub fn read(&self, path: &str) -> Result<Content, FileError> {
        if path.is_empty() || path.contains('\0') {
            let why = Text::NoPath.into();
            return Err(FileError::Path { path: path.chars().take(200).collect(), why });
        }
        // Without `NONBLOCK` the open would wait for a pipe's other end; pipes are refused below.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let fd = self.open(path, flags)?;
        let stat = plain_file(path, &fd)?;
        let max = self.all.limits.read_bytes_max;
        let mut bytes = Vec::new();
        let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
        File::from(fd).take(limit).read_to_end(&mut bytes).map_err(|e| FileError::io(path, &e))?;
        let truncated = bytes.len() > max;
        bytes.truncate(max);
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        Ok(Content { bytes, size, truncated })
    }
}
