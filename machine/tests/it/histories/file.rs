//! Reads the recorded logs and their index.

use std::{collections::BTreeMap, path::PathBuf};

use jiff::Timestamp;
use proto::{
    entry::Entry,
    id::{JobId, Seq},
    record::Record,
    subject::Subjects,
};
use serde::Deserialize;
use serde_json::value::RawValue;

/// A recorded log in the index.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listed {
    /// SHA-256 of the file.
    pub(super) sha256: String,
    pub(super) records: usize,
    /// SHA-256 of the machine's states over the log.
    pub(super) states: String,
}

#[derive(Deserialize)]
struct Line {
    seq: Seq,
    time: Timestamp,
    subject: String,
    record: Box<RawValue>,
}

/// A recorded log with its entries.
pub(super) struct History {
    pub(super) name: String,
    pub(super) job: JobId,
    pub(super) entries: Vec<Entry>,
    pub(super) listed: Listed,
}

pub(super) fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/histories")
}

/// Reads the index.
pub(super) fn index() -> BTreeMap<String, Listed> {
    let text = std::fs::read_to_string(directory().join("index.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Reads all recorded logs.
pub(super) fn all() -> Vec<History> {
    index().into_iter().map(|(name, listed)| read(name, listed)).collect()
}

fn read(name: String, listed: Listed) -> History {
    let text = std::fs::read_to_string(directory().join(format!("{name}.jsonl"))).unwrap();
    let lines: Vec<Line> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // The subjects do not name the number of shards, so each number is tried.
    let shards = (1..=256).find(|shards| {
        let subjects = Subjects::new("cb", *shards).unwrap();
        lines.iter().all(|line| subjects.parse(&line.subject).is_ok())
    });
    let subjects =
        Subjects::new("cb", shards.unwrap_or_else(|| panic!("{name}: foreign"))).unwrap();
    let entries: Vec<Entry> = lines
        .into_iter()
        .map(|line| {
            let place = subjects.parse(&line.subject).unwrap();
            Entry {
                seq: line.seq,
                time: line.time,
                job: place.job,
                family: place.family,
                record: Record::from_slice(line.record.get().as_bytes()),
                trace: None,
            }
        })
        .collect();
    History { job: entries[0].job.clone(), name, entries, listed }
}
