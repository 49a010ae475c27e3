//! How one process stands to the rest of the world: everything it sends and hears passes here.
//!
//! A process cannot be stopped in the middle of an instruction, but all that others can see of it is
//! what passes its link. So a crash is a link over which nothing ever passes again, a pause one over
//! which everything is late, and a partition one over which nothing passes and the caller is told.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::{bound::Bound, chance::Chance};

/// How a process is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It runs, and reaches the broker.
    Up,
    /// It runs, and does not reach the broker.
    Cut,
    /// It does not run for a while.
    Paused,
    /// It died.
    Gone,
}

/// Where in a call a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the call leaves.
    Sending,
    /// After the call was carried out and before its reply is seen.
    Hearing,
}

/// How long messages travel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Usual time each way at most, in milliseconds.
    pub(crate) usual_ms: u64,
    /// How many of a hundred take much longer.
    pub(crate) slow_percent: u64,
    /// How long those take at most, in milliseconds.
    pub(crate) slow_ms: u64,
}

/// The time that a caller waits for the broker ran out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Away;

/// The link of one process, from its start to its end.
#[derive(Debug)]
pub(crate) struct Link {
    state: Mutex<State>,
    changed: Notify,
    chance: Chance,
    pace: Pace,
    bound: Bound,
}

#[derive(Debug)]
struct State {
    standing: Standing,
    up_since: Instant,
    last_paused: Option<Instant>,
    /// Dies at this moment of the call after so many.
    crash: Option<(u32, Moment)>,
}

impl Link {
    pub(crate) fn new(chance: Chance, pace: Pace, bound: Bound) -> Self {
        let state = State {
            standing: Standing::Up,
            up_since: Instant::now(),
            last_paused: None,
            crash: None,
        };
        Self { state: Mutex::new(state), changed: Notify::new(), chance, pace, bound }
    }

    pub(crate) fn standing(&self) -> Standing {
        self.lock().standing
    }

    /// Since when it runs and reaches the broker, if it does.
    pub(crate) fn up_since(&self) -> Option<Instant> {
        let state = self.lock();
        (state.standing == Standing::Up).then_some(state.up_since)
    }

    /// When it last went on after a pause, or began one.
    pub(crate) fn last_paused(&self) -> Option<Instant> {
        self.lock().last_paused
    }

    /// Changes how the process is doing. Nobody rises from the dead.
    pub(crate) fn set(&self, standing: Standing) {
        let mut state = self.lock();
        if state.standing == Standing::Gone || state.standing == standing {
            return;
        }
        if state.standing == Standing::Paused || standing == Standing::Paused {
            state.last_paused = Some(Instant::now());
        }
        if standing == Standing::Up {
            state.up_since = Instant::now();
        }
        state.standing = standing;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Has the process die at a moment of the call after `calls` more.
    pub(crate) fn doom(&self, calls: u32, moment: Moment) {
        self.lock().crash = Some((calls, moment));
    }

    /// Lets a call out.
    pub(crate) async fn send(&self) -> Result<(), Away> {
        self.count(Moment::Sending);
        self.travel().await;
        self.pass().await
    }

    /// Lets the reply of a call in.
    pub(crate) async fn hear(&self) -> Result<(), Away> {
        self.count(Moment::Hearing);
        self.travel().await;
        self.pass().await
    }

    /// What somebody does over it, for when the world does not end.
    pub(crate) fn note(&self, what: impl FnOnce() -> String) {
        self.bound.note(what);
    }

    /// Waits until messages pass, however long that takes.
    pub(crate) async fn hold(&self) {
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                Standing::Up => return,
                Standing::Cut | Standing::Paused | Standing::Gone => changed.await,
            }
        }
    }

    /// Waits until the process runs, whether or not it reaches the broker.
    pub(crate) async fn run(&self) {
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                Standing::Up | Standing::Cut => return,
                Standing::Paused | Standing::Gone => changed.await,
            }
        }
    }

    /// Waits until no message passes.
    pub(crate) async fn down(&self) {
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                Standing::Up => changed.await,
                Standing::Cut | Standing::Paused | Standing::Gone => return,
            }
        }
    }

    /// Waits until the process has died.
    pub(crate) async fn gone(&self) {
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                Standing::Gone => return,
                Standing::Up | Standing::Cut | Standing::Paused => changed.await,
            }
        }
    }

    /// A message is on its way.
    pub(crate) async fn travel(&self) {
        self.bound.count();
        let Pace { usual_ms, slow_percent, slow_ms } = self.pace;
        let most = if self.chance.percent(slow_percent) { slow_ms } else { usual_ms };
        let time = self.chance.millis(0..=most);
        if time.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(time).await;
        }
    }

    async fn pass(&self) -> Result<(), Away> {
        let mut until = None;
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                Standing::Up => return Ok(()),
                Standing::Gone | Standing::Paused => changed.await,
                Standing::Cut => {
                    let until = *until.get_or_insert_with(|| Instant::now() + self.patience());
                    if timeout_at(until, changed).await.is_err() {
                        return Err(Away);
                    }
                }
            }
        }
    }

    fn patience(&self) -> Duration {
        self.chance.millis(500..=12_000)
    }

    fn count(&self, moment: Moment) {
        let mut state = self.lock();
        let Some((calls, when)) = &mut state.crash else { return };
        if *when != moment {
            return;
        }
        if *calls > 0 {
            *calls -= 1;
            return;
        }
        drop(state);
        self.set(Standing::Gone);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
