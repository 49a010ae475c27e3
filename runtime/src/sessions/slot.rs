//! The session of one job at its host: its id and its running units of work.
//!
//! A slot does not touch the bucket; [`host`](super::host) does.

use std::{
    collections::HashMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::FutureExt;
use proto::{
    excerpt::excerpt,
    id::{JobId, Unit},
    limits::SESSION_BODY_BYTES_MAX,
    session::SessionId,
    wire::host::CarryAnswer,
};
use tokio::{
    sync::{OwnedMutexGuard, OwnedSemaphorePermit, watch},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Keeper, KeeperError, STOP_GRACE};

/// The place of one session at a host.
#[derive(Debug)]
pub(super) struct Slot {
    /// The open session. The lock is held while the session opens or closes.
    gate: Arc<tokio::sync::Mutex<Option<SessionId>>>,
    work: Mutex<Work>,
}

/// The permission to open or close the session of a slot.
pub(super) type Gate = OwnedMutexGuard<Option<SessionId>>;

#[derive(Debug)]
struct Work {
    running: HashMap<Unit, Running>,
    used: Instant,
}

/// An attempt at a unit of work that runs.
#[derive(Debug, Clone)]
pub(super) struct Running {
    canceled: CancellationToken,
    answer: watch::Receiver<Option<CarryAnswer>>,
}

/// An attempt that is about to run.
pub(super) struct Start {
    pub(super) keeper: Arc<dyn Keeper>,
    pub(super) job: JobId,
    pub(super) unit: Unit,
    pub(super) within: Duration,
    pub(super) body: Bytes,
    pub(super) place: OwnedSemaphorePermit,
}

impl Slot {
    pub(super) fn new() -> Self {
        let work = Work { running: HashMap::new(), used: Instant::now() };
        Self { gate: Arc::default(), work: Mutex::new(work) }
    }

    pub(super) async fn enter(&self) -> Gate {
        Arc::clone(&self.gate).lock_owned().await
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the attempt if it runs.
    pub(super) fn running(&self, unit: &Unit) -> Option<Running> {
        self.work().running.get(unit).cloned()
    }

    /// Returns whether no attempt has run for this time.
    pub(super) fn is_idle_for(&self, idle: Duration) -> bool {
        let work = self.work();
        work.running.is_empty() && work.used.elapsed() >= idle
    }

    /// Cancels all attempts and waits for their ends.
    pub(super) async fn stop(&self) {
        let all: Vec<Running> = self.work().running.values().cloned().collect();
        for running in &all {
            running.canceled.cancel();
        }
        for running in all {
            running.answer().await;
        }
    }

    /// Runs an attempt in a task of its own, which outlives the request: the asker may die, and
    /// another one may ask for the attempt again.
    pub(super) fn start(self: &Arc<Self>, start: Start, tracker: &TaskTracker) -> Running {
        let (sender, answer) = watch::channel(None);
        let running = Running { canceled: CancellationToken::new(), answer };
        let (slot, canceled) = (Arc::clone(self), running.canceled.clone());
        self.work().running.insert(start.unit.clone(), running.clone());
        tracker.spawn(async move {
            let unit = start.unit.clone();
            let answer = run(start, canceled).await;
            sender.send_replace(Some(answer));
            let mut work = slot.work();
            work.running.remove(&unit);
            work.used = Instant::now();
        });
        running
    }
}

impl Running {
    /// Asks the attempt to stop.
    pub(super) fn cancel(&self) {
        self.canceled.cancel();
    }

    /// Waits for the end of the attempt.
    pub(super) async fn answer(mut self) -> CarryAnswer {
        let answer = self.answer.wait_for(Option::is_some).await;
        let answer = answer.ok().and_then(|answer| (*answer).clone());
        answer.unwrap_or_else(|| refused("the host stopped working on it"))
    }
}

async fn run(start: Start, canceled: CancellationToken) -> CarryAnswer {
    let Start { keeper, job, unit: _, within, body, place: _place } = start;
    let work = AssertUnwindSafe(keeper.carry_out(&job, body, canceled.clone())).catch_unwind();
    let mut work = std::pin::pin!(work);
    let stopped = tokio::select! {
        biased;
        done = &mut work => return ended(done, CarryAnswer::Stopped),
        () = canceled.cancelled() => CarryAnswer::Stopped,
        () = tokio::time::sleep(within) => {
            canceled.cancel();
            CarryAnswer::Late
        }
    };
    match tokio::time::timeout(STOP_GRACE, work).await {
        Ok(done) => ended(done, stopped),
        Err(_) => stopped,
    }
}

/// Returns the answer to work that ended; `stopped` if it says that it was canceled.
fn ended(
    done: std::thread::Result<Result<Bytes, KeeperError>>,
    stopped: CarryAnswer,
) -> CarryAnswer {
    match done {
        Ok(Ok(body)) if body.len() <= SESSION_BODY_BYTES_MAX => {
            CarryAnswer::Done { body: body.into() }
        }
        Ok(Ok(body)) => refused(&format!(
            "the result has {} bytes; a session returns at most {SESSION_BODY_BYTES_MAX}",
            body.len()
        )),
        Ok(Err(KeeperError::Refused(why))) => refused(&why),
        Ok(Err(KeeperError::Canceled)) => stopped,
        Ok(Err(KeeperError::Lost(why))) => CarryAnswer::Lost { why: excerpt(&why) },
        // The panic's message may quote the request. The panic hook has logged its place.
        Err(_) => refused("the host panicked on this request"),
    }
}

fn refused(why: &str) -> CarryAnswer {
    CarryAnswer::Refused { why: excerpt(why) }
}
