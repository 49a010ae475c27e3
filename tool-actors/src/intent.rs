//! The protocol of `once` tools: a run is announced in the job's log before it starts.
//!
//! The log orders all announcements, and the first one owns the run. Another worker must not run
//! the tool: the owner may still be running it, or may have died before its result was stored.
//! Nothing can tell these cases apart, so the call is reported `unknown`.

use std::time::Duration;

use broker::{
    backoff::{Backoff, Retryable},
    log::{Log, LogError},
};
use machine::intent;
use proto::{
    decision::CallWork,
    fact::{Fact, Source, Started},
    id::{JobId, Seq, Unit},
    trace::TraceContext,
};

/// The pauses before the log is tried again.
const BACKOFF: Backoff = Backoff::constant(Duration::from_millis(500));

/// Announces the run of a `once` tool, and returns `true` if this worker may run it. Retries for as
/// long as the log is unreachable.
///
/// A write with an unknown outcome is repeated. If both copies are stored, the earlier one counts.
/// It is not recognised as ours, so the tool does not run: an error on the safe side.
///
/// # Errors
/// If the log rejects the write or a read with a permanent error. The tool must not run then.
pub(crate) async fn claim(
    log: &dyn Log,
    job: &JobId,
    command: Seq,
    call: &CallWork,
    trace: TraceContext,
) -> Result<bool, LogError> {
    let unit = Unit { work: call.work.clone(), attempt: call.attempt };
    let mine = Fact::Started(Started { work: call.work.clone(), attempt: call.attempt });
    let source = Source::Call(call.pool.clone());
    // An earlier announcement is noticed before anything is written. The whole log is read, because
    // the decision to run may follow a rollback that its supervisor had not seen.
    let mut entries = retried(|| log.read(job, Seq(0))).await?;
    if intent::first(&entries, command, &unit, &call.pool).is_some() {
        return Ok(false);
    }
    let stored = retried(|| log.append_from(&source, job, &mine, trace)).await?;
    let seen = entries.last().map_or(command, |entry| entry.seq);
    entries.extend(retried(|| log.read(job, seen)).await?);
    // A rollback stored before the announcement makes the command obsolete; one stored later takes
    // the run into account.
    let mine_it_is = intent::first(&entries, command, &unit, &call.pool) == Some(stored);
    Ok(mine_it_is && call.work.generation() == intent::generation_before(&entries, stored))
}

async fn retried<T, F: Future<Output = Result<T, LogError>>>(
    call: impl FnMut() -> F,
) -> Result<T, LogError> {
    call.retry(BACKOFF)
        .when(LogError::is_transient)
        .notify(|error, _| {
            tracing::warn!(%error, "the start of a tool could not be stored; retrying");
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use broker::memory::{self, MemoryOptions};
    use futures::future::join_all;
    use proto::{
        decision::pools,
        fact::{Signal, Signaled},
        id::{Attempt, StepId, ToolName, WorkId},
        lang::Language,
        subject::Subjects,
        tool::Effect,
    };
    use rstest::rstest;
    use tokio::sync::Barrier;

    use super::*;

    fn call(work: &str) -> CallWork {
        CallWork {
            work: WorkId::new(work).unwrap(),
            attempt: Attempt::FIRST,
            step: StepId::new("1").unwrap(),
            tool: ToolName::new("t").unwrap(),
            version: "1".into(),
            pool: pools::builtin(),
            effect: Effect::Once,
            destructive: false,
            untrusted: false,
            args: serde_json::Value::Null,
            idempotency_key: "k".into(),
            approved: None,
            remembered: None,
            hosts: None,
            refused: None,
            language: Language::En,
        }
    }

    fn log() -> Arc<dyn Log> {
        let subjects = Subjects::new("cb", 1).unwrap();
        memory::start(subjects, MemoryOptions::default()).log
    }

    fn back_to(to: u64) -> Fact {
        let signal = Signal::RollBack { to: Seq(to), seen: Seq(99), again: false };
        Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None })
    }

    fn steered() -> Fact {
        let signal = Signal::Steer { text: "on".into() };
        Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None })
    }

    #[tokio::test]
    async fn of_many_who_claim_a_run_at_once_one_has_it() {
        let (log, call) = (log(), call("g0.s1"));
        let (job, trace) = (JobId::new("job").unwrap(), TraceContext::new(1, 1, false));
        let before = Barrier::new(16);
        let claims = join_all((0..16).map(|_| async {
            before.wait().await;
            claim(&*log, &job, Seq(0), &call, trace).await.unwrap()
        }));
        assert_eq!(claims.await.into_iter().filter(|mine| *mine).count(), 1);
    }

    /// The command can be any record: only its position matters.
    #[rstest]
    #[case::nothing_went_back("g0.s1", &[steered(), steered()], 2, true)]
    #[case::it_went_back_after_the_command("g0.s1", &[steered(), steered(), back_to(1)], 2, false)]
    #[case::it_went_back_to_the_command("g0.s1", &[steered(), steered(), back_to(2)], 2, false)]
    #[case::the_decider_had_not_seen_it("g0.s1", &[steered(), back_to(1), steered()], 3, false)]
    #[case::the_decider_had_seen_it("g1.s1", &[steered(), back_to(1), steered()], 3, true)]
    #[case::it_went_back_to_nowhere("g0.s1", &[steered(), back_to(7), steered()], 3, true)]
    #[case::it_went_back_twice("g1.s1", &[steered(), back_to(1), steered(), back_to(2)], 3, false)]
    #[tokio::test]
    async fn what_a_roll_back_left_behind_is_not_run(
        #[case] work: &str,
        #[case] facts: &[Fact],
        #[case] command: u64,
        #[case] runs: bool,
    ) {
        let (log, call) = (log(), call(work));
        let (job, trace) = (JobId::new("job").unwrap(), TraceContext::new(1, 1, false));
        for fact in facts {
            log.append(&job, fact, trace).await.unwrap();
        }
        assert_eq!(claim(&*log, &job, Seq(command), &call, trace).await.unwrap(), runs);
        let said = log.read(&job, Seq(0)).await.unwrap().len();
        assert_eq!(said, facts.len() + 1, "it is said that the run begins, whether it may or not");
        assert!(!claim(&*log, &job, Seq(command), &call, trace).await.unwrap(), "a second time");
    }
}
