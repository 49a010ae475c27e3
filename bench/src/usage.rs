//! The resources that processes and the machine used, by the kernel's counters.

use std::{collections::BTreeMap, time::Duration};

/// Ticks of the kernel's CPU accounting per second. Linux fixes them at 100 for user space.
const TICKS: u64 = 100;

/// The process ids of a measurement, by part.
pub(crate) type Pids = BTreeMap<Part, Vec<u32>>;

/// The part of the system that a process belongs to.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Part {
    /// The broker, with all its servers.
    #[strum(to_string = "nats-server")]
    Broker,
    /// Supervisors, with the front door and the inbox.
    Supervisor,
    /// Workers: planner, executor, tools, and the scripted model within them.
    Worker,
    /// Processes with all roles: supervisors that are workers as well.
    #[strum(to_string = "all roles")]
    AllRoles,
    /// The bench itself, which submits jobs and waits for them.
    Submitter,
}

impl Part {
    /// All parts, in the order of tables.
    pub(crate) const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the part's name for tables.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A reading of the CPU time used so far.
#[derive(Debug, Clone)]
pub(crate) struct Cpu {
    by_part: BTreeMap<Part, Duration>,
    machine: Duration,
}

impl Cpu {
    /// Reads the counters.
    pub(crate) fn read(pids: &Pids) -> Self {
        let of = |pids: &Vec<u32>| pids.iter().map(|pid| process(*pid)).sum();
        let by_part = pids.iter().map(|(part, pids)| (*part, of(pids))).collect();
        Self { by_part, machine: machine() }
    }

    /// Returns the CPU time since an earlier reading: of each part, and of all other processes.
    pub(crate) fn since(&self, before: &Self) -> (BTreeMap<Part, Duration>, Duration) {
        let used: BTreeMap<Part, Duration> = self
            .by_part
            .iter()
            .map(|(part, now)| {
                let before = before.by_part.get(part).copied().unwrap_or_default();
                (*part, now.saturating_sub(before))
            })
            .collect();
        let ours = used.values().sum();
        let others = self.machine.saturating_sub(before.machine).saturating_sub(ours);
        (used, others)
    }
}

fn ticks(count: u64) -> Duration {
    Duration::from_millis(count * 1000 / TICKS)
}

/// Returns the CPU time of a process, in user and kernel mode.
fn process(pid: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second field is the program's name in parentheses, which may contain spaces.
    let fields: Vec<&str> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let field = |n: usize| fields.get(n).and_then(|f| f.parse::<u64>().ok()).unwrap_or_default();
    ticks(field(11) + field(12))
}

/// Returns the busy time of all cores, without idling and waiting for disks.
pub(crate) fn machine() -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let fields = line.split_whitespace().skip(1).map(|f| f.parse::<u64>().unwrap_or_default());
    // user, nice, system, idle, iowait, irq, softirq, steal; user includes guests.
    ticks(fields.enumerate().filter(|(n, _)| *n < 8 && *n != 3 && *n != 4).map(|(_, t)| t).sum())
}

/// Returns the memory of processes in KiB. A shared page counts in parts (PSS).
pub(crate) fn memory_kib(pids: &[u32]) -> u64 {
    pids.iter().map(|pid| pss_kib(*pid)).sum()
}

fn pss_kib(pid: u32) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = maps.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_cpu_and_memory() {
        let pids = Pids::from([(Part::Submitter, vec![std::process::id()])]);
        let before = Cpu::read(&pids);
        let mut sum = 0_u64;
        let ours = |used: &BTreeMap<Part, Duration>| used.values().sum::<Duration>();
        while ours(&Cpu::read(&pids).since(&before).0).is_zero() {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(memory_kib(&[std::process::id()]) > 1000);
        assert!(machine() > Duration::ZERO);
    }

    #[test]
    fn a_process_that_is_gone_uses_nothing() {
        assert_eq!((process(u32::MAX), memory_kib(&[u32::MAX])), (Duration::ZERO, 0));
    }
}
