//! The files of a workspace: what a command changed, how much it keeps, and whose they are.

use std::{
    collections::BTreeMap,
    fs::{self, DirEntry, Metadata},
    io,
    os::unix::fs::{MetadataExt, lchown},
    path::{Path, PathBuf},
};

/// The most that a workspace keeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// Sum of the files' sizes, in bytes.
    pub(super) bytes: u64,
    /// Number of files and directories.
    pub(super) number: usize,
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
    fn of(metadata: &Metadata) -> Self {
        let changed = (metadata.mtime(), metadata.mtime_nsec());
        Self { bytes: metadata.len(), changed, mode: metadata.mode() }
    }
}

/// The files beneath a directory, without the directories.
#[derive(Debug, Default)]
pub(super) struct Files {
    seen: BTreeMap<PathBuf, Seen>,
    full: bool,
}

impl Files {
    /// Lists a directory up to the bounds. What cannot be read is left out.
    pub(super) fn of(directory: &Path, bounds: Bounds) -> Self {
        let mut files = Self::default();
        let (mut number, mut bytes) = (0, 0);
        let _ = walk(directory, &mut |entry| {
            let Ok(metadata) = entry.metadata() else { return true };
            number += 1;
            // A file with holes takes fewer blocks than its length says.
            bytes += metadata.blocks() * 512;
            files.full = number > bounds.number || bytes > bounds.bytes;
            if !metadata.is_dir() {
                let path = entry.path();
                let path = path.strip_prefix(directory).unwrap_or(&path).to_owned();
                files.seen.insert(path, Seen::of(&metadata));
            }
            !files.full
        });
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
pub(super) fn give(directory: &Path, user: u32) -> io::Result<()> {
    lchown(directory, Some(user), Some(user))?;
    let mut given = Ok(());
    walk(directory, &mut |entry| {
        let give = |metadata: Metadata| match metadata.is_dir() || metadata.nlink() == 1 {
            true if metadata.uid() == user && metadata.gid() == user => Ok(()),
            true => lchown(entry.path(), Some(user), Some(user)),
            false => Ok(()),
        };
        given = entry.metadata().and_then(give);
        given.is_ok()
    })?;
    given
}

/// Visits everything beneath a directory, and no directory through a link, until `visit` returns
/// `false`.
fn walk(directory: &Path, visit: &mut dyn FnMut(&DirEntry) -> bool) -> io::Result<()> {
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            if !visit(&entry) {
                return Ok(());
            }
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
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
    fn a_link_to_a_directory_is_a_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/usr", dir.path().join("link")).unwrap();
        let files = Files::of(dir.path(), ENOUGH);
        assert_eq!(files.seen.keys().collect::<Vec<_>>(), [Path::new("link")]);
    }
}
