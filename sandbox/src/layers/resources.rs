//! Resource limits, which hold for each process; the number of processes holds for a user.

use std::fs;

use rustix::{
    io::Errno,
    process::{Resource, Rlimit, getrlimit, getuid, setrlimit},
};

use crate::{message::Refusal, task::Task};

/// Sets the limits of a task.
pub(crate) fn limit(task: &Task) -> Result<(), Refusal> {
    let limits = &task.limits;
    // Processor time is bounded beside run time, for what the warden could not kill. It counts all
    // threads of a process.
    let seconds = limits.time_ms.div_ceil(1000).saturating_mul(limits.processes).max(1);
    // Whatever takes the machine's memory, the command is killed for it and not the worker.
    fs::write("/proc/self/oom_score_adj", "1000").map_err(Refusal::of("oom_score_adj"))?;
    // A user of its own has no other threads; the threads of this one count too.
    let others = if task.user.is_some() { 0 } else { threads_of_user() };
    let all = [
        (Resource::Core, 0),
        (Resource::Cpu, seconds),
        (Resource::As, limits.memory_bytes),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, others.saturating_add(limits.processes)),
        (Resource::Memlock, 0),
        (Resource::Msgqueue, 0),
        (Resource::Nice, 0),
        (Resource::Rtprio, 0),
    ];
    for (resource, most) in all {
        lower(resource, most).map_err(Refusal::of("rlimits"))?;
    }
    Ok(())
}

/// Lowers a limit for good; a hard limit that is lower stays.
fn lower(resource: Resource, most: u64) -> Result<(), Errno> {
    let held = getrlimit(resource);
    let most = Some(held.maximum.map_or(most, |held| held.min(most)));
    setrlimit(resource, Rlimit { current: most, maximum: most })
}

/// Counts the threads of this process's user that can be seen.
fn threads_of_user() -> u64 {
    let user = format!("Uid:\t{}\t", getuid().as_raw());
    let Ok(processes) = fs::read_dir("/proc") else { return 0 };
    let statuses = processes
        .flatten()
        .filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok());
    statuses.filter(|status| status.contains(&user)).map(|status| threads(&status)).sum()
}

fn threads(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(1)
}
