//! What a purge removed, or would.

use std::collections::BTreeSet;

use operator::purge::{Ended, Found, Garbage, Stays};
use proto::id::JobId;
use serde::Serialize;

use crate::{
    look::{Look, Tone},
    text,
};

/// What is told.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// Whether nothing was removed.
    pub(crate) dry_run: bool,
    /// Jobs that were removed, or would be.
    pub(crate) jobs: Vec<Ended>,
    /// Their records.
    pub(crate) records: u64,
    /// What these say, in bytes.
    pub(crate) bytes: u64,
    /// Jobs that stay: not ended.
    pub(crate) open: u64,
    /// Jobs that stay: one that they work for, or that works for them, has not ended.
    pub(crate) family: u64,
    /// Jobs that stay: ended, or submitted, lately.
    pub(crate) recent: u64,
    /// Jobs that were named and are not there.
    pub(crate) absent: Vec<JobId>,
    /// Whether there may be more.
    pub(crate) more: bool,
    /// Large values that were removed, or would be; nothing when they were left alone.
    pub(crate) objects: Option<Objects>,
}

/// Large values.
#[derive(Debug, Serialize)]
pub(crate) struct Objects {
    /// How many.
    pub(crate) removed: u64,
    /// Their size.
    pub(crate) bytes: u64,
    /// How many stay.
    pub(crate) kept: u64,
}

impl From<Garbage> for Objects {
    fn from(garbage: Garbage) -> Self {
        let removed = garbage.values.len() as u64;
        Self { removed, bytes: garbage.bytes(), kept: garbage.kept }
    }
}

impl Report {
    pub(crate) fn new(found: &Found, dry_run: bool) -> Self {
        let absent = found.named.iter().filter(|(_, stays)| *stays == Stays::Absent);
        let mut report = Self {
            dry_run,
            jobs: found.ended.clone(),
            records: 0,
            bytes: 0,
            open: found.open,
            family: found.family,
            recent: found.recent,
            absent: absent.map(|(job, _)| job.clone()).collect(),
            more: found.more,
            objects: None,
        };
        report.count();
        report
    }

    /// Only these jobs were removed.
    pub(crate) fn keep(&mut self, removed: &[JobId]) {
        let removed: BTreeSet<&JobId> = removed.iter().collect();
        self.jobs.retain(|ended| removed.contains(&ended.job));
        self.count();
    }

    fn count(&mut self) {
        self.records = self.jobs.iter().map(|ended| ended.records).sum();
        self.bytes = self.jobs.iter().map(|ended| ended.bytes).sum();
    }
}

/// Everything of a report.
pub(crate) fn report(look: &Look, report: &Report) -> String {
    let mut parts = vec![summary(report)];
    if let Some(objects) = &report.objects {
        let values = count(objects.removed, "large value", "large values");
        let verb = if report.dry_run { "would be removed" } else { "removed" };
        parts.push(format!("{values} with {} {verb}, {} kept", size(objects.bytes), objects.kept));
    }
    if !report.absent.is_empty() {
        let absent: Vec<&str> = report.absent.iter().map(JobId::as_str).collect();
        parts.push(format!("not there: {}", absent.join(", ")));
    }
    if report.more {
        parts.push("there may be more: run it again".to_owned());
    }
    let mark = if report.dry_run { "" } else { "✓ " };
    let tone = if report.dry_run { Tone::Plain } else { Tone::Good };
    let lines = text::wrap(&format!("{mark}{}", parts.join("; ")), look.columns());
    lines.iter().map(|line| format!("{}\n", look.paint(tone, line))).collect()
}

/// The jobs, in one sentence.
pub(crate) fn summary(report: &Report) -> String {
    let jobs = count(report.jobs.len() as u64, "job", "jobs");
    let records = count(report.records, "record", "records");
    let verb = if report.dry_run { "would be removed" } else { "that ended" };
    let mut said = format!("{jobs} {verb}: {records}, {}", size(report.bytes));
    let stay = [
        (report.open, "not ended"),
        (report.family, "of a family that has not ended"),
        (report.recent, "too new"),
    ];
    let stay: Vec<String> = stay
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{count} {why}"))
        .collect();
    if !stay.is_empty() {
        said.push_str(&format!(" (others stay: {})", stay.join(", ")));
    }
    said
}

fn count(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Bytes, for people.
fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    let (mut tenths, mut unit) = (bytes / 100, 0);
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1_000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_units_that_fit() {
        for (bytes, told) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1.0 KB"),
            (64_250, "64.2 KB"),
            (999_999, "999.9 KB"),
            (1_000_000, "1.0 MB"),
            (16_500_000_000, "16.5 GB"),
            (5_000_000_000_000_000, "5000.0 TB"),
        ] {
            assert_eq!(size(bytes), told, "{bytes}");
        }
    }
}
