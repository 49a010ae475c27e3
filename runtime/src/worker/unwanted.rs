//! Whether a command's result is still wanted. Only the job's log can say so: a stop message is a
//! hint that may be early, late, forged or lost.

use proto::{
    decision::DecisionKind,
    fact::{Fact, Signal},
    id::{JobId, Seq},
    record::Known,
    subject::Family,
};

use crate::log::{Entry, Log, LogError};

/// Looks through a job's records after a command, each of them once.
#[derive(Debug)]
pub(super) struct Wanted {
    job: JobId,
    seen: Seq,
    canceled: bool,
}

/// What the log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The job goes on.
    Wanted,
    /// The job goes on, and an operator asked to end it.
    Canceling,
    /// The job has ended.
    Ended,
}

impl Wanted {
    pub(super) fn new(job: JobId, command: Seq) -> Self {
        Self { job, seen: command, canceled: false }
    }

    /// Reads what was stored since the last look.
    pub(super) async fn look(&mut self, log: &dyn Log) -> Result<Verdict, LogError> {
        let entries = log.read(&self.job, self.seen).await?;
        for entry in &entries {
            self.seen = self.seen.max(entry.seq);
            if matches!(&entry.family, Family::Do(DecisionKind::Finish, _)) {
                return Ok(Verdict::Ended);
            }
            self.canceled |= is_cancel(entry);
        }
        Ok(if self.canceled { Verdict::Canceling } else { Verdict::Wanted })
    }
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
