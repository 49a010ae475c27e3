//! The rates of random faults in a world. They become zero at the end.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::chance::Chance;

/// The current fault rates. Clones share the switch that ends all faults.
#[derive(Debug, Clone)]
pub(crate) struct FaultRates {
    calm: Arc<AtomicBool>,
    rough: Rough,
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
        }
    }
}

impl FaultRates {
    pub(crate) fn new(rough: Rough) -> Self {
        Self { calm: Arc::default(), rough }
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
