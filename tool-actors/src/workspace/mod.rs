//! Workspaces: directories beneath which tools read and write, one for each job or conversation.
//!
//! A directory holds all of them, `jobs/<id>` and `conversations/<id>`. Its other files are for
//! every job to read. A job writes only in its own workspace, which hides a file of the same path
//! that all may read.
//!
//! The kernel resolves every path beneath a handle of that directory (`openat2` with
//! `RESOLVE_BENEATH`); on a kernel without this call the tools refuse to run. Only regular files
//! with one name are accessed. A write is atomic and applied once per idempotency key.

mod error;
mod finding;
mod journal;
mod path;
mod read;
mod relocate;
pub(crate) mod remove;
mod tree;
mod unused;
mod write;

use std::{
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf, absolute},
    sync::Arc,
};

use proto::id::{ConversationId, JobId};
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2},
    io::Errno,
};

use self::error::Text;
pub use self::{
    error::FileError,
    finding::{Found, Match, Search},
    read::{Content, Lines},
    relocate::Relocation,
    tree::{Listed, ListedKind, Listing},
    unused::{Period, PutAway},
    write::{Change, Edit, Write, Written},
};

/// Number of repeats of a path lookup that a concurrent rename disturbed.
const DISTURBED_MAX: usize = 16;

/// The limits of the file tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Files and directories beneath the workspace that tools never write, in addition to every
    /// name that begins with a dot.
    pub protected: Vec<String>,
    /// Largest number of bytes that one `read_file` returns.
    pub read_bytes_max: usize,
    /// Largest file that `write_file` writes, in bytes.
    pub file_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            protected: vec!["callboard.toml".to_owned(), "agents".to_owned()],
            read_bytes_max: 256 * 1024,
            file_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// The job or conversation that a workspace belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// A job outside of any conversation, for itself, its sub-agents' jobs and its forks.
    Job(JobId),
    /// A conversation, for all of its jobs.
    Conversation(ConversationId),
}

impl Owner {
    /// Returns the names of the directories that lead to the workspace.
    fn names(&self) -> (&'static str, &str) {
        match self {
            Self::Job(id) => (JOBS, id.as_str()),
            Self::Conversation(id) => (CONVERSATIONS, id.as_str()),
        }
    }
}

/// The directory of all workspaces and of the files that all jobs may read; cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspaces {
    path: Arc<Path>,
    root: Arc<OwnedFd>,
    limits: Arc<Limits>,
}

impl Workspaces {
    /// Opens a directory, and creates it if missing.
    ///
    /// # Errors
    /// If the directory cannot be created or opened, or the kernel cannot resolve paths beneath it.
    pub fn open(directory: &Path, limits: Limits) -> Result<Self, FileError> {
        let name = directory.display().to_string();
        std::fs::create_dir_all(directory).map_err(|e| FileError::io(&name, &e))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, directory, flags, Mode::empty())
            .map_err(|e| FileError::system(&name, e))?;
        beneath(&root, ".", flags, Mode::empty(), ResolveFlags::empty())?;
        let path = absolute(directory).map_err(|e| FileError::io(&name, &e))?.into();
        Ok(Self { path, root: Arc::new(root), limits: Arc::new(limits) })
    }

    /// Returns the workspace of an owner. The first write creates its directory.
    #[must_use]
    pub fn of(&self, owner: &Owner) -> Workspace {
        let (kind, id) = owner.names();
        Workspace { all: self.clone(), kind, id: id.to_owned() }
    }
}

/// Directory of the workspaces of jobs.
const JOBS: &str = "jobs";
/// Directory of the workspaces of conversations.
const CONVERSATIONS: &str = "conversations";

/// A handle of the workspace of one job or conversation. All its methods block.
#[derive(Debug, Clone)]
pub struct Workspace {
    all: Workspaces,
    kind: &'static str,
    id: String,
}

impl Workspace {
    /// Returns the name of the workspace among all.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.kind, self.id)
    }

    /// Returns the path of the workspace's own directory, and creates it if missing.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn directory(&self) -> Result<PathBuf, FileError> {
        self.make_dirs(&[])?;
        Ok(self.all.path.join(self.kind).join(&self.id))
    }

    /// Returns the paths of the files and directories that all jobs may read.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn shared_files(&self) -> Result<Vec<PathBuf>, FileError> {
        let failed = |error| FileError::io(&self.all.path.display().to_string(), &error);
        let entries = fs::read_dir(&self.all.path).map_err(failed)?;
        // A link may lead out of what all jobs may read.
        let entries = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file()));
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        Ok(names
            .filter(|name| path::is_shared(name))
            .map(|name| self.all.path.join(name))
            .collect())
    }

    /// Opens the workspace's own directory, if it exists.
    fn own(&self) -> Result<OwnedFd, FileError> {
        let path = format!("{}/{}", self.kind, self.id);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        beneath(&self.all.root, &path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
    }

    /// Opens a file for reading: the workspace's own, or else the one that all jobs may read.
    fn open(&self, path: &str, flags: OFlags) -> Result<OwnedFd, FileError> {
        let own = self
            .own()
            .and_then(|own| beneath(&own, path, flags, Mode::empty(), ResolveFlags::empty()));
        match own {
            Err(FileError::Missing(_)) if path::is_shared(path) => {
                // Without links, the path names what it says: no other job's file.
                let resolve = ResolveFlags::NO_SYMLINKS;
                beneath(&self.all.root, path, flags, Mode::empty(), resolve)
            }
            Err(FileError::Missing(_)) => Err(FileError::Missing(path.to_owned())),
            found => found,
        }
    }
}

/// Opens a path beneath a directory, resolved by the kernel.
fn beneath(
    root: &OwnedFd,
    path: &str,
    flags: OFlags,
    mode: Mode,
    more: ResolveFlags,
) -> Result<OwnedFd, FileError> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | more;
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    for _ in 0..DISTURBED_MAX {
        match openat2(root, path, flags, mode, resolve) {
            Ok(fd) => return Ok(fd),
            // A concurrent rename disturbed the lookup; the kernel expects a retry.
            Err(Errno::AGAIN) => {}
            Err(errno) => return Err(FileError::system(path, errno)),
        }
    }
    Err(FileError::Outside(path.to_owned()))
}

/// Checks that a file is regular and has no second hard link.
fn plain(path: &str, stat: &Stat) -> Result<(), FileError> {
    let refuse = |what: Text<'_>| Err(FileError::Kind { path: path.to_owned(), what: what.into() });
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_nlink > 1 => refuse(Text::HardLinks),
        FileType::RegularFile => Ok(()),
        FileType::Directory => refuse(Text::Directory),
        FileType::Symlink => refuse(Text::SymbolicLink),
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice => {
            refuse(Text::Device)
        }
        FileType::Unknown => refuse(Text::UnknownKind),
    }
}

fn plain_file(path: &str, fd: &OwnedFd) -> Result<Stat, FileError> {
    let stat = fstat(fd).map_err(|e| FileError::system(path, e))?;
    plain(path, &stat).map(|()| stat)
}

#[cfg(test)]
mod tests;
