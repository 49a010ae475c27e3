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
    thread::{CapabilitySet, capabilities},
};

use crate::message::Refusal;

/// Longest time until the warden gives up; the kernel kills at once what is not in a system call
/// that cannot be interrupted.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest wait for the end of one process, which may have left children meanwhile.
const WAIT_AT_MOST: Duration = Duration::from_millis(100);

/// Kills all descendants of this process and waits for their ends. Returns how many it found, or
/// `None` if one of them is still there. This process must be the subreaper, so that each of them
/// stays a descendant and becomes a child when its parent ends.
pub(crate) fn kill_all() -> Option<usize> {
    let deadline = Instant::now() + PATIENCE;
    let mut found = BTreeSet::new();
    loop {
        // A stopped process starts no other, so the loop ends with a pass that finds no new one.
        while stop_new(&mut found) > 0 && Instant::now() < deadline {}
        let killed = descendants();
        for (pid, process) in &killed {
            found.insert(*pid);
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        killed.iter().for_each(|(_, process)| wait_for(process));
        if reap() {
            return Some(found.len());
        }
        if Instant::now() > deadline {
            return None;
        }
    }
}

/// Waits for the end of a process, for a while.
fn wait_for(process: &OwnedFd) {
    let timeout = Timespec::try_from(WAIT_AT_MOST).unwrap_or_default();
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

/// Refuses a machine whose `/proc` lets processes hide from this one, which then could not kill them.
pub(crate) fn cannot_hide() -> Result<(), Refusal> {
    let sees =
        capabilities(None).is_ok_and(|held| held.effective.contains(CapabilitySet::SYS_PTRACE));
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(Refusal::of("processes"))?;
    let mut proc =
        mounts.lines().filter(|line| line.contains(" /proc ") && line.contains(" - proc "));
    match !sees && proc.any(|line| line.contains("hidepid=")) {
        true => Err(Refusal::of("processes")("/proc is mounted with hidepid")),
        false => Ok(()),
    }
}

/// Returns handles of all living descendants.
fn descendants() -> Vec<(i32, OwnedFd)> {
    let processes = processes();
    let ours = getpid().as_raw_nonzero().get();
    let is_ours = |pid: i32| ancestors(&processes, pid).any(|ancestor| ancestor == ours);
    let seen = processes.iter().filter(|(pid, process)| process.lives && is_ours(**pid));
    let seen = seen.filter_map(|(pid, _)| {
        let handle = open(*pid)?;
        // The number may belong to another process since the look; the handle cannot.
        let parent = Process::read(*pid)?.parent;
        (parent == ours || is_ours(parent)).then_some((*pid, handle))
    });
    seen.collect()
}

fn open(pid: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()
}

/// A process as `/proc` shows it.
struct Process {
    parent: i32,
    /// `false` once no thread of it runs any more.
    lives: bool,
}

impl Process {
    /// Reads the fields after the name, which may hold any character.
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<_> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let parent = fields.get(1)?.parse().ok()?;
        // A process whose first thread has ended looks dead, although others run.
        let lives = *fields.first()? != "Z" || fields.get(THREADS).is_some_and(|n| *n != "1");
        Some(Self { parent, lives })
    }
}

/// Place of the number of threads among the fields after the name.
const THREADS: usize = 17;

fn ancestors(processes: &BTreeMap<i32, Process>, pid: i32) -> impl Iterator<Item = i32> {
    let parent = |pid: &i32| processes.get(pid).map(|process| process.parent);
    // A look takes time, in which a number may be used again: the walk must end.
    std::iter::successors(parent(&pid), parent).take(processes.len())
}

/// Reads every process that can be seen.
fn processes() -> BTreeMap<i32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, Process::read(pid)?))).collect()
}
