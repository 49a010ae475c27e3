//! The link between one process and the rest of the world, over which all its messages pass.
//!
//! A process cannot be stopped in the middle of an instruction, but others observe it only through
//! its messages. So a crash is a link that never passes a message again, a pause is a link that
//! delays all messages, and a partition is a link that passes no message and fails the calls.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};

use crate::{bound::Bound, chance::Chance};

/// The status of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// Running, and connected to the broker.
    Up,
    /// Running, and cut off from the broker.
    Cut,
    /// Suspended for a while.
    Paused,
    /// Dead.
    Gone,
}

/// The moment in a call at which a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the call is sent.
    Sending,
    /// After the call was carried out, before its reply arrives.
    Hearing,
}

/// The latency of messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Bound of the usual latency in one direction, in milliseconds.
    pub(crate) usual_ms: u64,
    /// The percentage of slow messages.
    pub(crate) slow_percent: u64,
    /// Bound of the latency of slow messages, in milliseconds.
    pub(crate) slow_ms: u64,
}

/// The error of a call whose timeout passed while the process was cut off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Away;

/// The link of one process, from the process's start to its end.
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
    standing: LinkState,
    up_since: Instant,
    last_paused: Option<Instant>,
    /// The scheduled crash: the number of calls before it, and its moment in the call.
    crash: Option<(u32, Moment)>,
}

impl Link {
    pub(crate) fn new(chance: Chance, pace: Pace, bound: Bound) -> Self {
        let state = State {
            standing: LinkState::Up,
            up_since: Instant::now(),
            last_paused: None,
            crash: None,
        };
        Self { state: Mutex::new(state), changed: Notify::new(), chance, pace, bound }
    }

    pub(crate) fn standing(&self) -> LinkState {
        self.lock().standing
    }

    /// Returns since when the process has been running and connected; `None` when it is not.
    pub(crate) fn up_since(&self) -> Option<Instant> {
        let state = self.lock();
        (state.standing == LinkState::Up).then_some(state.up_since)
    }

    /// Returns the time at which the last pause began or ended.
    pub(crate) fn last_paused(&self) -> Option<Instant> {
        self.lock().last_paused
    }

    /// Changes the status of the process. A dead process stays dead.
    pub(crate) fn set(&self, standing: LinkState) {
        let mut state = self.lock();
        if state.standing == LinkState::Gone || state.standing == standing {
            return;
        }
        if state.standing == LinkState::Paused || standing == LinkState::Paused {
            state.last_paused = Some(Instant::now());
        }
        if standing == LinkState::Up {
            state.up_since = Instant::now();
        }
        state.standing = standing;
        drop(state);
        self.changed.notify_waiters();
    }

    /// Schedules a crash at `moment` of the call after `calls` more.
    pub(crate) fn doom(&self, calls: u32, moment: Moment) {
        self.lock().crash = Some((calls, moment));
    }

    /// Passes a call from the process to the broker.
    pub(crate) async fn send(&self) -> Result<(), Away> {
        self.count(Moment::Sending);
        self.travel().await;
        self.pass().await
    }

    /// Passes the reply of a call to the process.
    pub(crate) async fn hear(&self) -> Result<(), Away> {
        self.count(Moment::Hearing);
        self.travel().await;
        self.pass().await
    }

    /// Records a call for the message about a world that does not end.
    pub(crate) fn note(&self, what: impl FnOnce() -> String) {
        self.bound.note(what);
    }

    /// Waits until the process is running and connected, without a bound.
    pub(crate) async fn hold(&self) {
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                LinkState::Up => return,
                LinkState::Cut | LinkState::Paused | LinkState::Gone => changed.await,
            }
        }
    }

    /// Waits until the process is running, connected or not.
    pub(crate) async fn run(&self) {
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                LinkState::Up | LinkState::Cut => return,
                LinkState::Paused | LinkState::Gone => changed.await,
            }
        }
    }

    /// Waits until the process is not both running and connected.
    pub(crate) async fn down(&self) {
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                LinkState::Up => changed.await,
                LinkState::Cut | LinkState::Paused | LinkState::Gone => return,
            }
        }
    }

    /// Waits until the process has died.
    pub(crate) async fn gone(&self) {
        loop {
            let changed = self.changed.notified();
            match self.standing() {
                LinkState::Gone => return,
                LinkState::Up | LinkState::Cut | LinkState::Paused => changed.await,
            }
        }
    }

    /// Counts a message, and waits for its latency.
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
                LinkState::Up => return Ok(()),
                LinkState::Gone | LinkState::Paused => changed.await,
                LinkState::Cut => {
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
        self.set(LinkState::Gone);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
