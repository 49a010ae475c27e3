//! What processes used, as the kernel counts it.

use std::time::Duration;

/// Ticks of the kernel's CPU accounting per second: fixed at 100 on Linux for user space.
const TICKS: u64 = 100;

/// CPU time a process has used so far, in user and kernel mode together.
pub(crate) fn cpu(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is the program's name in parentheses, which may hold spaces.
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |n: usize| fields.get(n).and_then(|f| f.parse::<u64>().ok()).unwrap_or_default();
    Duration::from_millis((ticks(11) + ticks(12)) * 1000 / TICKS)
}

/// Memory a process holds, in MiB.
pub(crate) fn resident_mib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default()
        / 1024
}
