//! Rendering of the results of a purge, actual or dry run.

use std::collections::BTreeSet;

use operator::purge::{Ended, Garbage, PurgeReport, Stays};
use proto::id::JobId;
use serde::Serialize;

use crate::{
    style::{Style, Tone},
    text,
};

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// `true` if nothing was removed.
    pub(crate) dry_run: bool,
    /// Jobs that were removed, or would be.
    pub(crate) jobs: Vec<Ended>,
    /// Number of records in those jobs.
    pub(crate) records: u64,
    /// Size of those records, in bytes.
    pub(crate) bytes: u64,
    /// Number of jobs kept because they have not ended.
    pub(crate) open: u64,
    /// Number of jobs kept because a related job, above or below, has not ended.
    pub(crate) family: u64,
    /// Number of jobs kept because they ended or were submitted recently.
    pub(crate) recent: u64,
    /// Named jobs that do not exist.
    pub(crate) absent: Vec<JobId>,
    /// `true` if further jobs may match.
    pub(crate) more: bool,
    /// Large values that were removed, or would be; absent if they were not examined.
    pub(crate) objects: Option<Objects>,
}

/// The large values of a purge.
#[derive(Debug, Serialize)]
pub(crate) struct Objects {
    /// Number of values removed, or to be removed.
    pub(crate) removed: u64,
    /// Size of those values, in bytes.
    pub(crate) bytes: u64,
    /// Number of values kept.
    pub(crate) kept: u64,
}

impl From<Garbage> for Objects {
    fn from(garbage: Garbage) -> Self {
        let removed = garbage.values.len() as u64;
        Self { removed, bytes: garbage.bytes(), kept: garbage.kept }
    }
}

impl Report {
    pub(crate) fn new(found: &PurgeReport, dry_run: bool) -> Self {
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

    /// Restricts the report to the jobs that were removed.
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

pub(crate) fn report(style: &Style, report: &Report) -> String {
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
    let lines = text::wrap(&format!("{mark}{}", parts.join("; ")), style.columns());
    lines.iter().map(|line| format!("{}\n", style.paint(tone, line))).collect()
}

/// Renders the jobs in one sentence.
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

/// Formats a number of bytes.
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
