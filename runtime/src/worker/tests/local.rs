//! Work of a pool for the supervisor of its own process.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use broker::{
    Broker,
    memory::{self, MemoryOptions},
};
use proto::{
    decision::{CallWork, Decision, DecisionKind, pools},
    fact::Fact,
    id::{Attempt, JobId, Seq, WorkerId},
    subject::Subjects,
    tool::{Effect, Fault},
    trace::TraceContext,
};
use rstest::rstest;
use tokio_util::sync::CancellationToken;

use super::{
    super::*,
    stage::{call, result},
};
use crate::testing::{AnyCommand, FnRole};

const LIMIT: Duration = Duration::from_millis(50);
const SLOTS: usize = 2;

/// A pool whose calls take as long as their tool says: `quick`, `slow`, or `panic` for none.
struct Offered {
    local: LocalPools,
    paces: super::super::local::Paces,
    shutdown: CancellationToken,
    job: JobId,
    /// `true` once the token of some work was canceled.
    was_canceled: Arc<AtomicBool>,
}

fn offered() -> Offered {
    let broker: Broker = memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default());
    let (local, shutdown) = (LocalPools::default(), CancellationToken::new());
    let was_canceled = Arc::new(AtomicBool::new(false));
    let notes = Arc::clone(&was_canceled);
    let role = FnRole(move |task: Task<AnyCommand>| {
        let notes = Arc::clone(&notes);
        async move {
            let Decision::Call(call) = &task.command.0 else { return None };
            let ms = match call.tool.as_str() {
                "panic" => panic!("the tool broke"),
                "slow" => 1_000,
                _ => 3,
            };
            let canceled = task.canceled.clone();
            // Work may go on outside of its task, in a thread.
            tokio::spawn(async move {
                canceled.cancelled().await;
                notes.store(true, Ordering::Relaxed);
            });
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Some(result(call))
        }
    });
    let options = PoolOptions::new(DecisionKind::Call, pools::builtin(), SLOTS);
    let worker = WorkerId::new("w").unwrap();
    let args = PoolArgs::new(broker, worker, role, options, shutdown.clone()).offered_to(&local);
    local.switch(true);
    let (paces, job) = (args.paces.clone(), JobId::new("j").unwrap());
    Offered { local, paces, shutdown, job, was_canceled }
}

impl Offered {
    /// Reports a run of the command from the queue.
    fn took(&self, decision: &Decision, ms: u64) {
        self.paces.took(decision, Duration::from_millis(ms));
    }

    async fn run(&self, decision: &Decision, limit: Duration) -> Option<Fact> {
        let trace = TraceContext::new(1, 1, false);
        let command = LocalCommand { job: &self.job, seq: Seq(1), decision, trace, limit };
        self.local.carry_out(command).await.map(|result| result.fact)
    }
}

fn changed(change: impl FnOnce(&mut CallWork)) -> Decision {
    let Decision::Call(mut call) = call("quick", Effect::Pure) else { unreachable!() };
    change(&mut call);
    Decision::Call(call)
}

#[tokio::test(start_paused = true)]
async fn work_is_carried_out_once_its_kind_was_quick_in_the_queue() {
    let (offered, quick) = (offered(), call("quick", Effect::Pure));
    assert_eq!(offered.run(&quick, LIMIT).await, None, "nobody knows how long it takes");
    offered.took(&quick, 3);
    let Decision::Call(work) = &quick else { unreachable!() };
    assert_eq!(offered.run(&quick, LIMIT).await, Some(result(work)));
    assert_eq!(
        offered.run(&quick, Duration::from_millis(5)).await,
        None,
        "too little time is left"
    );
}

#[rstest]
#[case::idempotent(changed(|call| call.effect = Effect::Idempotent))]
#[case::once(changed(|call| call.effect = Effect::Once))]
#[case::destructive(changed(|call| call.destructive = true))]
#[case::second_attempt(changed(|call| call.attempt = Attempt(2)))]
#[case::another_pool(changed(|call| call.pool = "other".parse().unwrap()))]
#[tokio::test(start_paused = true)]
async fn other_commands_go_through_the_queue(#[case] command: Decision) {
    let offered = offered();
    offered.took(&command, 3);
    assert_eq!(offered.run(&command, LIMIT).await, None);
}

