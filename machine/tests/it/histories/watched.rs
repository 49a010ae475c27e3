//! A watcher of a recorded job whose connections break anywhere sees the same events as one without
//! interruption: none is missing, and none comes twice.

use std::collections::BTreeSet;

use proptest::{prelude::*, test_runner::TestRunner};
use proto::event::{Event, EventId, Happened, InteractionEvent};

use super::{
    events::events,
    file::{self, History},
};

/// A connection: the part of the log that exists while it lasts, and the part of the new events
/// that it delivers, both in thousandths.
type Connection = (usize, usize);

/// Returns the events after `seen` that a door sends while the log has `records` records.
fn given(all: &[Vec<Event>], records: usize, seen: EventId) -> impl Iterator<Item = &Event> {
    all[records].iter().filter(move |event| event.id > seen)
}

fn watched(all: &[Vec<Event>], connections: &[Connection]) -> Vec<Event> {
    let (mut seen, mut told, mut records) = (EventId::START, Vec::new(), 0);
    for (grown, lives) in connections {
        // A log only grows.
        records += (all.len() - 1 - records) * grown / 1000;
        let fresh: Vec<Event> = given(all, records, seen).cloned().collect();
        let lives = fresh.len() * lives / 1000;
        told.extend(fresh.into_iter().take(lives));
        seen = told.last().map_or(seen, |event: &Event| event.id);
    }
    told.extend(given(all, all.len() - 1, seen).cloned());
    told
}

#[test]
fn what_is_seen_before_and_after_any_cuts_is_the_whole() {
    for History { name, job, entries, .. } in file::all() {
        let all: Vec<Vec<Event>> =
            (0..=entries.len()).map(|cut| events(&job, &entries[..cut])).collect();
        let connections = prop::collection::vec((0..=1000usize, 0..=1000usize), 0..6);
        let mut runner = TestRunner::deterministic();
        let kept = runner.run(&connections, |connections| {
            prop_assert_eq!(&watched(&all, &connections), all.last().unwrap(), "{}", name);
            Ok(())
        });
        kept.unwrap_or_else(|broken| panic!("{name}: {broken}"));
    }
}

#[test]
fn what_an_agent_says_in_a_turn_is_told_once() {
    for History { name, job, entries, .. } in file::all() {
        let mut told = BTreeSet::new();
        for Event { id, happened, .. } in events(&job, &entries) {
            match happened {
                Happened::Message(said) => {
                    let fresh = told.insert(said.work.clone());
                    assert!(fresh, "{name} {id}: {:?} once more", said.work);
                }
                // A rollback leads to a new outcome.
                Happened::Interaction(InteractionEvent::Signaled { signal, .. })
                    if signal == "roll_back" =>
                {
                    told.remove(&None);
                }
                Happened::Interaction(_)
                | Happened::Tool(_)
                | Happened::Step(_)
                | Happened::Error(_)
                | Happened::Usage(_)
                | Happened::Notice(_)
                | Happened::Turn(_)
                | Happened::Node(_)
                | Happened::Artifact(_)
                | Happened::Plan(_)
                | Happened::Job(_) => {}
            }
        }
    }
}
