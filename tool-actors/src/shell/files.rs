//! The files of a workspace: what a command changed, how much it keeps, and whose they are.

use std::{
    collections::BTreeMap,
    ffi::CStr,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid, chownat, fchown, openat, statat,
    },
    io::Errno,
};

/// Deepest directory that is looked into; a command can make deeper ones than a path can name.
const DEPTH_MAX: usize = 64;

/// The most that a workspace keeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Sum of the files' sizes, in bytes.
    pub(super) bytes: u64,
    /// Number of files and directories.
    pub(super) number: usize,
}

impl Bounds {
    /// No bounds but those of what is looked into.
    pub(super) const NONE: Self = Self { bytes: u64::MAX, number: usize::MAX };

    /// Returns bounds that allow what is there already.
    pub(super) fn or(self, files: &Files) -> Self {
        Self { bytes: self.bytes.max(files.bytes), number: self.number.max(files.number) }
    }
}

/// A file as far as a change of it can be seen: size in bytes, time of the last change, kind and
/// permissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    changed: (i64, i64),
    mode: u32,
}

impl Seen {
    fn of(stat: &Stat) -> Self {
        let changed = (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or_default());
        Self { bytes: stat.st_size.unsigned_abs(), changed, mode: stat.st_mode }
    }
}

/// The files beneath a directory, without the directories.
#[derive(Debug, Default)]
pub(super) struct Files {
    seen: BTreeMap<PathBuf, Seen>,
    /// Size of all files, in bytes.
    bytes: u64,
    /// Number of files and directories.
    number: usize,
    full: bool,
}

impl Files {
    /// Lists a directory up to the bounds. A directory that is too deep or closed counts as beyond
    /// them.
    pub(super) fn of(directory: &Path, bounds: Bounds) -> Self {
        let mut files = Self::default();
        let visited = visit(directory, &mut |entry: Entry<'_>| {
            files.number += 1;
            // A file with holes takes fewer blocks than its length says.
            files.bytes += entry.stat.st_blocks.unsigned_abs() * 512;
            if !entry.is_directory() {
                files.seen.insert(entry.path.to_owned(), Seen::of(&entry.stat));
            }
            match files.number > bounds.number || files.bytes > bounds.bytes {
                true => Err(Errno::NOSPC),
                false => Ok(()),
            }
        });
        files.full = matches!(visited, Err(Errno::NOSPC | Errno::NAMETOOLONG | Errno::ACCESS));
        files
    }

    /// `true` if the directory holds more than the bounds allow.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the paths that differ in `after`.
    pub(super) fn changes(&self, after: &Self) -> Vec<String> {
        let mut changed: Vec<&PathBuf> = after
            .seen
            .iter()
            .filter(|(path, seen)| self.seen.get(*path) != Some(seen))
            .map(|(path, _)| path)
            .collect();
        changed.extend(self.seen.keys().filter(|path| !after.seen.contains_key(*path)));
        changed.sort();
        changed.into_iter().map(|path| path.display().to_string()).collect()
    }
}

/// Gives a directory and what is in it to a user, following no link. A file with a second name stays
/// whose it is, because the other name may be elsewhere.
pub(super) fn give(directory: &Path, user: u32) -> Result<(), Errno> {
    let (uid, gid) = (Some(Uid::from_raw(user)), Some(Gid::from_raw(user)));
    fchown(open(CWD, directory)?, uid, gid)?;
    visit(directory, &mut |entry: Entry<'_>| {
        let has = (entry.stat.st_uid, entry.stat.st_gid) == (user, user);
        if has || (!entry.is_directory() && entry.stat.st_nlink > 1) {
            return Ok(());
        }
        chownat(entry.parent, entry.name, uid, gid, AtFlags::SYMLINK_NOFOLLOW)
    })
}

/// Something in a directory.
struct Entry<'a> {
    parent: &'a OwnedFd,
    name: &'a CStr,
    /// Path relative to the directory at which the visit began.
    path: &'a Path,
    stat: Stat,
}

impl Entry<'_> {
    fn is_directory(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory
    }
}

/// Visits everything beneath a directory until an error. Each directory is opened in its parent, so
/// a process that puts a link in the place of a directory leads the visit nowhere else.
fn visit(
    directory: &Path,
    each: &mut dyn FnMut(Entry<'_>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    visit_in(&open(CWD, directory)?, Path::new(""), 0, each)
}

fn visit_in(
    parent: &OwnedFd,
    at: &Path,
    depth: usize,
    each: &mut dyn FnMut(Entry<'_>) -> Result<(), Errno>,
) -> Result<(), Errno> {
    if depth > DEPTH_MAX {
        return Err(Errno::NAMETOOLONG);
    }
    for entry in Dir::read_from(parent)? {
        let entry = entry?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        // A file may disappear during the visit.
        let Ok(stat) = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let path = at.join(&*name.to_string_lossy());
        let entry = Entry { parent, name, path: &path, stat };
        let is_directory = entry.is_directory();
        each(entry)?;
        match is_directory.then(|| open(parent, name)) {
            Some(Ok(child)) => visit_in(&child, &path, depth + 1, each)?,
            Some(Err(errno @ Errno::ACCESS)) => return Err(errno),
            Some(Err(_)) | None => {}
        }
    }
    Ok(())
}

/// Opens a directory that is not a link.
fn open(parent: impl AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ENOUGH: Bounds = Bounds { bytes: 1 << 20, number: 100 };

    #[test]
    fn new_changed_and_removed_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir(at("d")).unwrap();
        for name in ["same", "d/changed", "removed"] {
            fs::write(at(name), "x").unwrap();
        }
        let before = Files::of(dir.path(), ENOUGH);
        fs::write(at("d/changed"), "xy").unwrap();
        fs::write(at("new"), "").unwrap();
        fs::remove_file(at("removed")).unwrap();
        let after = Files::of(dir.path(), ENOUGH);
        assert_eq!(before.changes(&after), ["d/changed", "new", "removed"]);
        assert_eq!(after.changes(&after), [""; 0]);
    }

    #[test]
    fn a_workspace_is_full_beyond_its_bytes_or_its_files() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a"), vec![1; 100_000]).unwrap();
        fs::write(dir.path().join("b"), "").unwrap();
        assert!(!Files::of(dir.path(), ENOUGH).is_full());
        assert!(Files::of(dir.path(), Bounds { bytes: 50_000, ..ENOUGH }).is_full());
        assert!(Files::of(dir.path(), Bounds { number: 1, ..ENOUGH }).is_full());
    }

    #[test]
    fn a_directory_that_is_too_deep_to_look_into_is_full() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(vec!["d"; DEPTH_MAX + 2].join("/"))).unwrap();
        assert!(Files::of(dir.path(), ENOUGH).is_full());
    }

    #[test]
    fn a_link_to_a_directory_is_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/usr", dir.path().join("link")).unwrap();
        let files = Files::of(dir.path(), ENOUGH);
        assert_eq!(files.seen.keys().collect::<Vec<_>>(), [Path::new("link")]);
    }
}
