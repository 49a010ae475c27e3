//! Intents of `once` tools: the records by which workers claim a run before they start it.
//!
//! The log orders all intents of an attempt, and the first one owns the run.

use proto::{
    entry::Entry,
    id::{Generation, Pool, Seq, Unit},
    subject::Family,
};

use crate::timeline::Timeline;

/// Returns the position of the first intent for this attempt after its command, by a worker of the
/// call's pool.
#[must_use]
pub fn first(entries: &[Entry], command: Seq, unit: &Unit, pool: &Pool) -> Option<Seq> {
    let intends = |entry: &&Entry| {
        if !matches!(&entry.family, Family::In(source) if source.may_call(pool)) {
            return false;
        }
        // The kind is compared first so that large bodies are not parsed in vain.
        let record = entry.record.as_ref().ok().filter(|record| record.kind == "started");
        let fact = record.and_then(|record| record.fact());
        let started = fact.as_ref().and_then(|fact| fact.as_started());
        started.is_some_and(|s| s.work == unit.work && s.attempt == unit.attempt)
    };
    entries.iter().filter(|entry| entry.seq > command).find(intends).map(|entry| entry.seq)
}

/// Returns the generation of the job just before the record at `seq`.
#[must_use]
pub fn generation_before(entries: &[Entry], seq: Seq) -> Generation {
    let mut timeline = Timeline::default();
    for entry in entries.iter().take_while(|entry| entry.seq < seq) {
        timeline.take_entry(entry);
    }
    timeline.generation()
}
