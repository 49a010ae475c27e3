//! Helper functions of the contract cases.

use std::{future::Future, sync::Arc, time::Duration};

use broker::{
    Broker,
    log::{CasOutcome, Delivery, Feed, LogError, Submission},
    testing::{jobs, wait},
};
use futures::{Stream, StreamExt};
use proto::{
    decision::{CallWork, Decision, DecisionKind, Finish},
    entry::Entry,
    fact::{Answered, Called, Fact, Fired, Signal, Signaled},
    id::{AskId, Attempt, JobId, Pool, Seq, Shard, StepId, TimerName, ToolName, WorkId},
    interaction::Answer,
    job::Outcome,
    lang::Language,
    message::Usage,
    record::Known,
    tool::{Effect, ToolResult},
    trace::TraceContext,
};
use tokio::sync::Semaphore;

/// Time in which an unexpected item would arrive. On a slower machine the check is weaker, but
/// never fails wrongly.
pub(crate) const A_WHILE: Duration = Duration::from_millis(400);

pub(crate) fn job(name: &str) -> JobId {
    JobId::new(name).unwrap()
}

/// Returns a job id in this shard.
pub(crate) fn job_in(shard: Shard, name: &str) -> JobId {
    let of = |n: u32| job(&format!("{name}-{n}"));
    let shards = super::fixtures::subjects().shards();
    (0..).map(of).find(|job| Shard::of(job, shards) == shard).unwrap()
}

pub(crate) fn pool(name: &str) -> Pool {
    Pool::new(name).unwrap()
}

pub(crate) fn timer(name: &str) -> TimerName {
    TimerName::new(name).unwrap()
}

pub(crate) fn trace(n: u64) -> TraceContext {
    TraceContext::new(u128::from(n) + 77, n + 1, true)
}

pub(crate) fn submitted(goal: &str) -> Fact {
    Fact::Submitted(jobs::submitted(goal))
}

/// Builds a numbered fact from a worker.
pub(crate) fn called(n: u64) -> Fact {
    called_with(n, &format!("result {n}"))
}

pub(crate) fn called_with(n: u64, data: &str) -> Fact {
    let called = jobs::called(&format!("g0.s{n}"));
    Fact::Called(Called { result: ToolResult::ok(data.into()), duration_ms: n, ..called })
}

pub(crate) fn signaled(signal: Signal) -> Fact {
    Fact::Signaled(Signaled { signal, reason: None, by: None, parent_seq: None })
}

pub(crate) fn answered(by: &str) -> Fact {
    Fact::Answered(Answered {
        ask: AskId::new("q1").unwrap(),
        answer: Answer::respond("yes".into()),
        by: by.to_owned(),
    })
}

pub(crate) fn fired(name: &str) -> Fact {
    Fact::Fired(Fired { timer: timer(name) })
}

/// Builds a numbered command for a pool.
pub(crate) fn call(name: &str, n: u64) -> Decision {
    call_with(name, n, "")
}

pub(crate) fn call_with(name: &str, n: u64, text: &str) -> Decision {
    let work = WorkId::new(format!("g0.s{n}")).unwrap();
    Decision::Call(CallWork {
        idempotency_key: work.to_string(),
        work,
        attempt: Attempt::FIRST,
        step: StepId::new(format!("s{n}")).unwrap(),
        tool: ToolName::new("echo").unwrap(),
        version: "1".into(),
        pool: pool(name),
        effect: Effect::Pure,
        destructive: false,
        untrusted: false,
        args: serde_json::json!({ "n": n, "text": text }),
        language: Language::En,
        approved: None,
        remembered: None,
        hosts: None,
        refused: None,
    })
}

pub(crate) fn finish() -> Decision {
    Decision::Finish(Finish {
        outcome: Outcome::Completed {
            summary: "done".into(),
            results: serde_json::Value::Null,
            value: serde_json::Value::Null,
        },
        usage: Usage::default(),
        generation: proto::id::Generation::FIRST,
    })
}

