//! The timeline of a job: the records of its log that no rollback has removed.
//!
//! Every reader of a log must agree on the timeline, so it is derived from the records alone. A
//! rollback removes all records after its target and continues from there. It counts if the target
//! is in the timeline at that moment, and if its author had seen the start of every `once` tool or
//! allowed such tools to run again. A rollback that does not count changes nothing. A child that
//! has settled its outcome can no longer be rolled back, because its parent has been told.

use std::collections::BTreeMap;

use proto::{
    decision::{Decision, Note},
    entry::Entry,
    fact::{Fact, Signal, Source},
    fork::Forked,
    id::{Generation, Pool, Seq, Unit},
    record::Known,
    subject::Family,
};

/// The timeline of one job, up to the last record taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Positions of the records in the timeline, ascending.
    seqs: Vec<Seq>,
    /// Position of the last record that a `once` tool started, whether or not it is in the
    /// timeline.
    began: Seq,
    /// Pool of each call in the log.
    pools: BTreeMap<Unit, Pool>,
    /// Number of rollbacks that counted, in this log and in the logs it was forked from.
    generation: Generation,
    /// `true` once a child's outcome, which its parent is told, is settled.
    concluded: bool,
}

/// The effect of a record on the timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The record is appended.
    On,
    /// The record is a rollback that counts: everything after this position is removed.
    Back(Seq),
    /// The record is a rollback that does not count.
    Refused,
}

impl Timeline {
    /// Takes the next record, or `None` for an unreadable one, and returns its effect. Forged
    /// records ([`proto::record::Unreadable::Forged`]) must not be passed.
    pub fn take(&mut self, seq: Seq, family: &Family, record: Option<&Known>) -> Turn {
        let turn = match (family, record) {
            (Family::In(source), Some(Known::Fact(fact))) if fact.may_come_from(source) => {
                self.fact(seq, source, fact)
            }
            (Family::Do(kind, _), Some(Known::Decision(decision))) if decision.kind() == *kind => {
                self.decision(decision);
                Turn::On
            }
            _ => Turn::On,
        };
        if let Turn::Back(to) = turn {
            self.generation = self.generation.next();
            self.seqs.truncate(self.seqs.partition_point(|seq| *seq <= to));
        }
        self.seqs.push(seq);
        turn
    }

    /// Takes the next entry of the log. Forged entries are skipped.
    pub fn take_entry(&mut self, entry: &Entry) -> Turn {
        if entry.is_forged() {
            return Turn::On;
        }
        self.take(entry.seq, &entry.family, entry.known().as_ref())
    }

    /// Returns `true` if the record at `seq` is in the timeline.
    #[must_use]
    pub fn has(&self, seq: Seq) -> bool {
        self.seqs.binary_search(&seq).is_ok()
    }

    /// Returns the positions of the records in the timeline, ascending.
    #[must_use]
    pub fn seqs(&self) -> &[Seq] {
        &self.seqs
    }

    /// Returns the generation of decisions that follow the records taken so far.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Returns `true` if the job is a child that has settled its outcome. No rollback counts from
    /// then on.
    #[must_use]
    pub fn is_concluded(&self) -> bool {
        self.concluded
    }

    /// Returns `true` if a worker of this source may report on the attempt: its pool got the call.
    pub(crate) fn may_report(&self, source: &Source, unit: &Unit) -> bool {
        self.pools.get(unit).map_or(*source == Source::Crew, |pool| source.may_call(pool))
    }

    fn decision(&mut self, decision: &Decision) {
        if let Decision::Call(call) = decision {
            let unit = Unit { work: call.work.clone(), attempt: call.attempt };
            self.pools.insert(unit, call.pool.clone());
        }
        if let Decision::Note(Note::Concluded { generation, .. }) = decision {
            // The writer of a note of an earlier generation had not seen the rollback.
            self.concluded |= *generation == self.generation;
        }
    }

    fn fact(&mut self, seq: Seq, source: &Source, fact: &Fact) -> Turn {
        match fact {
            Fact::Submitted(submitted) if self.seqs.is_empty() => {
                let forked = submitted.forked.as_deref();
                self.generation = forked.map_or(Generation::FIRST, fork_generation);
            }
            Fact::Started(started) => {
                let unit = Unit { work: started.work.clone(), attempt: started.attempt };
                if self.may_report(source, &unit) {
                    self.began = seq;
                }
            }
            Fact::Signaled(signaled) => {
                if let Signal::RollBack { to, seen, again } = signaled.signal {
                    let counts = !self.concluded && self.has(to) && (again || self.began <= seen);
                    return if counts { Turn::Back(to) } else { Turn::Refused };
                }
            }
            Fact::Submitted(_)
            | Fact::Planned(_)
            | Fact::Turned(_)
            | Fact::Called(_)
            | Fact::Answered(_)
            | Fact::Fired(_)
            | Fact::Child(_) => {}
        }
        Turn::On
    }
}

/// Returns `true` if the record at `rollback` is a rollback that counted.
#[must_use]
pub fn counted(entries: &[Entry], rollback: Seq) -> bool {
    let mut timeline = Timeline::default();
    entries.iter().any(|entry| {
        let turn = timeline.take_entry(entry);
        entry.seq == rollback && matches!(turn, Turn::Back(_))
    })
}

/// Returns the generation in which a fork starts: one after the last generation of its source.
#[must_use]
pub fn fork_generation(forked: &Forked) -> Generation {
    let mut timeline = Timeline::default();
    for stored in &forked.records {
        let Ok(family) = stored.family() else { continue };
        let known = stored.record().and_then(|record| record.known()).ok();
        timeline.take(stored.seq, &family, known.as_ref());
    }
    timeline.generation().next()
}

