//! The rates of random faults in a world, which become zero at the end, and the outage of its model.

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use crate::chance::Chance;

/// The longest time of work in a quick world, in milliseconds.
const QUICK_WORK_MS: u64 = 6;

/// The current fault rates. Clones share the switch that ends all faults.
#[derive(Debug, Clone)]
pub(crate) struct FaultRates {
    calm: Arc<AtomicBool>,
    rough: Rough,
    /// The time in which no process reaches the model; it may end long after the other faults.
    outage: Option<Range<Instant>>,
}

/// Draws the outage of a world's model: one world of ten has one, of one to ten minutes.
pub(crate) fn draw_outage(seed: u64, begin: Instant) -> Option<Range<Instant>> {
    // A generator of its own leaves all other choices of the seed as they were.
    let chance = Chance::new(seed, "outage");
    if !chance.percent(10) {
        return None;
    }
    let start = begin + chance.millis(0..=20_000);
    Some(start..start + Duration::from_secs(chance.number(60..=600)))
}

/// The fault rates of a world, in percent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rough {
    /// Lost ephemeral messages, and as many repeated late.
    pub(crate) messages: u64,
    /// Abandoned writes that arrive nevertheless.
    pub(crate) late_writes: u64,
    /// Model calls that fail or take very long.
    pub(crate) model: u64,
    /// Tool calls that fail or take very long.
    pub(crate) tools: u64,
    /// `true` if all work takes milliseconds, so that supervisors carry it out themselves.
    pub(crate) is_quick: bool,
}

impl Rough {
    /// Draws the rates. Each kind of fault may be absent, rare or common.
    pub(crate) fn draw(chance: &Chance) -> Self {
        let one = |levels: &[u64]| *chance.pick(levels);
        Self {
            messages: one(&[0, 0, 5, 30]),
            late_writes: one(&[0, 30, 80]),
            model: one(&[0, 0, 5, 20]),
            tools: one(&[0, 0, 5, 20]),
            is_quick: false,
        }
    }

    /// Draws whether the work of the world is quick: a third of all worlds. A generator of its own
    /// leaves all other choices of the seed as they were.
    pub(crate) fn or_quick(self, seed: u64) -> Self {
        Self { is_quick: Chance::new(seed, "quick").percent(33), ..self }
    }
}

impl FaultRates {
    pub(crate) fn new(rough: Rough) -> Self {
        Self { calm: Arc::default(), rough, outage: None }
    }

    pub(crate) fn with_outage(self, outage: Option<Range<Instant>>) -> Self {
        Self { outage, ..self }
    }

    /// Returns `true` while no process reaches the model.
    pub(crate) fn is_model_away(&self) -> bool {
        self.outage.as_ref().is_some_and(|outage| outage.contains(&Instant::now()))
    }

    /// Returns the longest time of work in milliseconds, from that of a slow world.
    pub(crate) fn longest_work(&self, slow: u64) -> u64 {
        if self.rough.is_quick { QUICK_WORK_MS } else { slow }
    }

    /// Ends all random faults.
    pub(crate) fn calm_down(&self) {
        self.calm.store(true, Ordering::Relaxed);
    }

    pub(crate) fn messages_percent(&self) -> u64 {
        self.unless_calm(self.rough.messages)
    }

    pub(crate) fn late_percent(&self) -> u64 {
        self.unless_calm(self.rough.late_writes)
    }

    pub(crate) fn model_percent(&self) -> u64 {
        self.unless_calm(self.rough.model)
    }

    pub(crate) fn tools_percent(&self) -> u64 {
        self.unless_calm(self.rough.tools)
    }

    fn unless_calm(&self, percent: u64) -> u64 {
        if self.calm.load(Ordering::Relaxed) { 0 } else { percent }
    }
}
