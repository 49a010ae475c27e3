//! Reads of files beneath the workspace.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    num::NonZeroUsize,
};

use rustix::fs::OFlags;
use tokio_util::sync::CancellationToken;

use super::{FileError, Workspace, error::Text, plain_file};

/// Bytes that are read between two looks at a cancellation.
const PIECE: u64 = 1024 * 1024;

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

/// A range of the lines of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lines {
    /// Number of the first line, from 1.
    pub from: NonZeroUsize,
    /// Most lines to read.
    pub count: usize,
}

impl Workspace {
    /// Reads a range of the lines of a file, up to the configured number of bytes. `truncated` says
    /// that the file goes on after them.
    ///
    /// # Errors
    /// If the file is missing or not regular, its path leaves the workspace, or the operation was
    /// cancelled.
    pub fn read_lines(
        &self,
        path: &str,
        lines: Lines,
        canceled: &CancellationToken,
    ) -> Result<Content, FileError> {
        let (file, size) = self.regular(path)?;
        let failed = |error: std::io::Error| FileError::io(path, &error);
        let mut file = BufReader::new(file);
        let mut to_pass = lines.from.get() - 1;
        while to_pass > 0 {
            if canceled.is_cancelled() {
                return Err(FileError::Canceled);
            }
            // A piece at a time: a line may have any length.
            let piece = file.fill_buf().map_err(failed)?;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let passed = end.map_or(piece.len(), |end| end + 1);
            if passed == 0 {
                break;
            }
            file.consume(passed);
            to_pass -= usize::from(end.is_some());
        }
        let (mut bytes, max) = (Vec::new(), self.all.limits.read_bytes_max);
        for _ in 0..lines.count {
            let room = (max - bytes.len()) as u64;
            if file.by_ref().take(room).read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
                break;
            }
        }
        let truncated = !file.fill_buf().map_err(failed)?.is_empty();
        Ok(Content { bytes, size, truncated })
    }

    /// Reads a file, up to the configured number of bytes. Follows symbolic links that stay beneath
    /// the job's own workspace.
    ///
    /// # Errors
    /// If the file is missing or not regular, or its path leaves the workspace.
    pub fn read(&self, path: &str) -> Result<Content, FileError> {
        let (file, size) = self.regular(path)?;
        let max = self.all.limits.read_bytes_max;
        let mut bytes = Vec::new();
        let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
        file.take(limit).read_to_end(&mut bytes).map_err(|e| FileError::io(path, &e))?;
        let truncated = bytes.len() > max;
        bytes.truncate(max);
        Ok(Content { bytes, size, truncated })
    }

    /// Reads a file of at most `max` bytes whole.
    ///
    /// # Errors
    /// If the file is larger, is missing or not regular, its path leaves the workspace, or the operation
    /// was cancelled.
    pub fn read_whole(
        &self,
        path: &str,
        max: u64,
        canceled: &CancellationToken,
    ) -> Result<Vec<u8>, FileError> {
        let (mut file, _) = self.regular(path)?;
        let mut bytes = Vec::new();
        loop {
            if canceled.is_cancelled() {
                return Err(FileError::Canceled);
            }
            let piece = file.by_ref().take(PIECE).read_to_end(&mut bytes);
            if piece.map_err(|error| FileError::io(path, &error))? == 0 {
                return Ok(bytes);
            }
            if bytes.len() as u64 > max {
                return Err(FileError::TooLarge { path: path.to_owned(), max });
            }
        }
    }

    /// Opens a regular file, and returns it with its size in bytes.
    pub(super) fn regular(&self, path: &str) -> Result<(File, u64), FileError> {
        if path.is_empty() || path.contains('\0') {
            let why = Text::NoPath.into();
            return Err(FileError::Path { path: path.chars().take(200).collect(), why });
        }
        // Without `NONBLOCK` the open would wait for a pipe's other end; pipes are refused below.
        let fd = self.open(path, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let stat = plain_file(path, &fd)?;
        Ok((File::from(fd), u64::try_from(stat.st_size).unwrap_or_default()))
    }
}
