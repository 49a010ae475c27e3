//! The end of everything that a command started.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions, getpid, pidfd_open, pidfd_send_signal, wait},
};

/// Longest time until the warden gives up; the kernel kills at once what is not in a system call
/// that cannot be interrupted.
const PATIENCE: Duration = Duration::from_secs(5);

/// Kills all descendants of this process and waits for their ends. Returns how many it found. This
/// process must be the subreaper, so that each of them stays a descendant.
pub(crate) fn kill_all() -> usize {
    let deadline = Instant::now() + PATIENCE;
    let mut found = BTreeSet::new();
    loop {
        // What is stopped starts no process, so the second pass over an unchanged set is the last.
        while stop_new(&mut found) > 0 {}
        let killed = descendants();
        for (pid, process) in &killed {
            found.insert(*pid);
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        killed.iter().for_each(|(_, process)| wait_for(process, deadline));
        if reap() || Instant::now() > deadline {
            return found.len();
        }
    }
}

/// Waits for the end of a process.
fn wait_for(process: &OwnedFd, deadline: Instant) {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).unwrap_or_default();
    let _ = poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout));
}

/// Stops the descendants that are not in `found`, and returns their number.
fn stop_new(found: &mut BTreeSet<i32>) -> usize {
    let new: Vec<_> = descendants().into_iter().filter(|(pid, _)| found.insert(*pid)).collect();
    for (_, process) in &new {
        let _ = pidfd_send_signal(process, Signal::STOP);
    }
    new.len()
}

/// Collects the children that have ended. Returns `true` if there are no others.
fn reap() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// Returns handles of all living descendants.
fn descendants() -> Vec<(i32, OwnedFd)> {
    let parents = parents();
    let ours = getpid().as_raw_nonzero().get();
    let is_ours = |pid: i32| ancestors(&parents, pid).any(|ancestor| ancestor == ours);
    let handle = |pid: i32| {
        let handle = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
        // The number may belong to another process since the look; the handle cannot.
        let parent = parent_of(pid)?;
        (parent == ours || is_ours(parent)).then_some((pid, handle))
    };
    parents.keys().filter(|pid| is_ours(**pid)).filter_map(|pid| handle(*pid)).collect()
}

fn ancestors(parents: &BTreeMap<i32, i32>, pid: i32) -> impl Iterator<Item = i32> {
    // A look takes time, in which a number may be used again: the walk must end.
    std::iter::successors(parents.get(&pid).copied(), |pid| parents.get(pid).copied())
        .take(parents.len())
}

/// Reads the parent of every living process.
fn parents() -> BTreeMap<i32, i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, parent_of(pid)?))).collect()
}

/// Reads the parent of a process that is alive, from the fields after its name, which may hold any
/// character.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    (state != "Z").then(|| fields.next()?.parse().ok())?
}
