//! A fact that is stored only if its job has no further record.
//!
//! A guard has one filter, and facts and decisions have none in common that leaves timers out, which
//! are messages of the job and no records. So the guard is the last message of any kind, and it is
//! read before the records: a message after it fails the guard, and a record before it is seen.

use proto::{
    fact::Fact,
    id::{JobId, Seq},
    trace::TraceContext,
};

use super::{log::NatsLog, read};
use crate::log::{CasOutcome, LogError, Reader, settle};

/// Attempts that meet a conflict although the job has no further record: only timers came between.
const TRIES: u32 = 5;

/// Stores a fact if its job has no record after a position.
pub(super) async fn append(
    log: &NatsLog,
    job: &JobId,
    fact: &Fact,
    after: Seq,
    trace: TraceContext,
) -> Result<CasOutcome, LogError> {
    let (stream, all) = (log.stream_of(job), log.subjects.everything_of(job));
    let patience = log.patience(log.options.write_patience_ms);
    for _ in 0..TRIES {
        let last = match read::last_at_leader(&log.link, &stream, &all).await {
            Ok(last) => last.map_or(Seq(0), |last| last.seq),
            Err(error) => return Err(log.unread(&stream, error).await),
        };
        if !log.read(job, after).await?.is_empty() {
            return Ok(CasOutcome::Conflict);
        }
        let write = log.fact(&fact.source(), job, fact, trace).await?;
        match settle::settle(&write.guarded(all.clone(), last), patience).await? {
            CasOutcome::Conflict => {}
            stored @ CasOutcome::Stored(_) => return Ok(stored),
        }
    }
    Ok(CasOutcome::Conflict)
}
