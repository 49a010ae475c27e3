//! Rendering of the results of `fsck`.

use operator::fsck::{JobCondition, Report};
use proto::escape;

use crate::{
    render::{
        dead,
        table::{Piece, note, plain, table},
    },
    style::{Style, Tone},
    text,
    words::Text,
};

/// Renders defects, dead letters and a summary line.
pub(crate) fn report(style: &Style, report: &Report) -> String {
    let mut out = String::new();
    if !report.wrong.is_empty() {
        let rows: Vec<Vec<Piece>> = report
            .wrong
            .iter()
            .flat_map(|wrong| wrong.findings.iter().map(move |found| (wrong, found)))
            .map(|(wrong, found)| {
                vec![
                    plain(wrong.job.as_str()),
                    plain(wrong.shard.to_string()),
                    (Tone::Bad, found.word().to_owned()),
                    plain(escape::line(&found.to_string())),
                ]
            })
            .collect();
        out.push_str(&table(style, Text::FsckHeads, rows, Text::NoJobs));
        let mut advice: Vec<(&str, &str)> = Vec::new();
        for found in report.wrong.iter().flat_map(|wrong| &wrong.findings) {
            if !advice.iter().any(|(word, _)| *word == found.word()) {
                advice.push((found.word(), found.advice()));
            }
        }
        for (word, what) in advice {
            out.push_str(&note(style, &format!("{word} → {what}")));
        }
        out.push('\n');
    }
    if !report.dead.is_empty() {
        out.push_str(&dead::rows(style, &report.dead));
        out.push_str(&note(style, "→ `callboard jobs dead retry JOB` once the cause is repaired"));
        out.push('\n');
    }
    out.push_str(&summary(style, report));
    out
}

fn summary(style: &Style, report: &Report) -> String {
    let standings = JobCondition::ALL.iter().filter_map(|standing| {
        let count = report.standing(*standing);
        (count > 0).then(|| format!("{count} {}", standing.words()))
    });
    let mut parts: Vec<String> = standings.collect();
    if report.idle_timers > 0 {
        parts.push(format!("{} timers of jobs that ended (harmless)", report.idle_timers));
    }
    let (tone, verdict) = match report.wrong.len() {
        0 => (Tone::Good, "✓ every job is consistent".to_owned()),
        1 => (Tone::Bad, "✗ one job is inconsistent".to_owned()),
        n => (Tone::Bad, format!("✗ {n} jobs are inconsistent")),
    };
    let jobs = if report.jobs == 1 { "1 job".to_owned() } else { format!("{} jobs", report.jobs) };
    let counts = if parts.is_empty() { jobs } else { format!("{jobs}: {}", parts.join(", ")) };
    let lines = text::wrap(&format!("{verdict}; {counts}"), style.columns());
    lines.iter().map(|line| format!("{}\n", style.paint(tone, line))).collect()
}
