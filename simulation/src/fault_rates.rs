//! How rough the world is at the moment: what may go wrong at any time, by chance. Calm at the end.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::chance::Chance;

/// How rough it is. Clones are one.
#[derive(Debug, Clone)]
pub(crate) struct FaultRates {
    calm: Arc<AtomicBool>,
    rough: Rough,
}

/// Of a hundred, how many go wrong.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rough {
    /// Ephemeral messages that are lost, and as many again that are repeated late.
    pub(crate) messages: u64,
    /// Writes given up by their caller that arrive all the same.
    pub(crate) late_writes: u64,
    /// Calls of the model that fail or take very long.
    pub(crate) model: u64,
    /// Calls of tools that fail or take very long.
    pub(crate) tools: u64,
}

impl Rough {
    /// A draw: each kind of trouble may be absent, rare or common.
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

    /// Nothing goes wrong by chance from now on.
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
