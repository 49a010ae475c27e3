//! Moves and removals of files, once per idempotency key.

use std::os::fd::OwnedFd;

use proto::digest;
use rustix::{
    fs::{
        AtFlags, Mode, OFlags, RenameFlags, ResolveFlags, fsync, renameat_with, statat, unlinkat,
    },
    io::Errno,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    FileError, Workspace, Written, beneath,
    journal::{Entry, Journal},
    path, plain,
    write::finish,
};

/// A file that leaves its path, for another one or for good.
#[derive(Debug, Clone)]
pub struct Relocation {
    /// Path of the file, relative to the workspace.
    pub from: String,
    /// The new path, relative to the workspace. Missing directories are created. Without it the
    /// file is removed.
    pub to: Option<String>,
    /// Idempotency key: a repeat changes nothing and returns the first result. Another request
    /// under the same key is refused.
    pub key: String,
}

impl Relocation {
    /// Returns the SHA-256 of everything but the key.
    fn digest(&self) -> String {
        let Self { from, to, key: _ } = self;
        digest::of_json(&json!({ "from": from, "to": to }))
    }
}

/// A directory and a name in it.
struct Place<'a> {
    dir: OwnedFd,
    name: &'a str,
    path: &'a str,
}

/// A file as the kernel knows it. A rename changes none of this.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Identity {
    text: String,
    bytes: u64,
}

impl Place<'_> {
    fn file(&self) -> Result<Option<Identity>, FileError> {
        let stat = match statat(&self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(FileError::system(self.path, errno)),
        };
        plain(self.path, &stat)?;
        let text = format!(
            "file {} {} {}.{:09}",
            stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec
        );
        Ok(Some(Identity { text, bytes: u64::try_from(stat.st_size).unwrap_or_default() }))
    }
}

impl Workspace {
    /// Moves or removes a file of the workspace, once per idempotency key, and returns its size in
    /// bytes.
    ///
    /// # Errors
    /// If a path is not writable, the file is missing or belongs to all jobs, the new path is
    /// taken, or the operation was cancelled; then nothing was changed. [`FileError::KeyUsed`] if the
    /// key belongs to another request. [`FileError::Unknown`] if an earlier attempt was interrupted
    /// and its outcome cannot be determined.
    pub fn relocate<'r>(
        &self,
        relocation: &'r Relocation,
        canceled: &CancellationToken,
    ) -> Result<u64, FileError> {
        let Relocation { from: path, to: new, key } = relocation;
        let protected = &self.all.limits.protected;
        let from = path::writable(path, protected)?;
        let to = new.as_deref().map(|to| Ok((to, path::writable(to, protected)?))).transpose()?;
        let journal = self.all.journal(canceled)?;
        let begun = journal.entry(key)?;
        if let Some(entry) = &begun {
            if entry.asked != Some(relocation.digest()) {
                return Err(FileError::KeyUsed(path.clone()));
            }
            if entry.done {
                return Ok(entry.result.bytes);
            }
        }
        let unknown = || FileError::Unknown(path.clone());
        let place = |to: Option<(&'r str, Vec<&'r str>)>| {
            to.map(|(path, names)| self.new_place(path, &names)).transpose()
        };
        let Some((from, file)) = self.present_file(path, &from)? else {
            let Some(entry) = begun else { return Err(self.no_own_file(path)) };
            let has_arrived = match place(to)? {
                None => true,
                Some(to) => to.file()?.map(|file| file.text) == entry.before,
            };
            if !has_arrived {
                return Err(unknown());
            }
            return finish(&journal, key, entry).map(|done| done.bytes);
        };
        let to = place(to)?;
        let taken = to.as_ref().map(Place::file).transpose()?.flatten();
        let entry = match begun {
            Some(entry) if taken.is_none() && entry.before.as_ref() == Some(&file.text) => entry,
            Some(_) => return Err(unknown()),
            None => {
                if let Some(to) = &to {
                    self.is_free(to.path, taken.as_ref())?;
                }
                begin(&journal, relocation, &file)?
            }
        };
        if canceled.is_cancelled() {
            journal.forget(key);
            return Err(FileError::Canceled);
        }
        if let Err(error) = leave(&from, to.as_ref()) {
            journal.forget(key);
            return Err(error);
        }
        // A repeat finds the file gone, whether or not the disk has the change already.
        for place in to.iter().chain([&from]) {
            fsync(&place.dir).map_err(|errno| FileError::system(place.path, errno))?;
        }
        finish(&journal, key, entry).map(|done| done.bytes)
    }

    /// Opens the directory of a file, and looks at the file; `None` if one of them is missing.
    fn present_file<'a>(
        &self,
        path: &'a str,
        names: &[&'a str],
    ) -> Result<Option<(Place<'a>, Identity)>, FileError> {
        let (name, parents) = names.split_last().expect("a writable path has a name");
        let own = match self.own() {
            Err(FileError::Missing(_)) => return Ok(None),
            own => own?,
        };
        let parents = if parents.is_empty() { ".".to_owned() } else { parents.join("/") };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        match beneath(&own, &parents, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(dir) => {
                let place = Place { dir, name, path };
                Ok(place.file()?.map(|file| (place, file)))
            }
            Err(FileError::Missing(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the directory of a new file, and creates it if missing.
    fn new_place<'a>(&self, path: &'a str, names: &[&'a str]) -> Result<Place<'a>, FileError> {
        let (name, parents) = names.split_last().expect("a writable path has a name");
        Ok(Place { dir: self.make_dirs(parents)?, name, path })
    }

    /// Returns the reason for which the workspace has no file of its own with a path.
    fn no_own_file(&self, path: &str) -> FileError {
        match self.open(path, OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(_) => FileError::Shared(path.to_owned()),
            Err(_) => FileError::Missing(path.to_owned()),
        }
    }

    /// Checks that neither the workspace nor the files for all jobs have a file with a path.
    fn is_free(&self, path: &str, own: Option<&Identity>) -> Result<(), FileError> {
        match (own, self.open(path, OFlags::RDONLY | OFlags::NONBLOCK)) {
            (None, Err(FileError::Missing(_))) => Ok(()),
            (Some(_), _) | (None, _) => Err(FileError::Exists(path.to_owned())),
        }
    }
}

fn begin(journal: &Journal, relocation: &Relocation, file: &Identity) -> Result<Entry, FileError> {
    let Relocation { from, to, key } = relocation;
    let path = to.as_ref().unwrap_or(from).clone();
    let entry = Entry {
        path: from.clone(),
        asked: Some(relocation.digest()),
        before: Some(file.text.clone()),
        after: None,
        result: Written { path, bytes: file.bytes, created: false, replaced: None },
        done: false,
    };
    journal.note(key, &entry)?;
    Ok(entry)
}

/// Removes a file from its directory, or moves it to another one.
fn leave(from: &Place<'_>, to: Option<&Place<'_>>) -> Result<(), FileError> {
    match to {
        None => unlinkat(&from.dir, from.name, AtFlags::empty())
            .map_err(|errno| FileError::system(from.path, errno)),
        Some(to) => renameat_with(&from.dir, from.name, &to.dir, to.name, RenameFlags::NOREPLACE)
            .map_err(|errno| match errno {
                Errno::EXIST => FileError::Exists(to.path.to_owned()),
                errno => FileError::system(from.path, errno),
            }),
    }
}