#[tokio::test(start_paused = true)]
async fn work_that_exceeds_its_limit_is_dropped_and_queued_until_it_is_quick_again() {
    let (offered, slow) = (offered(), call("slow", Effect::Pure));
    offered.took(&slow, 3);
    let began = tokio::time::Instant::now();
    assert_eq!(offered.run(&slow, LIMIT).await, None);
    assert_eq!(began.elapsed(), LIMIT);
    assert_eq!(offered.run(&slow, LIMIT).await, None);
    assert_eq!(began.elapsed(), LIMIT, "it did not begin again");
    for _ in 0..20 {
        offered.took(&slow, 1);
    }
    assert_eq!(offered.run(&slow, LIMIT).await, None);
    assert_eq!(began.elapsed(), LIMIT * 2, "it began");
}

#[tokio::test(start_paused = true)]
async fn work_that_exceeds_its_limit_is_told_to_stop() {
    let (offered, slow) = (offered(), call("slow", Effect::Pure));
    offered.took(&slow, 3);
    assert_eq!(offered.run(&slow, LIMIT).await, None);
    tokio::task::yield_now().await;
    assert!(offered.was_canceled.load(Ordering::Relaxed));
}

#[rstest]
#[case::soon(1, true)]
#[case::as_late_as_no_answer_may_be(200, false)]
#[tokio::test(start_paused = true)]
async fn a_failure_makes_a_kind_of_work_slower_and_never_quicker(
    #[case] ms: u64,
    #[case] stays_quick: bool,
) {
    let (offered, quick) = (offered(), call("quick", Effect::Pure));
    let Decision::Call(work) = &quick else { unreachable!() };
    let Fact::Called(mut failed) = result(work) else { unreachable!() };
    failed.fault = Some(Fault::Timeout);
    let failed = Fact::Called(failed);
    offered.paces.answered(&quick, &failed, Duration::from_millis(1));
    assert_eq!(offered.run(&quick, LIMIT).await, None, "no answer was measured");
    offered.took(&quick, 15);
    offered.paces.answered(&quick, &failed, Duration::from_millis(ms));
    assert_eq!(offered.run(&quick, LIMIT).await.is_some(), stays_quick);
    let little = Duration::from_millis(20);
    assert_eq!(offered.run(&quick, little).await, None, "it takes 15 ms as before, or longer");
}

#[tokio::test(start_paused = true)]
async fn work_that_panics_is_left_to_the_queue() {
    let (offered, panics) = (offered(), call("panic", Effect::Pure));
    offered.took(&panics, 3);
    assert_eq!(offered.run(&panics, LIMIT).await, None);
}

#[tokio::test(start_paused = true)]
async fn no_more_work_runs_at_once_than_the_pool_has_slots() {
    let (offered, quick) = (offered(), call("quick", Effect::Pure));
    offered.took(&quick, 3);
    let runs = (0..SLOTS + 1).map(|_| offered.run(&quick, LIMIT));
    let ran = futures::future::join_all(runs).await;
    assert_eq!(ran.iter().flatten().count(), SLOTS);
}

#[tokio::test(start_paused = true)]
async fn no_work_is_carried_out_while_it_is_off_forbidden_or_shutting_down() {
    let quick = call("quick", Effect::Pure);
    let stops: [fn(&Offered); 3] = [
        |offered| offered.local.switch(false),
        |offered| offered.local.forbid(),
        |offered| offered.shutdown.cancel(),
    ];
    for stop in stops {
        let offered = offered();
        offered.took(&quick, 3);
        stop(&offered);
        assert_eq!(offered.run(&quick, LIMIT).await, None);
    }
    let offered = offered();
    offered.took(&quick, 3);
    offered.local.switch(false);
    offered.local.switch(true);
    assert!(offered.run(&quick, LIMIT).await.is_some(), "it is on again");
    offered.local.forbid();
    offered.local.switch(true);
    assert_eq!(offered.run(&quick, LIMIT).await, None, "it is forbidden for good");
}