/// Returns the position that a record asks to roll back to. Whether the rollback counts is not
/// checked.
#[must_use]
pub fn wanted(family: &Family, record: &Known) -> Option<Seq> {
    let Known::Fact(fact) = record else { return None };
    let Fact::Signaled(signaled) = &**fact else { return None };
    let Signal::RollBack { to, .. } = signaled.signal else { return None };
    (*family == Family::In(Source::Door)).then_some(to)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use proto::{
        fact::{Signaled, Started},
        id::{Attempt, WorkId},
    };

    fn took(timeline: &mut Timeline, seq: u64, source: Source, fact: Fact) -> Turn {
        timeline.take(Seq(seq), &Family::In(source), Some(&Known::Fact(Box::new(fact))))
    }

    fn back(timeline: &mut Timeline, seq: u64, to: u64, seen: u64, again: bool) -> Turn {
        let signal = Signal::RollBack { to: Seq(to), seen: Seq(seen), again };
        took(
            timeline,
            seq,
            Source::Door,
            Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None }),
        )
    }

    fn of(seqs: &[u64]) -> Timeline {
        let mut timeline = Timeline::default();
        for seq in seqs {
            timeline.take(Seq(*seq), &Family::In(Source::Crew), None);
        }
        timeline
    }

    fn shown(timeline: &Timeline) -> Vec<u64> {
        timeline.seqs().iter().map(|seq| seq.0).collect()
    }

    #[rstest]
    #[case::to_a_record(3, Turn::Back(Seq(3)), &[1, 3, 9])]
    #[case::to_the_first(1, Turn::Back(Seq(1)), &[1, 9])]
    #[case::to_the_last(7, Turn::Back(Seq(7)), &[1, 3, 5, 7, 9])]
    #[case::to_a_record_of_another_job(4, Turn::Refused, &[1, 3, 5, 7, 9])]
    #[case::to_what_comes_later(11, Turn::Refused, &[1, 3, 5, 7, 9])]
    #[case::to_itself(9, Turn::Refused, &[1, 3, 5, 7, 9])]
    fn a_roll_back_takes_out_what_came_after(
        #[case] to: u64,
        #[case] turn: Turn,
        #[case] left: &[u64],
    ) {
        let mut timeline = of(&[1, 3, 5, 7]);
        assert_eq!(back(&mut timeline, 9, to, 7, false), turn);
        assert_eq!(shown(&timeline), left);
    }

    #[test]
    fn roll_backs_nest_and_none_goes_to_what_is_taken_out() {
        let mut timeline = of(&[1, 3, 5, 7]);
        assert_eq!(back(&mut timeline, 9, 3, 7, false), Turn::Back(Seq(3)));
        assert_eq!(back(&mut timeline, 10, 5, 9, false), Turn::Refused);
        assert_eq!(back(&mut timeline, 11, 9, 10, false), Turn::Back(Seq(9)));
        assert_eq!(back(&mut timeline, 12, 1, 11, false), Turn::Back(Seq(1)));
        assert_eq!(shown(&timeline), [1, 12]);
        assert_eq!(back(&mut timeline, 13, 9, 12, false), Turn::Refused);
    }

    #[test]
    fn a_tool_that_was_begun_unseen_holds_a_roll_back_unless_it_may_run_again() {
        let started = Started { work: WorkId::new("g0.r0.s1").unwrap(), attempt: Attempt::FIRST };
        let mut timeline = of(&[1, 3]);
        took(&mut timeline, 5, Source::Crew, Fact::Started(started));
        assert_eq!(back(&mut timeline, 6, 1, 3, false), Turn::Refused);
        assert_eq!(back(&mut timeline, 7, 1, 6, false), Turn::Back(Seq(1)));
        assert_eq!(back(&mut timeline, 8, 7, 3, true), Turn::Back(Seq(7)));
    }

    #[test]
    fn what_a_job_comes_to_that_works_for_another_one_is_settled_once() {
        let concluded = |timeline: &mut Timeline, seq: u64, generation: u32| {
            let outcome = proto::job::Outcome::Canceled { reason: None };
            let note = Note::Concluded { outcome, generation: Generation(generation) };
            let decision = Decision::Note(note);
            let family = Family::Do(decision.kind(), decision.pool());
            timeline.take(Seq(seq), &family, Some(&Known::Decision(Box::new(decision))))
        };
        let mut timeline = of(&[1, 3]);
        assert_eq!(back(&mut timeline, 5, 3, 3, false), Turn::Back(Seq(3)));
        concluded(&mut timeline, 7, 0);
        assert!(!timeline.is_concluded(), "it was decided before the roll-back was known");
        assert_eq!(back(&mut timeline, 9, 3, 7, false), Turn::Back(Seq(3)));
        concluded(&mut timeline, 11, 2);
        assert!(timeline.is_concluded());
        assert_eq!(back(&mut timeline, 13, 3, 11, true), Turn::Refused);
    }

    #[test]
    fn nobody_but_the_door_rolls_a_job_back() {
        let mut timeline = of(&[1, 3]);
        let signal = Signal::RollBack { to: Seq(1), seen: Seq(3), again: true };
        let fact = Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None });
        assert_eq!(took(&mut timeline, 5, Source::Crew, fact), Turn::On);
        assert_eq!(shown(&timeline), [1, 3, 5]);
    }
}
