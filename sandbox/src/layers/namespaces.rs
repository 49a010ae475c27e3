//! Namespaces: other processes, the network, and IPC objects do not exist for the command.

use std::{fs, path::Path};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    io::Errno,
    mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change},
    process::{getgid, getuid},
    thread::{
        CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
        set_capabilities,
    },
};

use crate::{message::Refusal, task::Task};

/// Makes the namespaces. The next process that this one starts is the first of its kind in them.
pub(crate) fn make() -> Result<(), Refusal> {
    let new = CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    let held = capabilities(None).map_err(Refusal::of("namespaces"))?;
    if held.effective.contains(CapabilitySet::SYS_ADMIN) {
        return unshare(new).map_err(Refusal::of("namespaces"));
    }
    // Without the right to make them, a new user namespace gives it.
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    unshare(new | CloneFlags::CLONE_NEWUSER).map_err(Refusal::of("namespaces"))?;
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ];
    for (path, map) in maps {
        fs::write(path, map).map_err(Refusal::of("namespaces"))?;
    }
    keep_rights().map_err(Refusal::of("namespaces"))
}

/// Passes the rights over the new namespaces on to the next stage, which only root would inherit. The
/// last stage drops them.
fn keep_rights() -> Result<(), Errno> {
    let rights = CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP;
    let held = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: rights, ..held })?;
    rights.iter().try_for_each(|right| configure_capability_in_ambient_set(right, true))
}

/// Mounts what the command sees of the machine: its own processes, and its own `/tmp`. The warden
/// does not see these mounts, because it needs the machine's `/proc`. Returns the task with the paths
/// that the command has now.
pub(crate) fn mount_all(task: &Task) -> Result<Task, Refusal> {
    unshare(CloneFlags::CLONE_NEWNS).map_err(Refusal::of("namespaces"))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(Refusal::of("mounts"))?;
    let task = match &task.temporary {
        Some(temporary) if !uses_tmp(task, temporary) => {
            mount_bind(temporary, TMP).map_err(Refusal::of("mounts"))?;
            moved(task, temporary)
        }
        Some(_) | None => task.clone(),
    };
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(Refusal::of("mounts"))?;
    Ok(task)
}

/// Where programs make temporary files.
const TMP: &str = "/tmp";

/// Names the directory of temporary files by its new path; the old one may be hidden.
fn moved(task: &Task, temporary: &Path) -> Task {
    let mut task = task.clone();
    for path in task.writable.iter_mut().filter(|path| *path == temporary) {
        *path = TMP.into();
    }
    for value in task.variables.values_mut().filter(|value| Path::new(value) == temporary) {
        *value = TMP.to_owned();
    }
    task
}

/// `true` if a task needs a path beneath the machine's `/tmp`, which its own would hide.
fn uses_tmp(task: &Task, temporary: &Path) -> bool {
    let paths = task.readable.iter().chain(&task.writable).chain([&task.directory]);
    paths.filter(|path| path.as_path() != temporary).any(|path| path.starts_with(TMP))
}
