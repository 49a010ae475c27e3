//! The files and directories that a job sees: its workspace's own, and behind them those for all.
//!
//! A walk holds a handle of each directory on its way and opens the next one by name, so a
//! concurrent rename leads nowhere else. It follows no symbolic link.

use std::{collections::BTreeMap, os::fd::OwnedFd};

use rustix::{
    fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, statat},
    io::Errno,
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{FileError, Workspace, beneath, path};

/// Largest number of files and directories that one walk looks at.
const VISITED_MAX: usize = 20_000;
/// Largest depth of directories that a walk enters.
const LEVELS_MAX: usize = 32;
/// Largest number of entries in a list of files.
const LISTED_MAX: usize = 1_000;
/// Largest size of the paths in a list of files, in bytes. As JSON they may take six times as many.
const LISTED_BYTES_MAX: usize = 128 * 1024;

/// The kind of a listed name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ListedKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A pipe, socket or device, or a kind that this system does not tell.
    Other,
}

impl ListedKind {
    fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Self::Other,
        }
    }
}

/// A name in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Path relative to the workspace.
    pub path: String,
    /// Kind of what has this name.
    pub kind: ListedKind,
    /// Size of a file in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// `true` for what all jobs may read, and `false` for the workspace's own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// Names in a workspace, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The names, at most 1,000.
    pub entries: Vec<Listed>,
    /// `true` if there are more.
    pub truncated: bool,
    /// Size of the paths in bytes.
    bytes: usize,
}

impl Listing {
    /// Adds a name, and returns whether there is room for another one.
    pub(super) fn add(&mut self, listed: Listed) -> Next {
        self.bytes += listed.path.len();
        if self.entries.len() == LISTED_MAX || self.bytes > LISTED_BYTES_MAX {
            self.truncated = true;
            return Next::End;
        }
        self.entries.push(listed);
        Next::Enter
    }
}

/// The continuation of a walk after a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The walk enters the name, if it is a directory.
    Enter,
    /// The walk leaves out what is in the name.
    Skip,
    /// The walk ends.
    End,
}

/// A directory of a walk: the workspace's own, the one for all, or both with the same path.
struct Level {
    path: String,
    own: Option<OwnedFd>,
    shared: Option<OwnedFd>,
}

/// A name in a directory of a walk.
struct Name {
    kind: ListedKind,
    bytes: u64,
    own: bool,
    shared: bool,
}

impl Workspace {
    /// Lists a directory.
    ///
    /// # Errors
    /// If there is no such directory, or it cannot be read.
    pub fn list(&self, path: &str) -> Result<Listing, FileError> {
        let mut listing = Listing::default();
        let never = CancellationToken::new();
        self.walk(path, &never, |listed| match listing.add(listed.clone()) {
            Next::Enter | Next::Skip => Next::Skip,
            Next::End => Next::End,
        })?;
        Ok(listing)
    }

    /// Visits the names beneath a directory in the order of their paths. Returns whether it has
    /// visited all that it was to visit.
    ///
    /// # Errors
    /// If there is no such directory, it cannot be read, or the operation was cancelled.
    pub(super) fn walk(
        &self,
        path: &str,
        canceled: &CancellationToken,
        mut visit: impl FnMut(&Listed) -> Next,
    ) -> Result<bool, FileError> {
        let mut levels = vec![Walked::of(self.level(path)?)?];
        let (mut visited, mut is_whole) = (0, true);
        loop {
            let depth = levels.len();
            let Some(walked) = levels.last_mut() else { return Ok(is_whole) };
            let Some((name, found)) = walked.names.pop_first() else {
                levels.pop();
                continue;
            };
            if canceled.is_cancelled() {
                return Err(FileError::Canceled);
            }
            if visited == VISITED_MAX {
                return Ok(false);
            }
            visited += 1;
            let listed = found.listed(&walked.level.path, &name);
            match (visit(&listed), found.kind) {
                (Next::End, _) => return Ok(is_whole),
                (Next::Enter, ListedKind::Directory) if depth == LEVELS_MAX => {
                    is_whole = false;
                }
                (Next::Enter, ListedKind::Directory) => {
                    // Another process may have removed the directory, or put a file in its place.
                    if let Some(level) = walked.level.enter(&name, &found, listed.path)
                        && let Ok(walked) = Walked::of(level)
                    {
                        levels.push(walked);
                    }
                }
                (
                    Next::Enter | Next::Skip,
                    ListedKind::File | ListedKind::Directory | ListedKind::Link | ListedKind::Other,
                ) => {}
            }
        }
    }

