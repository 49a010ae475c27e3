//! Continues a log that was cut: the decisions that follow are stored, and the facts after the cut
//! are applied again, in their order, to the work that they are for.

use std::collections::BTreeMap;

use machine::{At, Job, replay};
use proto::{
    decision::Decision,
    entry::Entry,
    fact::Fact,
    id::{AskId, Attempt, JobId, Seq, TimerName, WorkId},
    record::{Known, Record},
    subject::Family,
};

/// Limit on the decisions after one fact; beyond it the machine would never rest.
const DECISIONS_MAX: usize = 500;

/// Questions and waits, by the work that they are for. Their numbers may differ when a log is
/// continued.
#[derive(Default)]
struct Names {
    asks: BTreeMap<AskId, WorkId>,
    timers: BTreeMap<TimerName, (WorkId, Attempt)>,
}

impl Names {
    fn take(&mut self, decision: &Decision) {
        match decision {
            Decision::Ask(ask) => {
                let id = ask.question.id.clone();
                if ask.question.deadline.is_some() {
                    let timer = TimerName::new(format!("ask-{id}")).unwrap();
                    self.timers.insert(timer, (ask.work.clone(), Attempt(0)));
                }
                self.asks.insert(id, ask.work.clone());
            }
            Decision::Wait(wait) => {
                self.timers.insert(wait.timer.clone(), (wait.work.clone(), wait.attempt));
            }
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Done(_)
            | Decision::Finish(_) => {}
        }
    }

    /// Returns the fact with the names of another run.
    fn translated(&self, fact: Fact, other: &Self) -> Fact {
        match fact {
            Fact::Answered(mut answered) => {
                let same = self.asks.get(&answered.ask).and_then(|work| {
                    other.asks.iter().rev().find(|(_, of)| *of == work).map(|(ask, _)| ask.clone())
                });
                answered.ask = same.unwrap_or(answered.ask);
                Fact::Answered(answered)
            }
            Fact::Fired(mut fired) => {
                let same = self.timers.get(&fired.timer).and_then(|unit| {
                    other.timers.iter().find(|(_, of)| *of == unit).map(|(name, _)| name.clone())
                });
                fired.timer = same.unwrap_or(fired.timer);
                Fact::Fired(fired)
            }
            Fact::Submitted(_)
            | Fact::Signaled(_)
            | Fact::Planned(_)
            | Fact::Turned(_)
            | Fact::Started(_)
            | Fact::Called(_)
            | Fact::Child(_) => fact,
        }
    }
}

/// A log that is continued.
pub(super) struct GoOn {
    pub(super) job: Job,
    seq: Seq,
    names: Names,
    recorded: Names,
}

impl GoOn {
    /// Starts with the first `cut` records of a log.
    pub(super) fn from(job: &JobId, entries: &[Entry], cut: usize) -> Self {
        let (mut names, mut recorded) = (Names::default(), Names::default());
        for (n, entry) in entries.iter().enumerate() {
            if let Some(Known::Decision(decision)) = known(entry) {
                recorded.take(&decision);
                if n < cut {
                    names.take(&decision);
                }
            }
        }
        let job = replay(job, &entries[..cut]);
        Self { seq: job.seq(), job, names, recorded }
    }

    /// Continues to the end of the recording.
    pub(super) fn through(mut self, rest: &[Entry]) -> Job {
        self.drive();
        for entry in rest {
            for fact in entry.results() {
                let fact = self.recorded.translated(fact, &self.names);
                self.apply(entry, fact);
                self.drive();
            }
        }
        self.job
    }

    fn drive(&mut self) {
        for _ in 0..DECISIONS_MAX {
            let Some(next) = self.job.decide() else { return };
            self.names.take(&next.decision);
            self.seq = Seq(self.seq.0 + 1);
            let at = At { seq: self.seq, time: self.job.updated() };
            let family = Family::Do(next.decision.kind(), next.decision.pool());
            self.job.apply(at, &family, Ok(&Known::Decision(Box::new(next.decision))));
        }
        panic!("the machine never rests: {:#?}", self.job.view());
    }

    fn apply(&mut self, entry: &Entry, fact: Fact) {
        self.seq = Seq(self.seq.0 + 1);
        let at = At { seq: self.seq, time: entry.time.max(self.job.updated()) };
        let family = Family::In(fact.source());
        self.job.apply(at, &family, Ok(&Known::Fact(Box::new(fact))));
    }
}

/// Returns a readable record.
pub(super) fn known(entry: &Entry) -> Option<Known> {
    entry.record.as_ref().ok().and_then(|record| Record::known(record).ok())
}
