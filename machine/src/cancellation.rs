//! The check whether a command's result is still wanted, from the records after the command.
//!
//! Only the job's log is authoritative: a stop message is a hint that may be early, late, forged or
//! lost. The log is not folded for this check, because every running command repeats it.

use proto::{
    decision::{Decision, DecisionKind},
    entry::Entry,
    fact::{Signal, Source},
    id::{Seq, Unit},
    record::{Body, Record},
    subject::Family,
};

/// The state of one command, up to the last record read.
#[derive(Debug)]
pub struct Cancellation {
    seen: Seq,
    unit: Option<Unit>,
    /// Source of the results that count.
    answered_by: Option<Source>,
    verdict: Verdict,
}

/// The state of a command according to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The result is wanted.
    Wanted,
    /// The job still runs, but its cancellation was requested.
    Canceling,
    /// The job has ended or was rolled back, or the attempt already has a result.
    Over,
}

impl Cancellation {
    /// Starts the check of a stored command, which is wanted at first.
    #[must_use]
    pub fn new(command: Seq, decision: &Decision) -> Self {
        let answered = !matches!(decision, Decision::Spawn(_));
        let unit = decision.unit().filter(|_| answered);
        let answered_by = decision.answered_by();
        Self { seen: command, unit, answered_by, verdict: Verdict::Wanted }
    }

    /// Returns the position of the last record read. Reading continues after it.
    #[must_use]
    pub fn seen(&self) -> Seq {
        self.seen
    }

    /// Takes the next records, in log order, and returns the state of the command.
    pub fn take(&mut self, entries: &[Entry]) -> Verdict {
        for entry in entries {
            self.seen = self.seen.max(entry.seq);
            if matches!(&entry.family, Family::Do(DecisionKind::Finish, _))
                || self.is_answer(entry)
                || self.is_fence(entry)
            {
                self.verdict = Verdict::Over;
            }
            if self.verdict == Verdict::Wanted && is_cancel(entry) {
                self.verdict = Verdict::Canceling;
            }
        }
        self.verdict
    }

    /// Returns `true` if the entry is a decision of a later generation. The job was then rolled
    /// back, and the command is obsolete.
    fn is_fence(&self, entry: &Entry) -> bool {
        let (Some(unit), Ok(record), Family::Do(..)) = (&self.unit, &entry.record, &entry.family)
        else {
            return false;
        };
        let generation = unit.work.generation();
        // In the log of a job without rollbacks no name has a later generation, so bodies need not
        // be parsed.
        if generation.is_first() && !has_later_generation(record) {
            return false;
        }
        record.decision().is_some_and(|later| later.generation() > generation)
    }

    /// Returns `true` if the entry is a result of the attempt. The first result counts.
    fn is_answer(&self, entry: &Entry) -> bool {
        let (Some(unit), Ok(record)) = (&self.unit, &entry.record) else { return false };
        let Family::In(source) = &entry.family else { return false };
        self.answered_by.as_ref().is_some_and(|wanted| source.may_answer(wanted))
            && record.is_result()
            && record.fact().and_then(|fact| fact.result_of()).as_ref() == Some(unit)
    }
}

/// Returns `true` unless the bytes of a decision show that it belongs to the first generation.
fn has_later_generation(record: &Record) -> bool {
    let Body::Inline(body) = &record.body else { return true };
    body.get().contains("\"generation\":") || !body.get().contains("\"work\":\"g0.")
}

fn is_cancel(entry: &Entry) -> bool {
    entry.signal().is_some_and(|signaled| signaled.signal == Signal::Cancel)
}
