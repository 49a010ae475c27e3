//! The removal of a directory with files of untrusted programs: of any depth, following no link.

use std::{ffi::CStr, os::fd::OwnedFd, path::Path};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, chmodat, openat, renameat, rmdir, statat,
        unlinkat,
    },
    io::Errno,
};

/// Removes a directory and what is in it. Deep directories are first moved up, so that neither the
/// stack nor the number of open files grows with the depth.
///
/// # Errors
/// The first error; the rest is still there.
pub(crate) fn all(directory: &Path) -> Result<(), Errno> {
    let root = open(CWD, directory)?;
    let mut moved = 0;
    loop {
        let names = names(&root)?;
        if names.is_empty() {
            return rmdir(directory);
        }
        for name in names {
            if !is_directory(&root, &name)? {
                unlinkat(&root, &name, AtFlags::empty())?;
                continue;
            }
            chmodat(&root, &name, Mode::RWXU, AtFlags::empty())?;
            empty(&open(&root, &name)?, &root, &mut moved)?;
            unlinkat(&root, &name, AtFlags::REMOVEDIR)?;
        }
    }
}

/// Removes the files of a directory, and moves its directories to `root`.
fn empty(directory: &OwnedFd, root: &OwnedFd, moved: &mut u64) -> Result<(), Errno> {
    for name in names(directory)? {
        if !is_directory(directory, &name)? {
            unlinkat(directory, &name, AtFlags::empty())?;
            continue;
        }
        // Only who may write in a directory can give it another parent.
        chmodat(directory, &name, Mode::RWXU, AtFlags::empty())?;
        loop {
            *moved += 1;
            match renameat(directory, &name, root, format!(".removed-{moved}")) {
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                renamed => break renamed?,
            }
        }
    }
    Ok(())
}

fn is_directory(parent: &OwnedFd, name: &CStr) -> Result<bool, Errno> {
    let stat = statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

fn names(directory: &OwnedFd) -> Result<Vec<std::ffi::CString>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

fn open(parent: impl std::os::fd::AsFd, name: impl rustix::path::Arg) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::mkdirat;

    use super::*;

    /// Deeper than a path can name and than a thread's stack or the open files reach.
    const DEPTH: usize = 20_000;

    #[test]
    fn directories_of_any_depth_are_removed_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (kept, removed) = (dir.path().join("kept"), dir.path().join("removed"));
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "x").unwrap();
        fs::create_dir(&removed).unwrap();
        std::os::unix::fs::symlink(&kept, removed.join("link")).unwrap();
        fs::write(removed.join(".removed-1"), "in the way").unwrap();
        let mut deepest = open(CWD, &removed).unwrap();
        for _ in 0..DEPTH {
            mkdirat(&deepest, "d", Mode::RWXU).unwrap();
            deepest = open(&deepest, "d").unwrap();
        }
        mkdirat(&deepest, "closed", Mode::empty()).unwrap();
        drop(deepest);
        all(&removed).unwrap();
        assert!(!removed.exists());
        assert_eq!(fs::read_to_string(kept.join("file")).unwrap(), "x");
    }
}
