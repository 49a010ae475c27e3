//! Workspaces that have not changed for a time. They are put away, out of every job's reach, before
//! they are removed: until then they can be put back.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use proto::id::{ConversationId, JobId};
use rustix::io::Errno;

use super::{CONVERSATIONS, FileError, JOBS, Owner, Workspaces, remove};

/// The directory of the workspaces that were put away.
const AWAY: &str = ".callboard/unused";

/// The file with the name of the installation that removes workspaces here.
const CLAIM: &str = ".callboard/installation";

/// The content of that file once a second installation was seen.
const SHARED: &str = "shared";

/// Age after which a workspace that was put away was left there by a worker that died.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// A workspace that was put away.
#[derive(Debug)]
pub struct PutAway {
    /// The owner of the workspace.
    pub owner: Owner,
    from: PathBuf,
    at: PathBuf,
}

/// The period in which a directory last changed.
#[derive(Debug, Clone, Copy)]
pub struct Period {
    /// Beginning of the period.
    pub since: SystemTime,
    /// Age of the end of the period.
    pub unchanged: Duration,
}

impl Workspaces {
    /// Claims the directory for an installation and returns the time of its claim. Returns `None`
    /// for good once two installations have claimed it: neither knows the jobs of the other one.
    ///
    /// # Errors
    /// If the claim cannot be read or written.
    pub fn claim(&self, installation: &str) -> Result<Option<SystemTime>, FileError> {
        let at = self.path.join(CLAIM);
        let made = at.parent().map_or(Ok(()), fs::create_dir_all);
        made.map_err(|e| failed(&at, &e))?;
        // A link appears with its whole content, and never replaces another worker's.
        let new = at.with_extension(format!("{:016x}", fastrand::u64(..)));
        fs::write(&new, installation).map_err(|e| failed(&new, &e))?;
        let linked = fs::hard_link(&new, &at);
        fs::remove_file(&new).map_err(|e| failed(&new, &e))?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(&at, &error));
            }
            Ok(()) | Err(_) => {}
        }
        if fs::read_to_string(&at).map_err(|e| failed(&at, &e))? != installation {
            fs::write(&at, SHARED).map_err(|e| failed(&at, &e))?;
            return Ok(None);
        }
        let claimed = fs::metadata(&at).and_then(|known| known.modified());
        claimed.map(Some).map_err(|e| failed(&at, &e))
    }

    /// Returns the owners of the workspaces whose directory last changed in a period.
    ///
    /// # Errors
    /// If the directories cannot be listed.
    pub fn unchanged(&self, period: Period) -> Result<BTreeSet<Owner>, FileError> {
        let jobs = |name: &str| JobId::new(name).ok().map(Owner::Job);
        let conversations = |name: &str| ConversationId::new(name).ok().map(Owner::Conversation);
        let mut found: BTreeSet<Owner> =
            self.old(JOBS, period)?.iter().filter_map(|name| jobs(name)).collect();
        let others = self.old(CONVERSATIONS, period)?;
        found.extend(others.iter().filter_map(|name| conversations(name)));
        Ok(found)
    }

    /// Puts a workspace away; `None` if another worker did it before.
    ///
    /// # Errors
    /// If the directory cannot be moved.
    pub fn put_away(&self, owner: Owner) -> Result<Option<PutAway>, FileError> {
        let (kind, id) = owner.names();
        let (from, away) = (self.path.join(kind).join(id), self.path.join(AWAY));
        let at = away.join(format!("{kind}-{id}-{}", std::process::id()));
        fs::create_dir_all(&away).map_err(|e| failed(&away, &e))?;
        // Others see by this time that the removal is under way.
        let touched = fs::File::open(&from).and_then(|dir| dir.set_modified(SystemTime::now()));
        match touched.and_then(|()| fs::rename(&from, &at)) {
            Ok(()) => Ok(Some(PutAway { owner, from, at })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&from, &error)),
        }
    }

    /// Returns the workspaces that workers put away and left there because they died.
    ///
    /// # Errors
    /// If the directories cannot be listed.
    pub fn left_behind(&self) -> Result<Vec<PutAway>, FileError> {
        let long_ago = Period { since: SystemTime::UNIX_EPOCH, unchanged: LEFT_BEHIND };
        let left = self.old(AWAY, long_ago)?.into_iter().filter_map(|name| {
            let owner = owner_of(&name)?;
            let (kind, id) = owner.names();
            let (from, at) = (self.path.join(kind).join(id), self.path.join(AWAY).join(&name));
            Some(PutAway { owner, from, at })
        });
        Ok(left.collect())
    }

    /// Returns the names of the directories in `within` that last changed in a period.
    fn old(&self, within: &str, period: Period) -> Result<Vec<String>, FileError> {
        let within = self.path.join(within);
        let entries = match fs::read_dir(&within) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(&within, &error)),
        };
        let (mut old, now) = (Vec::new(), SystemTime::now());
        for entry in entries {
            let entry = entry.map_err(|e| failed(&within, &e))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            // A symbolic link is no directory here.
            let known = match entry.metadata() {
                Ok(known) => known,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(failed(&entry.path(), &error)),
            };
            let changed = known.modified().map_err(|e| failed(&entry.path(), &e))?;
            let is_old = now.duration_since(changed).is_ok_and(|age| age >= period.unchanged);
            if known.is_dir() && is_old && changed >= period.since {
                old.push(name);
            }
        }
        Ok(old)
    }
}

impl PutAway {
    /// Puts the workspace back.
    ///
    /// # Errors
    /// If its owner has begun another one meanwhile.
    pub fn put_back(&self) -> Result<(), FileError> {
        fs::rename(&self.at, &self.from).map_err(|e| failed(&self.from, &e))
    }

    /// Removes the workspace with its files.
    ///
    /// # Errors
    /// If a file cannot be removed.
    pub fn remove(&self) -> Result<(), FileError> {
        remove_now(&self.at)
    }
}

/// Returns the owner of a workspace that was put away, by the name of its directory.
fn owner_of(name: &str) -> Option<Owner> {
    let (kind, rest) = name.split_once('-')?;
    let (id, _process) = rest.rsplit_once('-')?;
    match kind {
        JOBS => JobId::new(id).ok().map(Owner::Job),
        CONVERSATIONS => ConversationId::new(id).ok().map(Owner::Conversation),
        _ => None,
    }
}

fn remove_now(directory: &Path) -> Result<(), FileError> {
    match remove::all(directory) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(failed(directory, &errno.into())),
    }
}

fn failed(path: &Path, error: &io::Error) -> FileError {
    FileError::io(&path.display().to_string(), error)
}
