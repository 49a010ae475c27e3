//! Units of work according to the records: decided, answered and counted.

use std::collections::{BTreeMap, BTreeSet};

use proto::entry::Entry;
use proto::{
    decision::{CallWork, Decision, DoneUnit, Note},
    fact::Fact,
    family::News,
    id::{Seq, Unit, WorkId},
};

use super::Finding;

#[derive(Debug, Default)]
pub(super) struct Units {
    pub(super) findings: Vec<Finding>,
    pub(super) workers: BTreeSet<String>,
    /// Position of each attempt's command.
    sent: BTreeMap<Unit, Seq>,
    /// Attempts with a result that counted.
    counted: BTreeSet<Unit>,
    /// Decisions that must be unique, by label.
    others: BTreeSet<String>,
    keys: BTreeMap<WorkId, String>,
    /// Attempts that need no result: a rollback removed or fenced them, or the supervisor did not
    /// send them.
    abandoned: BTreeSet<Unit>,
    ended: bool,
}

impl Units {
    pub(super) fn commands(&self) -> usize {
        self.sent.len()
    }

    pub(super) fn results(&self) -> usize {
        self.counted.len()
    }

    /// Applies a rollback: unanswered attempts need no result, and the end no longer holds.
    pub(super) fn abandon(&mut self) {
        let unanswered = self.sent.keys().filter(|unit| !self.counted.contains(*unit));
        self.abandoned.extend(unanswered.cloned());
        self.ended = false;
    }

    /// Records a decision of an earlier generation. It has no effect, but workers see it.
    pub(super) fn fenced(&mut self, seq: Seq, decision: &Decision) {
        let Some(unit) = decision.unit() else { return };
        self.command(seq, &unit);
        self.abandoned.insert(unit);
    }

    pub(super) fn decision(&mut self, seq: Seq, decision: &Decision) {
        if self.ended {
            self.findings.push(Finding::AfterTheEnd { seq });
        }
        if let Some(unit) = decision.unit() {
            self.command(seq, &unit);
        }
        match decision {
            Decision::Plan(_) | Decision::Turn(_) | Decision::Spawn(_) => {}
            // Only the units that the fold applied count: see `Self::done`.
            Decision::Done(_) => {}
            Decision::Call(work) => {
                self.key(seq, work);
                if work.refused.is_some() {
                    self.abandoned.extend(decision.unit());
                }
            }
            Decision::Ask(work) => self.other(seq, format!("question {}", work.question.id)),
            Decision::Wait(wait) => self.other(seq, format!("timer {}", wait.timer)),
            Decision::Note(Note::QuestionClosed { ask, .. }) => {
                self.other(seq, format!("the close of {ask}"));
            }
            Decision::Note(Note::Stopped { work, .. }) => {
                self.other(seq, format!("the stop before {work}"));
            }
            Decision::Note(Note::Spawned { work, attempt, .. }) => {
                self.other(seq, format!("the beginning of {work} #{attempt}"));
            }
            // Both may be repeated: a child is paused and resumed, and a question may open again.
            Decision::Note(Note::ChildTold { .. } | Note::ParentTold { .. }) => {}
            Decision::Note(Note::Held { generation }) => {
                self.other(seq, format!("the hold of generation {generation}"));
            }
            Decision::Note(Note::GraphEdited { signal, generation }) => {
                self.other(seq, format!("the edit of {signal} in generation {generation}"));
            }
            Decision::Note(Note::Advanced(advance)) => {
                let (n, generation) = (advance.n, advance.generation);
                self.other(seq, format!("advance {n} of generation {generation}"));
            }
            Decision::Note(Note::Concluded { .. }) => {
                self.other(seq, "what it comes to".to_owned());
            }
            Decision::Finish(finish) => {
                let end = if finish.generation.is_first() {
                    "the end".to_owned()
                } else {
                    format!("the end of generation {}", finish.generation)
                };
                self.other(seq, end);
                self.ended = true;
            }
        }
    }

    /// Records the command of a unit that is done and that the fold applied.
    pub(super) fn done(&mut self, seq: Seq, unit: &DoneUnit) {
        self.command(seq, &unit.unit());
        if let DoneUnit::Call(ran) = unit {
            self.key(seq, &ran.command);
        }
    }

    fn key(&mut self, seq: Seq, work: &CallWork) {
        let key = self.keys.entry(work.work.clone());
        if *key.or_insert_with(|| work.idempotency_key.clone()) != work.idempotency_key {
            self.findings.push(Finding::KeyChanged { seq, work: work.work.clone() });
        }
    }

    fn command(&mut self, seq: Seq, unit: &Unit) {
        if self.sent.insert(unit.clone(), seq).is_some() {
            self.findings.push(Finding::DecidedTwice { seq, what: unit.to_string() });
        }
    }

    fn other(&mut self, seq: Seq, what: String) {
        if !self.others.insert(what.clone()) {
            self.findings.push(Finding::DecidedTwice { seq, what });
        }
    }

    /// Takes a fact. `counted` is `true` if it changed the state.
    pub(super) fn fact(&mut self, entry: &Entry, by: &str, fact: &Fact, counted: bool) {
        let (work, attempt, is_result) = match fact {
            Fact::Planned(planned) => (&planned.work, planned.attempt, true),
            Fact::Turned(turned) => (&turned.work, turned.attempt, true),
            Fact::Called(called) => (&called.work, called.attempt, true),
            Fact::Started(started) => (&started.work, started.attempt, false),
            Fact::Child(said) => {
                (&said.work, said.attempt, matches!(said.news, News::Ended { .. }))
            }
            Fact::Submitted(_) | Fact::Signaled(_) | Fact::Answered(_) | Fact::Fired(_) => return,
        };
        let (seq, unit) = (entry.seq, Unit { work: work.clone(), attempt });
        if !self.sent.contains_key(&unit) {
            self.findings.push(Finding::Commandless { seq, work: work.clone(), attempt });
        }
        if !is_result || !counted {
            return;
        }
        self.workers.insert(by.to_owned());
        if !self.counted.insert(unit) {
            self.findings.push(Finding::CountedTwice { seq, work: work.clone(), attempt });
        }
    }

    /// Takes a result that counted and cannot be read. Its attempt is over.
    pub(super) fn broke(&mut self, unit: Unit) {
        self.abandoned.insert(unit);
    }

    /// Reports every command that has no result, except those of skipped steps.
    pub(super) fn all_answered(&mut self, is_skipped: impl Fn(&WorkId) -> bool) {
        let open = |unit: &Unit| {
            let is_known = self.counted.contains(unit) || self.abandoned.contains(unit);
            !is_known && !is_skipped(&unit.work)
        };
        let unanswered = self.sent.iter().filter(|(unit, _)| open(unit));
        self.findings.extend(unanswered.map(|(unit, seq)| Finding::Unanswered {
            seq: *seq,
            work: unit.work.clone(),
            attempt: unit.attempt,
        }));
    }
}
