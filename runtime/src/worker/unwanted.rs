//! Whether a command's result is still wanted. Only the job's log can say so: a stop message is a
//! hint that may be early, late, forged or lost.

use broker::log::{Log, LogError};
use proto::{
    decision::{Decision, DecisionKind},
    entry::Entry,
    fact::{Fact, Signal, Source},
    id::{Attempt, JobId, Seq, WorkId},
    record::{Body, Known, Record},
    subject::Family,
};

/// Looks through a job's records after a command, each of them once.
#[derive(Debug)]
pub(super) struct Wanted {
    job: JobId,
    seen: Seq,
    unit: Option<(WorkId, Attempt)>,
    canceled: bool,
}

/// What the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The job goes on.
    Wanted,
    /// The job goes on, and an operator asked to end it.
    Canceling,
    /// The job has ended or was rolled back, or another worker has answered the command.
    Over,
}

impl Wanted {
    pub(super) fn new(job: JobId, command: Seq, decision: &Decision) -> Self {
        Self { job, seen: command, unit: unit(decision), canceled: false }
    }

    /// Reads what was stored since the last look.
    pub(super) async fn look(&mut self, log: &dyn Log) -> Result<Verdict, LogError> {
        let entries = log.read(&self.job, self.seen).await?;
        for entry in &entries {
            self.seen = self.seen.max(entry.seq);
            if matches!(&entry.family, Family::Do(DecisionKind::Finish, _))
                || self.is_answer(entry)
                || self.is_fence(entry)
            {
                return Ok(Verdict::Over);
            }
            self.canceled |= is_cancel(entry);
        }
        Ok(if self.canceled { Verdict::Canceling } else { Verdict::Wanted })
    }

    /// Whether it was decided in a later generation: then the job was rolled back, and what was
    /// decided before counts for nothing.
    fn is_fence(&self, entry: &Entry) -> bool {
        let (Some((work, _)), Ok(record), Family::Do(..)) =
            (&self.unit, &entry.record, &entry.family)
        else {
            return false;
        };
        // A job that was never rolled back has no such name in it, and its bodies are not parsed.
        let first = work.generation().is_first();
        if first && !has_later_generation(record) {
            return false;
        }
        matches!(record.known(), Ok(Known::Decision(later)) if later.generation() > work.generation())
    }

    /// Whether somebody has answered the attempt: of several answers the first one counts.
    fn is_answer(&self, entry: &Entry) -> bool {
        let (Some((work, attempt)), Ok(record)) = (&self.unit, &entry.record) else { return false };
        let is = |w: &WorkId, a: Attempt| w == work && a == *attempt;
        entry.family == Family::In(Source::Crew)
            && matches!(record.kind.as_str(), "planned" | "turned" | "called")
            && matches!(record.known(), Ok(Known::Fact(fact)) if match &*fact {
                Fact::Planned(planned) => is(&planned.work, planned.attempt),
                Fact::Turned(turned) => is(&turned.work, turned.attempt),
                Fact::Called(called) => is(&called.work, called.attempt),
                Fact::Submitted(_)
                | Fact::Signaled(_)
                | Fact::Started(_)
                | Fact::Answered(_)
                | Fact::Fired(_)
                | Fact::Child(_) => false,
            })
    }
}

/// What a command is an attempt at, if a result answers it.
fn unit(decision: &Decision) -> Option<(WorkId, Attempt)> {
    match decision {
        Decision::Plan(work) => Some((work.work.clone(), work.attempt)),
        Decision::Turn(work) => Some((work.work.clone(), work.attempt)),
        Decision::Call(work) => Some((work.work.clone(), work.attempt)),
        Decision::Ask(_)
        | Decision::Wait(_)
        | Decision::Spawn(_)
        | Decision::Note(_)
        | Decision::Finish(_) => None,
    }
}

/// Whether a decision may be of a later generation than the first, by its bytes.
fn has_later_generation(record: &Record) -> bool {
    let Body::Inline(body) = &record.body else { return true };
    body.get().contains("\"generation\":") || !body.get().contains("\"work\":\"g0.")
}

fn is_cancel(entry: &Entry) -> bool {
    let Ok(record) = &entry.record else { return false };
    // The kind is looked at first so that large bodies are not parsed for nothing.
    record.kind == "signaled"
        && matches!(
            record.known(),
            Ok(Known::Fact(fact))
                if matches!(&*fact, Fact::Signaled(s) if s.signal == Signal::Cancel)
        )
}
