//! Whether a command's result is still wanted, from the records after the command.
//!
//! Only the job's log can say so: a stop message is a hint that may be early, late, forged or lost.
//! The log is not folded for this, because every running command looks at it again and again.

use proto::{
    decision::{Decision, DecisionKind},
    entry::Entry,
    fact::{Signal, Source},
    id::{Seq, Unit},
    record::{Body, Record},
    subject::Family,
};

/// The state of one command, as far as the log after it has been read.
#[derive(Debug)]
pub struct Cancellation {
    seen: Seq,
    unit: Option<Unit>,
    verdict: Verdict,
}

/// The log's word on a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The job goes on.
    Wanted,
    /// The job goes on, and an operator asked to end it.
    Canceling,
    /// The job has ended or was rolled back, or another worker has answered the command.
    Over,
}

impl Cancellation {
    /// A command that is wanted, as far as its own record says.
    #[must_use]
    pub fn new(command: Seq, decision: &Decision) -> Self {
        let answered = !matches!(decision, Decision::Spawn(_));
        let unit = decision.unit().filter(|_| answered);
        Self { seen: command, unit, verdict: Verdict::Wanted }
    }

    /// The last record that was read: read the log after it.
    #[must_use]
    pub fn seen(&self) -> Seq {
        self.seen
    }

    /// Takes the records since the last look, in the order of the log.
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

    /// Whether it was decided in a later generation: the job was rolled back then, and earlier
    /// decisions count for nothing.
    fn is_fence(&self, entry: &Entry) -> bool {
        let (Some(unit), Ok(record), Family::Do(..)) = (&self.unit, &entry.record, &entry.family)
        else {
            return false;
        };
        let generation = unit.work.generation();
        // The log of a job without a rollback has no such name, and its bodies are not parsed.
        if generation.is_first() && !has_later_generation(record) {
            return false;
        }
        record.decision().is_some_and(|later| later.generation() > generation)
    }

    /// Whether it answers the attempt: of several answers the first one counts.
    fn is_answer(&self, entry: &Entry) -> bool {
        let (Some(unit), Ok(record)) = (&self.unit, &entry.record) else { return false };
        entry.family == Family::In(Source::Crew)
            && record.is_result()
            && record.fact().and_then(|fact| fact.result_of()).as_ref() == Some(unit)
    }
}

/// Whether a decision may be of a later generation than the first, by its bytes.
fn has_later_generation(record: &Record) -> bool {
    let Body::Inline(body) = &record.body else { return true };
    body.get().contains("\"generation\":") || !body.get().contains("\"work\":\"g0.")
}

fn is_cancel(entry: &Entry) -> bool {
    entry.signal().is_some_and(|signaled| signaled.signal == Signal::Cancel)
}
