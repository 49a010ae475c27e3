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
                    plain(escape::line(&found.text(style.language))),
                ]
            })
            .collect();
        out.push_str(&table(style, Text::FsckHeads, rows, Text::NoJobs));
        let mut advice: Vec<(&str, String)> = Vec::new();
        for found in report.wrong.iter().flat_map(|wrong| &wrong.findings) {
            if !advice.iter().any(|(word, _)| *word == found.word()) {
                advice.push((found.word(), found.advice(style.language)));
            }
        }
        for (word, what) in advice {
            out.push_str(&note(style, &format!("{word} → {what}")));
        }
        out.push('\n');
    }
    if !report.dead.is_empty() {
        out.push_str(&dead::rows(style, &report.dead));
        out.push_str(&note(style, &style.say(Text::FsckRetryDead)));
        out.push('\n');
    }
    for shard in &report.lost {
        let lost = style.say(Text::FsckLostShard { shard });
        out.push_str(&format!("{}\n", style.paint(Tone::Bad, &lost)));
    }
    out.push_str(&summary(style, report));
    out
}

fn summary(style: &Style, report: &Report) -> String {
    let conditions = JobCondition::ALL.iter().filter_map(|condition| {
        let count = &report.standing(*condition);
        let condition = &condition.text(style.language);
        (*count > 0).then(|| style.say(Text::FsckCondition { count, condition }))
    });
    let mut parts: Vec<String> = conditions.collect();
    if report.idle_timers > 0 {
        parts.push(style.say(Text::FsckIdleTimers { count: &report.idle_timers }));
    }
    let parts = &parts.join(&style.say(Text::Comma));
    let jobs = &style.say(match &report.jobs {
        1 => Text::JobOne,
        count => Text::JobsMany { count },
    });
    let counts = match parts.is_empty() {
        true => jobs,
        false => &style.say(Text::FsckCounts { jobs, parts }),
    };
    let wrong = report.wrong.len();
    let (tone, verdict) = match &wrong {
        0 if !report.lost.is_empty() => (Tone::Wait, Text::FsckRestConsistent { counts }),
        0 => (Tone::Good, Text::FsckConsistent { counts }),
        1 => (Tone::Bad, Text::FsckInconsistentOne { counts }),
        count => (Tone::Bad, Text::FsckInconsistent { count, counts }),
    };
    let lines = text::wrap(&style.say(verdict), style.columns());
    lines.iter().map(|line| format!("{}\n", style.paint(tone, line))).collect()
}
