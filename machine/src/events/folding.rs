//! The fold of an entry together with the projection of its events.

use jiff::Timestamp;
use proto::{
    decision::DecisionKind,
    entry::Entry,
    event::{Event, EventId, Happened},
    record::{Known, Unreadable},
};

use super::Projection;
use crate::{
    at::At,
    done::Half,
    replay::{Replay, known},
    state::Job,
};

/// An entry that is folded, and whose events are not all derived yet.
#[derive(Debug)]
#[must_use = "its events are derived by `Projection::end`"]
pub struct Folded {
    at: At,
    /// The record, unless it is a `done`.
    known: Option<Known>,
    /// Events of the halves of a `done`.
    halves: Vec<(Timestamp, Happened)>,
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
        let folded = Folded { at: At { seq, time }, known: record.cloned(), halves: Vec::new() };
        self.end(folded, after)
    }

    /// Folds the next entry of a whole log, and returns its events. Every entry must be taken, from
    /// the first one on.
    pub fn replay(&mut self, replay: &mut Replay, entry: &Entry) -> Vec<Event> {
        let folded = self.begin_with(entry, |at, known, halves| {
            replay.apply_in_halves(at, &entry.family, known, halves);
        });
        self.end(folded, replay.job())
    }

    /// Folds the next entry into a job. Its events follow with [`Self::end`], after a rollback with the
    /// job that was folded again.
    pub fn begin(&mut self, job: &mut Job, entry: &Entry) -> Folded {
        self.begin_with(entry, |at, known, halves| {
            job.apply_in_halves(at, &entry.family, known, halves);
        })
    }

    /// Returns the events of an entry that is folded. `after` is the job after it; before its
    /// submission there are no events.
    pub fn end(&mut self, folded: Folded, after: &Job) -> Vec<Event> {
        let Folded { at: At { seq, time }, known, halves } = folded;
        let rest = self.look(known.as_ref(), after).into_iter().map(|happened| (time, happened));
        (1..)
            .zip(halves.into_iter().chain(rest))
            .map(|(index, (time, happened))| Event { id: EventId { seq, index }, time, happened })
            .collect()
    }

    /// Folds an entry with `fold`. Work that is done begins and ends with one record, so the job is
    /// looked at after each command and after each result.
    fn begin_with(
        &mut self,
        entry: &Entry,
        fold: impl FnOnce(At, Result<&Known, &Unreadable>, &mut dyn FnMut(&Job, Half<'_>)),
    ) -> Folded {
        let known = known(entry);
        let at = At::of(entry);
        let mut halves = Vec::new();
        fold(at, known.as_ref(), &mut |job, half| {
            let (time, known) = match half {
                Half::Sent(unit, period) => (period.began, Known::from(unit.command())),
                Half::Answered(unit, period, _) => (period.ended, Known::from(unit.result())),
            };
            halves
                .extend(self.look(Some(&known), job).into_iter().map(|happened| (time, happened)));
        });
        let is_done = known.as_ref().is_ok_and(is_done);
        Folded { at, known: known.ok().filter(|_| !is_done), halves }
    }
}

fn is_done(known: &Known) -> bool {
    matches!(known, Known::Decision(decision) if decision.kind() == DecisionKind::Done)
}
