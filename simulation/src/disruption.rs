//! The faults of a world and their times, drawn from the seed before the world begins, so that the
//! story can list them. Faults of single messages, models and tools are in [`crate::fault_rates`].

use std::{sync::Arc, time::Duration};

use broker::{
    log::LogError,
    memory::{Call, Fault, TimerFault},
};
use proto::id::Shard;

use crate::{
    chance::Chance,
    environment::Environment,
    link::{LinkState, Moment},
    process::Role,
    process_slot::ProcessSlot,
};

#[derive(Debug, Clone)]
enum Disruption {
    /// A process dies during a later call. Its slot stays empty for a while, or forever.
    Crash { slot: usize, calls: u32, moment: Moment, empty_for: Option<Duration> },
    /// A process is suspended for a while.
    Pause { slot: usize, time: Duration },
    /// A process is cut off from the broker for a while.
    Cut { slot: usize, time: Duration },
    /// A process is shut down gracefully; another takes its place.
    Replace { slot: usize },
    /// The clock of a machine steps.
    Clock { slot: usize, by_ms: i64 },
    /// No process reaches the broker.
    Down { time: Duration },
    /// The broker stores no further records.
    Full { time: Duration },
    /// The broker does not recognise repeated messages.
    Forgetful { time: Duration },
    /// The next calls of a kind fail.
    Calls { call: Call, fault: Fault, times: usize },
    /// The next timers fire twice.
    Timers { times: usize },
    /// The next deliveries arrive twice.
    Duplicates { times: usize },
    /// The next deliveries arrive in another order.
    Reordered { times: usize },
    /// The next acknowledgements are lost.
    LostAcks { times: usize },
    /// All unacknowledged messages are redelivered at once.
    Redelivered,
    /// The facts of a shard are delivered to another supervisor.
    Unpinned { shard: Shard },
}

impl Disruption {
    fn name(&self) -> &'static str {
        match self {
            Self::Crash { .. } => "crashes",
            Self::Pause { .. } => "pauses",
            Self::Cut { .. } => "partitions",
            Self::Replace { .. } => "replacements",
            Self::Clock { .. } => "clock steps",
            Self::Down { .. } => "broker away",
            Self::Full { .. } => "broker full",
            Self::Forgetful { .. } => "broker forgetful",
            Self::Calls { .. } => "faults of calls",
            Self::Timers { .. } => "timers twice",
            Self::Duplicates { .. } => "duplicate deliveries",
            Self::Reordered { .. } => "reordered deliveries",
            Self::LostAcks { .. } => "lost acknowledgements",
            Self::Redelivered => "redeliveries",
            Self::Unpinned { .. } => "shards handed over",
        }
    }
}

/// The number of kinds of faults. A seed may disable each, so that each also occurs alone.
const KINDS: u64 = 15;

/// The faults of a world, ordered by time.
#[derive(Debug)]
pub(crate) struct Disruptions {
    at: Vec<(Duration, Disruption)>,
}

impl Disruptions {
    /// Draws the faults of the first `within` of a world with `slots` process slots.
    pub(crate) fn draw(chance: &Chance, within: Duration, slots: usize) -> Self {
        let on: Vec<u64> = match chance.number(0..=9) {
            0 => Vec::new(),
            1..=3 => vec![chance.number(0..=KINDS - 1)],
            _ => (0..KINDS).filter(|_| chance.percent(50)).collect(),
        };
        let many = if on.is_empty() { 0 } else { chance.number(1..=16) };
        let last = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        let mut at: Vec<_> = (0..many)
            .map(|_| (chance.millis(0..=last), one(chance, *chance.pick(&on), slots)))
            .collect();
        at.sort_by_key(|(at, _)| *at);
        Self { at }
    }

    /// Postpones every fault.
    pub(crate) fn after(mut self, time: Duration) -> Self {
        self.at.iter_mut().for_each(|(at, _)| *at += time);
        self
    }

    /// Triggers every fault at its time.
    pub(crate) async fn inject(self, environment: Arc<Environment>, slots: Vec<Arc<ProcessSlot>>) {
        for (at, disruption) in self.at {
            tokio::time::sleep(at.saturating_sub(environment.story.now())).await;
            environment.story.tell("disruption", || format!("{disruption:?}"));
            inject_one(disruption, &environment, &slots);
        }
    }
}

