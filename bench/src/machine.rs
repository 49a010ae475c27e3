//! The machine of a measurement, and its load before the run.

use std::{path::Path, time::Duration};

use serde::Serialize;

use crate::usage;

/// The time over which the machine's load is measured before the run.
const LOOK: Duration = Duration::from_secs(1);
/// The number of cores that other processes may use without a warning.
const QUIET_CORES: f64 = 0.1;
/// The load average of one minute that is accepted without a warning.
const QUIET_LOAD: f64 = 0.5;

/// The machine and its state before the run.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    /// The model name of the processor.
    pub(crate) processor: String,
    /// The number of available cores.
    pub(crate) cores: usize,
    /// Memory, in GiB.
    pub(crate) memory_gib: u64,
    /// The kernel's version.
    pub(crate) kernel: String,
    /// The file system of the temporary directory, where the brokers keep their data.
    pub(crate) disk: String,
    /// The load average of the last minute.
    pub(crate) load: f64,
    /// The number of busy cores.
    pub(crate) busy_cores: f64,
    /// `true` if the bench is a release build.
    pub(crate) release: bool,
}

impl Machine {
    /// Examines the machine for a second.
    pub(crate) async fn look() -> Self {
        let before = usage::machine();
        tokio::time::sleep(LOOK).await;
        let busy = usage::machine().saturating_sub(before);
        let cpu = read("/proc/cpuinfo");
        let processor = field(&cpu, "model name").unwrap_or("unknown processor").to_owned();
        let memory = read("/proc/meminfo");
        let memory = field(&memory, "MemTotal").and_then(|f| f.split(' ').next()?.parse().ok());
        let load = read("/proc/loadavg");
        Self {
            processor,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: memory.unwrap_or(0_u64).div_ceil(1024 * 1024),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            disk: file_system(&std::env::temp_dir()),
            load: load.split(' ').next().and_then(|f| f.parse().ok()).unwrap_or_default(),
            busy_cores: busy.as_secs_f64() / LOOK.as_secs_f64(),
            release: !cfg!(debug_assertions),
        }
    }

    /// Describes the machine in one line.
    pub(crate) fn line(&self) -> String {
        format!(
            "{}, {} cores, {} GiB, Linux {}, data on {}; load average before {:.2}, {:.2} cores busy",
            self.processor,
            self.cores,
            self.memory_gib,
            self.kernel,
            self.disk,
            self.load,
            self.busy_cores
        )
    }

    /// Returns the reasons to distrust the figures.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.load > QUIET_LOAD || self.busy_cores > QUIET_CORES {
            warnings.push(
                "This machine is NOT QUIET: others use its cores, and the figures are worse than \
                 they would be. Compare only what was measured in one run."
                    .to_owned(),
            );
        }
        if !self.release {
            warnings.push(
                "This is a build for debugging: the figures say nothing. Use `make bench`."
                    .to_owned(),
            );
        }
        if matches!(self.disk.as_str(), "tmpfs" | "ramfs") {
            warnings.push(
                "The temporary directory is in memory: flushing costs nothing and means nothing. \
                 Set TMPDIR to a disk."
                    .to_owned(),
            );
        }
        warnings
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Returns the value of a line `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim())
}

/// Returns the type of a directory's file system, by the longest mount point above it.
fn file_system(dir: &Path) -> String {
    let mounts = read("/proc/self/mounts");
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let above = mounts.filter(|(point, _)| dir.starts_with(point));
    let nearest = above.max_by_key(|(point, _)| point.len());
    nearest.map_or("unknown", |(_, kind)| kind).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_name() {
        assert_eq!(field("a\t: 1\nMemTotal:   12 kB\n", "MemTotal"), Some("12 kB"));
        assert_eq!(field("a: 1", "b"), None);
    }

    #[test]
    fn the_root_is_on_some_file_system() {
        assert_ne!(file_system(Path::new("/")), "unknown");
    }
}
