//! The fold of an entry together with the projection of its events.

use jiff::Timestamp;
use proto::{
    decision::{Decision, Done},
    entry::Entry,
    event::{Event, EventId, Happened},
    record::{Known, Unreadable},
};

use super::Projection;
use crate::{
    at::At,
    replay::{Replay, known},
    state::Job,
};

/// An entry that is folded, and whose events are not all derived yet.
#[derive(Debug)]
#[must_use = "its events are derived by `Projection::end`"]
pub struct Folded {
    at: At,
    /// The record, or the result of work that is done.
    known: Option<Known>,
    /// Events of the command of work that is done, and when the work began.
    begun: Option<(Timestamp, Vec<Happened>)>,
}

impl Projection {
    /// Returns the events of the next record, other than a `done`.
    #[cfg(test)]
    pub(crate) fn take(
        &mut self,
        seq: proto::id::Seq,
        time: Timestamp,
        record: Option<&Known>,
        after: &Job,
    ) -> Vec<Event> {
        let folded = Folded { at: At { seq, time }, known: record.cloned(), begun: None };
        self.end(folded, after)
    }

    /// Folds the next entry of a whole log, and returns its events. Every entry must be taken, from
    /// the first one on.
    pub fn replay(&mut self, replay: &mut Replay, entry: &Entry) -> Vec<Event> {
        let folded = self.begin_with(entry, |at, known, between| {
            replay.apply_in_halves(at, &entry.family, known, between);
        });
        self.end(folded, replay.job())
    }

    /// Folds the next entry into a job. Its events follow with [`Self::end`], after a rollback with the
    /// job that was folded again.
    pub fn begin(&mut self, job: &mut Job, entry: &Entry) -> Folded {
        self.begin_with(entry, |at, known, between| {
            job.apply_in_halves(at, &entry.family, known, between);
        })
    }

    /// Returns the events of an entry that is folded. `after` is the job after it; before its
    /// submission there are no events.
    pub fn end(&mut self, folded: Folded, after: &Job) -> Vec<Event> {
        let Folded { at: At { seq, time }, known, begun } = folded;
        let (began, first) = begun.unwrap_or((time, Vec::new()));
        let first = first.into_iter().map(|happened| (began, happened));
        let second = self.look(known.as_ref(), after).into_iter().map(|happened| (time, happened));
        (1..)
            .zip(first.chain(second))
            .map(|(index, (time, happened))| Event { id: EventId { seq, index }, time, happened })
            .collect()
    }

    /// Folds an entry with `fold`. Work that is done begins and ends with one record, so the job is
    /// looked at between its command and its result.
    fn begin_with(
        &mut self,
        entry: &Entry,
        fold: impl FnOnce(At, Result<&Known, &Unreadable>, &mut dyn FnMut(&Job)),
    ) -> Folded {
        let known = known(entry);
        let at = At::of(entry);
        let Some(done) = known.as_ref().ok().and_then(done) else {
            fold(at, known.as_ref(), &mut |_| ());
            return Folded { at, known: known.ok(), begun: None };
        };
        let (command, result) = (Known::from(done.command()), Known::from(done.result()));
        let mut begun = None;
        fold(at, known.as_ref(), &mut |job| {
            begun = Some((done.begun(at.time), self.look(Some(&command), job)));
        });
        Folded { at, known: begun.is_some().then_some(result), begun }
    }
}

/// Returns the work that a record says is done.
fn done(known: &Known) -> Option<&Done> {
    let Known::Decision(decision) = known else { return None };
    let Decision::Done(done) = &**decision else { return None };
    Some(done)
}
