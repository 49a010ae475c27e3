//! The spans of a trace as indented text that is equal in every run: without ids and times, and
//! with siblings in an order that is independent of the speed of processes.

use std::collections::BTreeMap;

use super::receiver::Sent;

/// The attributes that are shown beside the name.
const SHOWN: [&str; 8] = [
    "callboard.record.kind",
    "callboard.work",
    "callboard.attempt",
    "callboard.step.id",
    "callboard.ask.id",
    "callboard.outcome",
    "callboard.job.status",
    "error.type",
];

/// The heading above spans whose parent is missing.
pub(super) const LOST: &str = "(below a span that is not there)\n";

/// Formats the spans below the one with the id `root`. Spans without a parent come last.
pub(super) fn draw(spans: &[Sent], root: &[u8]) -> String {
    let mut children: BTreeMap<&[u8], Vec<&Sent>> = BTreeMap::new();
    for sent in spans {
        children.entry(&sent.span.parent_span_id).or_default().push(sent);
    }
    let mut text = below(&children, root, 0);
    let lost: Vec<&&[u8]> = children
        .keys()
        .filter(|parent| **parent != root && !spans.iter().any(|s| s.span.span_id == ***parent))
        .collect();
    for parent in lost {
        text.push_str(LOST);
        text.push_str(&below(&children, parent, 1));
    }
    text
}

fn below(children: &BTreeMap<&[u8], Vec<&Sent>>, parent: &[u8], depth: usize) -> String {
    let mut drawn: Vec<String> = children
        .get(parent)
        .into_iter()
        .flatten()
        .map(|sent| {
            let line = format!("{}{}\n", "  ".repeat(depth), line(sent));
            line + &below(children, &sent.span.span_id, depth + 1)
        })
        .collect();
    drawn.sort();
    drawn.concat()
}

fn line(sent: &Sent) -> String {
    let shown = SHOWN.iter().map(|key| (key, sent.attribute(key)));
    let shown: Vec<String> = shown
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| format!("{}={value}", key.trim_start_matches("callboard.")))
        .collect();
    let links = match sent.span.links.len() {
        0 => String::new(),
        n => format!(" links={n}"),
    };
    let shown = shown.iter().fold(String::new(), |text, one| format!("{text} {one}"));
    format!("{} [{}]{shown}{links}", sent.span.name, sent.roles)
}
