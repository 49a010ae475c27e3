//! The protocol of `once` tools: say in the job's log that the run begins, before it begins.
//!
//! The log puts all who say so into one order, and the first of them owns the run. Who is not the
//! first must not run the tool: it may be running somewhere, or have run and died before its result
//! was stored. Nobody can know, so the call is reported `unknown`.

use std::time::Duration;

use proto::{
    decision::CallWork,
    fact::{Fact, Started},
    id::{JobId, Seq},
    record::{Known, Unreadable},
    timeline::{self, Timeline, Turn},
    trace::TraceContext,
};
use runtime::log::{Entry, Log, LogError};

/// Wait before the log is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// Says that the run of a `once` tool begins, and gives whether it may. Returns only when that is
/// known; tries again for as long as the log cannot be reached.
///
/// A write whose outcome could not be found out is made again. Should both be stored, the earlier
/// one counts, is not known to be ours, and the run is not made: an error to the safe side.
///
/// # Errors
/// When the log refuses the write or the look for good. Nothing may be run then.
pub(crate) async fn claim(
    log: &dyn Log,
    job: &JobId,
    command: Seq,
    call: &CallWork,
    trace: TraceContext,
) -> Result<bool, LogError> {
    let mine = Fact::Started(Started { work: call.work.clone(), attempt: call.attempt });
    // Somebody who began earlier is seen before anything is written.
    if first(&retried(|| log.read(job, command)).await?, call).is_some() {
        return Ok(false);
    }
    let stored = retried(|| log.append(job, &mine, trace)).await?;
    let since = retried(|| log.read(job, command)).await?;
    if first(&since, call) != Some(stored) {
        return Ok(false);
    }
    // A roll-back that was stored before it is said that the run begins takes the command out of the
    // job's timeline; one that is stored later knows of the run.
    let may_be_gone = since.iter().any(|entry| entry.seq < stored && is_roll_back(entry));
    Ok(!may_be_gone || !is_gone(&retried(|| log.read(job, Seq(0))).await?, command, stored))
}

fn is_roll_back(entry: &Entry) -> bool {
    let Ok(record) = &entry.record else { return false };
    record.kind == "signaled"
        && record.known().is_ok_and(|known| timeline::wanted(&entry.family, &known).is_some())
}

/// Whether a roll-back that counts lies between a command and the word that its run begins.
fn is_gone(entries: &[Entry], command: Seq, begun: Seq) -> bool {
    let mut timeline = Timeline::default();
    entries.iter().take_while(|entry| entry.seq < begun).any(|entry| {
        if matches!(entry.record, Err(Unreadable::Forged)) {
            return false;
        }
        let known = entry.record.as_ref().ok().and_then(|record| record.known().ok());
        let turn = timeline.take(entry.seq, &entry.family, known.as_ref());
        entry.seq > command && matches!(turn, Turn::Back(_))
    })
}

/// Where the run of this attempt was first said to begin.
fn first(entries: &[Entry], call: &CallWork) -> Option<Seq> {
    let began = |entry: &&Entry| {
        let Ok(record) = &entry.record else { return false };
        record.kind == "started"
            && matches!(record.known(), Ok(Known::Fact(fact)) if matches!(
                &*fact,
                Fact::Started(s) if s.work == call.work && s.attempt == call.attempt
            ))
    };
    entries.iter().find(began).map(|entry| entry.seq)
}

async fn retried<T, F: Future<Output = Result<T, LogError>>>(
    mut call: impl FnMut() -> F,
) -> Result<T, LogError> {
    loop {
        match call().await {
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "the start of a tool could not be stored; trying again");
                tokio::time::sleep(AGAIN).await;
            }
            ended => return ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;
    use proto::{
        decision::{Decision, pools},
        fact::{Signal, Signaled},
        id::{Attempt, StepId, ToolName, WorkId},
        lang::Language,
        subject::Subjects,
        tool::Effect,
    };
    use rstest::rstest;
    use runtime::{
        log::Guarded,
        memory::{self, MemoryOptions},
    };
    use tokio::sync::Barrier;

    use super::*;

    fn call() -> CallWork {
        CallWork {
            work: WorkId::new("g0.s1").unwrap(),
            attempt: Attempt::FIRST,
            step: StepId::new("1").unwrap(),
            tool: ToolName::new("t").unwrap(),
            version: "1".into(),
            pool: pools::builtin(),
            effect: Effect::Once,
            args: serde_json::Value::Null,
            idempotency_key: "k".into(),
            approved: None,
            language: Language::En,
        }
    }

    /// A roll-back that was stored before it was said that the run begins: whoever wanted it did not
    /// know of the run, and the call is made again by another name.
    #[rstest]
    #[case::it_takes_the_command_out(Seq(1), false, false)]
    #[case::to_the_command_itself(Seq(2), false, false)]
    #[case::it_does_not_count(Seq(9), true, true)]
    #[tokio::test]
    async fn a_run_whose_command_a_roll_back_took_out_is_not_made(
        #[case] to: Seq,
        #[case] again: bool,
        #[case] mine: bool,
    ) {
        let subjects = Subjects::new("cb", 1).unwrap();
        let log = memory::start(subjects, MemoryOptions::default()).log;
        let (job, trace) = (JobId::new("job").unwrap(), TraceContext::new(1, 1, false));
        let say =
            |signal| Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None });
        assert_eq!(log.append(&job, &say(Signal::Resume), trace).await.unwrap(), Seq(1));
        let decision = Decision::Call(call());
        let stored = log.decide(&job, &decision, Seq(0), None, trace).await.unwrap();
        assert_eq!(stored, Guarded::Stored(Seq(2)));
        let back = say(Signal::RollBack { to, seen: Seq(2), again });
        log.append(&job, &back, trace).await.unwrap();
        assert_eq!(claim(&*log, &job, Seq(2), &call(), trace).await.unwrap(), mine);
    }

    #[tokio::test]
    async fn of_many_who_claim_a_run_at_once_one_has_it() {
        let subjects = Subjects::new("cb", 1).unwrap();
        let broker = memory::start(subjects, MemoryOptions::default());
        let call = call();
        let (job, trace) = (JobId::new("job").unwrap(), TraceContext::new(1, 1, false));
        let before = Barrier::new(16);
        let claims = join_all((0..16).map(|_| async {
            before.wait().await;
            claim(&*broker.log, &job, Seq(0), &call, trace).await.unwrap()
        }));
        assert_eq!(claims.await.into_iter().filter(|mine| *mine).count(), 1);
    }
}