fn one(chance: &Chance, kind: u64, slots: usize) -> Disruption {
    let slot = usize::try_from(chance.number(0..=slots as u64 - 1)).unwrap_or_default();
    let a_while = |most: u64| chance.millis(200..=most);
    let times = usize::try_from(chance.number(1..=4)).unwrap_or(1);
    match kind {
        0 | 1 => Disruption::Crash {
            slot,
            calls: u32::try_from(chance.number(0..=12)).unwrap_or_default(),
            moment: *chance.pick(&[Moment::Sending, Moment::Hearing]),
            empty_for: if chance.percent(15) { None } else { Some(a_while(20_000)) },
        },
        2 => Disruption::Pause { slot, time: a_while(60_000) },
        3 => Disruption::Cut { slot, time: a_while(60_000) },
        4 => Disruption::Replace { slot },
        5 => Disruption::Clock { slot, by_ms: *chance.pick(&[3_600_000, -3_600_000]) },
        6 => Disruption::Down { time: a_while(10_000) },
        7 => Disruption::Full { time: a_while(20_000) },
        8 => Disruption::Forgetful { time: a_while(60_000) },
        9 => calls(chance, times),
        10 => Disruption::Timers { times },
        11 => Disruption::Duplicates { times: times * 3 },
        12 => Disruption::Reordered { times: times * 3 },
        13 => Disruption::LostAcks { times: times * 2 },
        _ if chance.percent(50) => Disruption::Redelivered,
        _ => {
            Disruption::Unpinned { shard: Shard(u16::try_from(chance.number(0..=1)).unwrap_or(0)) }
        }
    }
}

fn calls(chance: &Chance, times: usize) -> Disruption {
    let call = *chance.pick(&[
        Call::Submit,
        Call::Append,
        Call::Append,
        Call::Answer,
        Call::Decide,
        Call::Decide,
        Call::Decide,
        Call::Timer,
        Call::Read,
        Call::Kv,
        Call::Objects,
        Call::Bus,
    ]);
    let away = || LogError::Unavailable("the simulation has it fail".to_owned());
    let faults = [
        Fault::LyingConflict,
        Fault::LyingConflict,
        Fault::LostReply,
        Fault::LostReply,
        Fault::LostRequest,
        Fault::Unavailable,
        Fault::Fails(away()),
    ];
    Disruption::Calls { call, fault: chance.pick(&faults).clone(), times }
}

fn inject_one(disruption: Disruption, environment: &Arc<Environment>, slots: &[Arc<ProcessSlot>]) {
    let faults = &environment.faults;
    environment.story.count(disruption.name());
    match disruption {
        Disruption::Crash { slot, calls, moment, empty_for } => {
            let role = slots[slot].role;
            // One slot of each role must be refilled.
            let alone = slots.iter().filter(|other| other.role == role && !other.is_given_up());
            let empty_for = match empty_for {
                None if alone.count() <= 1 => Some(Duration::from_secs(10)),
                drawn => drawn,
            };
            slots[slot].crash(calls, moment, empty_for);
        }
        Disruption::Pause { slot, time } => hold_link(&slots[slot], LinkState::Paused, time),
        Disruption::Cut { slot, time } => hold_link(&slots[slot], LinkState::Cut, time),
        Disruption::Replace { slot } => slots[slot].replace(),
        Disruption::Clock { slot, by_ms } => slots[slot].step_clock(by_ms),
        Disruption::Down { time } => {
            enable_for(environment, time, broker::memory::Faults::set_down)
        }
        Disruption::Full { time } => {
            enable_for(environment, time, broker::memory::Faults::set_full)
        }
        Disruption::Forgetful { time } => {
            enable_for(environment, time, broker::memory::Faults::set_forgetful)
        }
        Disruption::Calls { call, fault, times } => faults.inject(call, &fault, times),
        Disruption::Timers { times } => faults.inject_timer(TimerFault::Twice, times),
        Disruption::Duplicates { times } => faults.duplicate_deliveries(times),
        Disruption::Reordered { times } => faults.reorder_deliveries(times),
        Disruption::LostAcks { times } => faults.lose_acks(times),
        Disruption::Redelivered => environment.memory.redeliver_now(),
        Disruption::Unpinned { shard } => environment.memory.unpin(shard),
    }
}

/// Holds the link of a process in a state for a while.
fn hold_link(slot: &ProcessSlot, state: LinkState, time: Duration) {
    let link = slot.link();
    link.set(state);
    tokio::spawn(async move {
        tokio::time::sleep(time).await;
        if link.standing() == state {
            link.set(LinkState::Up);
        }
    });
}

/// Enables a fault of the broker for a while.
fn enable_for(
    environment: &Arc<Environment>,
    time: Duration,
    set: fn(&broker::memory::Faults, bool),
) {
    let faults = Arc::clone(&environment.faults);
    set(&faults, true);
    tokio::spawn(async move {
        tokio::time::sleep(time).await;
        set(&faults, false);
    });
}

/// Ends all faults: the broker and every connection work again.
pub(crate) fn end_all(environment: &Environment, slots: &[Arc<ProcessSlot>]) {
    environment.story.tell("disruption", || "all faults end".to_owned());
    environment.faults.clear();
    environment.fault_rates.calm_down();
    for slot in slots {
        let link = slot.link();
        if matches!(link.standing(), LinkState::Cut | LinkState::Paused) {
            link.set(LinkState::Up);
        }
    }
    let mut present = slots.iter().filter(|slot| !slot.is_given_up()).map(|slot| slot.role);
    debug_assert!(
        present.clone().any(Role::supervises) && present.any(Role::works),
        "one slot of each role is refilled"
    );
}
