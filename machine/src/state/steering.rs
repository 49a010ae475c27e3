//! Signals of operators, and instructions that users gave the running job.

use jiff::Timestamp;
use proto::{fact::Signaled, revision::Instruction};

/// The signals in force, and all instructions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steering {
    cancel: Option<Signaled>,
    paused: Option<Pause>,
    instructions: Vec<String>,
    /// Number of instructions, from the first, that a stored command carried.
    heard: usize,
}

/// A pause in force.
#[derive(Debug, Clone)]
struct Pause {
    signaled: Signaled,
    /// Time of the signal, by the server's clock.
    since: Timestamp,
}

impl Steering {
    pub(crate) fn canceled(&self) -> Option<&Signaled> {
        self.cancel.as_ref()
    }

    pub(crate) fn paused(&self) -> Option<&Signaled> {
        self.paused.as_ref().map(|pause| &pause.signaled)
    }

    /// Returns the time of the pause in force.
    pub(crate) fn paused_since(&self) -> Option<Timestamp> {
        self.paused.as_ref().map(|pause| pause.since)
    }

    /// Records a cancellation. Later ones do not replace the first.
    pub(crate) fn cancel(&mut self, signaled: &Signaled) {
        self.cancel.get_or_insert_with(|| signaled.clone());
    }

    pub(crate) fn pause(&mut self, signaled: &Signaled, since: Timestamp) {
        self.paused = Some(Pause { signaled: signaled.clone(), since });
    }

    pub(crate) fn resume(&mut self) {
        self.paused = None;
    }

    pub(crate) fn instruct(&mut self, words: &str) {
        self.instructions.push(words.to_owned());
    }

    /// Records that a stored command carried the first `count` instructions.
    pub(crate) fn heard(&mut self, count: usize) {
        self.heard = self.heard.max(count);
    }

    /// Returns `true` if no stored command carries the last instruction.
    pub(crate) fn is_unheard(&self) -> bool {
        self.instructions.len() > self.heard
    }

    /// Returns the instructions after the first `told`.
    pub(crate) fn after(&self, told: usize) -> Vec<String> {
        self.instructions.get(told..).unwrap_or_default().to_vec()
    }

    pub(crate) fn view(&self) -> Vec<Instruction> {
        let heard = |number| number < self.heard;
        let said = self.instructions.iter().enumerate();
        said.map(|(n, text)| Instruction { text: text.clone(), heard: heard(n) }).collect()
    }

    /// Clears cancellation and pause: signals to the source job do not apply to a fork.
    pub(crate) fn clear_signals(&mut self) {
        (self.cancel, self.paused) = (None, None);
    }

    /// Keeps signals of the parent that arrived after the rollback target, because the parent does
    /// not repeat them.
    pub(crate) fn keep_of_parent(&mut self, now: &Self, has_said_more: bool) {
        if has_said_more {
            self.paused.clone_from(&now.paused);
        }
        if let Some(cancel) = now.cancel.as_ref().filter(|cancel| cancel.parent_seq.is_some()) {
            self.cancel = Some(cancel.clone());
        }
    }
}