    /// Opens the directories with a path.
    fn level(&self, path: &str) -> Result<Level, FileError> {
        let names = path::directory(path)?.join("/");
        let at = if names.is_empty() { "." } else { &names };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let open =
            |root: &OwnedFd| beneath(root, at, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
        let own = match self.own().and_then(|own| open(&own)) {
            Err(FileError::Missing(_)) => None,
            own => Some(own?),
        };
        // A file of the workspace hides a directory for all.
        let is_shared = names.is_empty() || path::is_shared(&names);
        let shared = if is_shared { open(&self.all.root).ok() } else { None };
        if own.is_none() && shared.is_none() {
            return Err(FileError::Missing(path.to_owned()));
        }
        Ok(Level { path: names, own, shared })
    }
}

/// A directory of a walk, with the names that are left to visit.
struct Walked {
    level: Level,
    names: BTreeMap<String, Name>,
}

impl Walked {
    fn of(level: Level) -> Result<Self, FileError> {
        let mut names = BTreeMap::new();
        if let Some(own) = &level.own {
            for (name, kind, bytes) in entries(own, &level.path)? {
                names.insert(name, Name { kind, bytes, own: true, shared: false });
            }
        }
        if let Some(shared) = &level.shared {
            for (name, kind, bytes) in entries(shared, &level.path)? {
                if level.path.is_empty() && !path::is_shared(&name) {
                    continue;
                }
                let new = Name { kind, bytes, own: false, shared: true };
                let both = names.entry(name).or_insert(new);
                both.shared |= (both.kind, kind) == (ListedKind::Directory, ListedKind::Directory);
            }
        }
        Ok(Self { level, names })
    }
}

impl Level {
    /// Opens a directory in this one.
    fn enter(&self, name: &str, found: &Name, path: String) -> Option<Self> {
        let open = |parent: &Option<OwnedFd>, is_there: bool| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
            let parent = parent.as_ref().filter(|_| is_there)?;
            beneath(parent, name, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()
        };
        let (own, shared) = (open(&self.own, found.own), open(&self.shared, found.shared));
        (own.is_some() || shared.is_some()).then_some(Self { path, own, shared })
    }
}

impl Name {
    fn listed(&self, directory: &str, name: &str) -> Listed {
        let path =
            if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
        let bytes = (self.kind == ListedKind::File).then_some(self.bytes);
        Listed { path, kind: self.kind, bytes, shared: !self.own }
    }
}

/// Reads the names in a directory, at most one more than a walk looks at. Names that are not text
/// are left out: no path of a tool can name them.
fn entries(dir: &OwnedFd, path: &str) -> Result<Vec<(String, ListedKind, u64)>, FileError> {
    let system = |errno| FileError::system(path, errno);
    let mut found = Vec::new();
    for entry in Dir::read_from(dir).map_err(system)? {
        let entry = entry.map_err(system)?;
        if found.len() > VISITED_MAX {
            break;
        }
        let Ok(name) = entry.file_name().to_str() else { continue };
        if matches!(name, "." | "..") {
            continue;
        }
        match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let bytes = u64::try_from(stat.st_size).unwrap_or_default();
                found.push((name.to_owned(), ListedKind::of(&stat), bytes));
            }
            Err(Errno::NOENT) => {}
            Err(errno) => return Err(system(errno)),
        }
    }
    Ok(found)
}
