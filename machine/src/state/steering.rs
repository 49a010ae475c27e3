//! Signals of operators, and what people told the job while it ran.

use proto::{fact::Signaled, revision::Instruction};

/// The signals that hold, and the instructions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Steering {
    cancel: Option<Signaled>,
    paused: Option<Signaled>,
    instructions: Vec<String>,
    /// How many of the instructions a plan or a turn carried.
    heard: usize,
}

impl Steering {
    pub(crate) fn canceled(&self) -> Option<&Signaled> {
        self.cancel.as_ref()
    }

    pub(crate) fn paused(&self) -> Option<&Signaled> {
        self.paused.as_ref()
    }

    /// The first cancellation counts.
    pub(crate) fn cancel(&mut self, signaled: &Signaled) {
        self.cancel.get_or_insert_with(|| signaled.clone());
    }

    pub(crate) fn pause(&mut self, signaled: &Signaled) {
        self.paused = Some(signaled.clone());
    }

    pub(crate) fn resume(&mut self) {
        self.paused = None;
    }

    pub(crate) fn instruct(&mut self, words: &str) {
        self.instructions.push(words.to_owned());
    }

    /// A command was stored that carries the first `count` instructions.
    pub(crate) fn heard(&mut self, count: usize) {
        self.heard = self.heard.max(count);
    }

    /// Whether an instruction is in no command yet.
    pub(crate) fn is_unheard(&self) -> bool {
        self.instructions.len() > self.heard
    }

    /// The instructions after the first `told`.
    pub(crate) fn after(&self, told: usize) -> Vec<String> {
        self.instructions.get(told..).unwrap_or_default().to_vec()
    }

    pub(crate) fn view(&self) -> Vec<Instruction> {
        let heard = |number| number < self.heard;
        let said = self.instructions.iter().enumerate();
        said.map(|(n, text)| Instruction { text: text.clone(), heard: heard(n) }).collect()
    }

    /// A fork has heard no signal of its own operators.
    pub(crate) fn clear_signals(&mut self) {
        (self.cancel, self.paused) = (None, None);
    }

    /// Keeps what the parent said after the point that the job goes back to: it is said once.
    pub(crate) fn keep_of_parent(&mut self, now: &Self, has_said_more: bool) {
        if has_said_more {
            self.paused.clone_from(&now.paused);
        }
        if let Some(cancel) = now.cancel.as_ref().filter(|cancel| cancel.parent_seq.is_some()) {
            self.cancel = Some(cancel.clone());
        }
    }
}
