//! Rendering of the results of a purge, actual or dry run.

use std::collections::BTreeSet;

use operator::purge::{Ended, Garbage, PurgeReport, Stays};
use proto::id::{JobId, Shard};
use serde::Serialize;

use crate::{
    style::{Style, Tone},
    text,
    words::Text,
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
    /// Shards whose stream is lost, and whose jobs were not examined.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) lost: Vec<Shard>,
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
            lost: found.lost.clone(),
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
    let mut parts = vec![summary(style, report)];
    if let Some(Objects { removed, bytes, kept }) = &report.objects {
        let values = &style.say(match removed {
            1 => Text::ValueOne,
            count => Text::ValuesMany { count },
        });
        let size = &size(style, *bytes);
        parts.push(style.say(match report.dry_run {
            true => Text::PurgeValuesWould { values, size, kept },
            false => Text::PurgeValues { values, size, kept },
        }));
    }
    if !report.absent.is_empty() {
        let absent: Vec<&str> = report.absent.iter().map(JobId::as_str).collect();
        parts.push(style.say(Text::PurgeAbsent { jobs: &absent.join(", ") }));
    }
    if !report.lost.is_empty() {
        let shards: Vec<String> = report.lost.iter().map(Shard::to_string).collect();
        parts.push(style.say(Text::PurgeLost { shards: &shards.join(", ") }));
    }
    if report.more {
        parts.push(style.say(Text::PurgeMore));
    }
    let mark = if report.dry_run { "" } else { "✓ " };
    let tone = if report.dry_run { Tone::Plain } else { Tone::Good };
    let lines =
        text::wrap(&format!("{mark}{}", parts.join(&style.say(Text::Semicolon))), style.columns());
    lines.iter().map(|line| format!("{}\n", style.paint(tone, line))).collect()
}

/// Renders the jobs in one sentence.
pub(crate) fn summary(style: &Style, report: &Report) -> String {
    let ended = report.jobs.len();
    let jobs = &style.say(match &ended {
        1 => Text::JobOne,
        count => Text::JobsMany { count },
    });
    let records = &style.say(match &report.records {
        1 => Text::RecordOne,
        count => Text::RecordsMany { count },
    });
    let size = &size(style, report.bytes);
    let summary = style.say(match report.dry_run {
        true => Text::PurgeWould { jobs, records, size },
        false => Text::PurgeEnded { jobs, records, size },
    });
    let stay = [
        (report.open, Text::PurgeOpen { count: &report.open }),
        (report.family, Text::PurgeFamily { count: &report.family }),
        (report.recent, Text::PurgeRecent { count: &report.recent }),
    ];
    let stay = stay.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = stay.map(|(_, text)| style.say(text)).collect();
    if parts.is_empty() {
        return summary;
    }
    let parts = &parts.join(&style.say(Text::Comma));
    style.say(Text::PurgeOthers { summary: &summary, parts })
}

/// Formats a number of bytes.
fn size(style: &Style, bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1_000 {
        return style.say(Text::Bytes { count: &bytes });
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
            assert_eq!(size(&Style::plain(None), bytes), told, "{bytes}");
        }
    }
}