/// Returns the decoded body of an entry.
pub(crate) fn known(entry: &Entry) -> Known {
    entry.record.as_ref().unwrap().known().unwrap()
}

pub(crate) fn fact(entry: &Entry) -> Fact {
    match known(entry) {
        Known::Fact(fact) => *fact,
        Known::Decision(decision) => panic!("a decision: {decision:?}"),
    }
}

pub(crate) fn decision(entry: &Entry) -> Decision {
    match known(entry) {
        Known::Decision(decision) => *decision,
        Known::Fact(fact) => panic!("a fact: {fact:?}"),
    }
}

/// Returns the position of a write that must have succeeded.
pub(crate) fn stored(guarded: Result<CasOutcome, LogError>) -> Seq {
    match guarded.unwrap() {
        CasOutcome::Stored(seq) => seq,
        CasOutcome::Conflict => panic!("a conflict"),
    }
}

pub(crate) async fn submit(broker: &Broker, job: &JobId) -> Seq {
    match broker.log.submit(job, &submitted("a goal"), trace(1)).await.unwrap() {
        Submission::Stored(seq) => seq,
        Submission::Exists(entry) => panic!("exists at {}", entry.seq),
    }
}

/// Appends numbered facts, one after the other.
pub(crate) async fn append(broker: &Broker, job: &JobId, numbers: std::ops::Range<u64>) {
    for n in numbers {
        broker.log.append(job, &called(n), trace(n)).await.unwrap();
    }
}

/// Appends numbered commands, one after the other.
pub(crate) async fn command(
    broker: &Broker,
    job: &JobId,
    pool: &str,
    numbers: std::ops::Range<u64>,
) {
    let mut after = last_decision(broker, job).await;
    for n in numbers {
        after = stored(broker.log.decide(job, &call(pool, n), after, None, trace(n)).await);
    }
}

pub(crate) async fn last_decision(broker: &Broker, job: &JobId) -> Seq {
    let entries = broker.log.read(job, Seq(0)).await.unwrap();
    let is_decision = |e: &&Entry| matches!(e.family, proto::subject::Family::Do(..));
    entries.iter().rfind(is_decision).map_or(Seq(0), |e| e.seq)
}

pub(crate) fn seqs(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|e| e.seq.0).collect()
}

/// Waits for the next item of an endless stream.
pub(crate) async fn next<T>(stream: &mut (impl Stream<Item = T> + Unpin)) -> T {
    soon(stream.next()).await.expect("the stream ended")
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    wait::soon("what must come", future).await
}

/// Asserts that no item arrives for a while.
pub(crate) async fn nothing<T: std::fmt::Debug>(stream: &mut (impl Stream<Item = T> + Unpin)) {
    if let Ok(item) = tokio::time::timeout(A_WHILE, stream.next()).await {
        panic!("something came: {item:?}");
    }
}

pub(crate) fn slots(n: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(n))
}

/// Waits for the next fact of a feed and skips resets.
pub(crate) async fn next_fact(
    feed: &mut (impl Stream<Item = Result<Feed, LogError>> + Unpin),
) -> Delivery {
    loop {
        match next(feed).await.unwrap() {
            Feed::Fact(delivery) => return delivery,
            Feed::Reset => {}
        }
    }
}

pub(crate) async fn next_command(
    commands: &mut (impl Stream<Item = Result<Delivery, LogError>> + Unpin),
) -> Delivery {
    next(commands).await.unwrap()
}

/// Returns the number of a command or of a worker's fact.
pub(crate) fn number(entry: &Entry) -> u64 {
    match known(entry) {
        Known::Decision(decision) => match *decision {
            Decision::Call(call) => call.args["n"].as_u64().unwrap(),
            other => panic!("not a call: {other:?}"),
        },
        Known::Fact(fact) => match *fact {
            Fact::Called(called) => called.duration_ms,
            other => panic!("not a result: {other:?}"),
        },
    }
}

pub(crate) const CALL: DecisionKind = DecisionKind::Call;
