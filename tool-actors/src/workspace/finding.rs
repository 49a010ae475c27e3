//! Searches in a workspace: for files by path, and for lines by their text.

use std::io::Read;

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{
    FileError, Workspace, path,
    tree::{Listed, ListedKind, Listing, Next},
};

/// Largest number of lines that a search gives.
const MATCHES_MAX: usize = 200;
/// Largest size of the lines that a search gives, in bytes.
const MATCHED_BYTES_MAX: usize = 128 * 1024;
/// Largest number of bytes that a search reads.
const SEARCHED_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Largest size of a compiled pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 256 * 1024;
/// Number of lines after which a search looks whether it was cancelled.
const LINES_BETWEEN_LOOKS: usize = 256;
/// Largest line that a search looks at, in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024;
/// Length to which a line is cut, in characters.
const LINE_CHARS: usize = 400;
/// Bytes at the beginning of a file in which a NUL says that the file is no text.
const LOOKED_AT: usize = 8 * 1024;

/// A search for lines.
#[derive(Debug, Clone)]
pub struct Search {
    /// Regular expression.
    pub pattern: String,
    /// Directory to search in; empty for the workspace.
    pub path: String,
    /// Pattern of the paths of the files to search; all when absent.
    pub files: Option<String>,
    /// Takes small and capital letters as equal.
    pub ignore_case: bool,
}

/// A line that a search has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Match {
    /// Path of the file, relative to the workspace.
    pub path: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// The line, cut to 400 characters.
    pub text: String,
}

/// The result of a search for lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The lines, by path.
    pub matches: Vec<Match>,
    /// Number of the files that were read.
    pub files: usize,
    /// `true` if something was not searched, or there are more lines.
    pub truncated: bool,
}

/// A pattern of paths.
struct Paths {
    matcher: GlobMatcher,
    /// `true` if the pattern holds for the name of a file alone.
    is_of_name: bool,
}

impl Paths {
    fn new(pattern: &str) -> Result<Self, FileError> {
        let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| FileError::Pattern {
            pattern: pattern.to_owned(),
            why: error.kind().to_string(),
        })?;
        Ok(Self { matcher: glob.compile_matcher(), is_of_name: !pattern.contains('/') })
    }

    /// Returns whether a path fits, relative to the directory of the search.
    fn has(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.matcher.is_match(if self.is_of_name { name } else { path })
    }
}

/// Returns a path relative to the directory of a search.
fn below<'a>(directory: &str, path: &'a str) -> &'a str {
    path.strip_prefix(directory).map_or(path, |path| path.trim_start_matches('/'))
}

fn is_hidden(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with('.'))
}

impl Workspace {
    /// Finds the files beneath a directory whose paths fit a pattern. Names that begin with a dot are
    /// left out.
    ///
    /// # Errors
    /// If the pattern cannot be read, there is no such directory, or the operation was cancelled.
    pub fn find(
        &self,
        pattern: &str,
        directory: &str,
        canceled: &CancellationToken,
    ) -> Result<Listing, FileError> {
        let (paths, mut found) = (Paths::new(pattern)?, Listing::default());
        let directory = &path::directory(directory)?.join("/");
        let is_whole = self.walk(directory, canceled, |listed| match listed.kind {
            _ if is_hidden(&listed.path) => Next::Skip,
            ListedKind::File if paths.has(below(directory, &listed.path)) => {
                found.add(listed.clone())
            }
            ListedKind::File | ListedKind::Directory | ListedKind::Link | ListedKind::Other => {
                Next::Enter
            }
        })?;
        found.truncated |= !is_whole;
        Ok(found)
    }

    /// Searches the text files beneath a directory for lines that fit a regular expression. Names
    /// that begin with a dot are left out.
    ///
    /// # Errors
    /// If a pattern cannot be read, there is no such directory, or the operation was cancelled.
    pub fn search(
        &self,
        search: &Search,
        canceled: &CancellationToken,
    ) -> Result<Found, FileError> {
        let Search { pattern, path: directory, files, ignore_case } = search;
        let line = RegexBuilder::new(pattern)
            .case_insensitive(*ignore_case)
            .size_limit(PATTERN_BYTES_MAX)
            .build()
            .map_err(|error| FileError::Pattern {
                pattern: pattern.clone(),
                // The last line of the library's text is the reason; the others draw the pattern.
                why: error.to_string().lines().last().unwrap_or_default().to_owned(),
            })?;
        let paths = files.as_deref().map(Paths::new).transpose()?;
        let directory = &path::directory(directory)?.join("/");
        let mut searching = Searching { found: Found::default(), read: 0, bytes: 0 };
        let is_whole = self.walk(directory, canceled, |listed| {
            let is_wanted =
                || paths.as_ref().is_none_or(|paths| paths.has(below(directory, &listed.path)));
            match listed.kind {
                _ if is_hidden(&listed.path) => Next::Skip,
                ListedKind::File if is_wanted() => searching.file(self, listed, &line, canceled),
                ListedKind::File | ListedKind::Directory | ListedKind::Link | ListedKind::Other => {
                    Next::Enter
                }
            }
        })?;
        searching.found.truncated |= !is_whole;
        Ok(searching.found)
    }
}

/// A running search for lines.
struct Searching {
    found: Found,
    /// Bytes read from files.
    read: u64,
    /// Bytes of the lines found.
    bytes: usize,
}

impl Searching {
    /// Searches a file.
    fn file(
        &mut self,
        workspace: &Workspace,
        listed: &Listed,
        line: &Regex,
        canceled: &CancellationToken,
    ) -> Next {
        let size = listed.bytes.unwrap_or_default();
        if self.read.saturating_add(size) > SEARCHED_BYTES_MAX {
            self.found.truncated = true;
            return Next::End;
        }
        let max = workspace.all.limits.file_bytes_max;
        // The tools do not read every file, for example one that has a second name.
        let Ok((file, _)) = workspace.regular(&listed.path) else { return Next::Skip };
        let mut bytes = Vec::new();
        if size > max || file.take(max).read_to_end(&mut bytes).is_err() {
            self.found.truncated = true;
            return Next::Skip;
        }
        self.read += bytes.len() as u64;
        if bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0) {
            return Next::Skip;
        }
        self.found.files += 1;
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        for (n, text) in text.split(|byte| *byte == b'\n').enumerate() {
            if n % LINES_BETWEEN_LOOKS == 0 && canceled.is_cancelled() {
                return Next::Enter;
            }
            if text.len() > LINE_BYTES_MAX {
                self.found.truncated = true;
            } else if line.is_match(text) && self.add(&listed.path, n + 1, text) == Next::End {
                return Next::End;
            }
        }
        Next::Enter
    }

    /// Adds a line, and returns whether there is room for another one.
    fn add(&mut self, path: &str, line: usize, text: &[u8]) -> Next {
        let text = String::from_utf8_lossy(text);
        let text: String = text.trim_end_matches('\r').chars().take(LINE_CHARS).collect();
        self.bytes += path.len() + text.len();
        if self.found.matches.len() == MATCHES_MAX || self.bytes > MATCHED_BYTES_MAX {
            self.found.truncated = true;
            return Next::End;
        }
        self.found.matches.push(Match { path: path.to_owned(), line, text });
        Next::Enter
    }
}
