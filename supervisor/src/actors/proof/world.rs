//! A state of the model: what is stored, what is on its way, and what everybody has in hand. Only
//! numbers and bits, so that millions of them fit; what they stand for is in [`super::memory`].
//!
//! Supervisors and workers have no names. The supervisor that is handed facts stands first, and
//! workers stand in order: worlds that differ by a name are one.

use super::memory::Places;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    /// What is stored.
    pub(super) log: u32,
    pub(super) facts: Queue,
    pub(super) commands: Queue,
    /// The first one is handed the facts.
    pub(super) supervisors: [Supervisor; 2],
    pub(super) workers: [Option<Run>; 2],
    /// A write that its writer knows nothing of any more and that may still arrive.
    pub(super) letter: Option<Letter>,
    /// Timers, one bit each.
    pub(super) armed: u16,
    /// Troubles that may still come.
    pub(super) troubles: u8,
    /// Whether somebody may still cancel.
    pub(super) may_cancel: bool,
    /// Whether somebody may still take the job back.
    pub(super) may_go_back: bool,
    /// Whether a tool began after the end was stored.
    pub(super) began_late: bool,
}

/// What the broker hands out until it is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    /// Not acknowledged.
    pub(super) open: Places,
    /// Of those, handed out before.
    pub(super) handed: Places,
}

/// A supervisor's actor of the job, as `job.rs` has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Supervisor {
    /// What it has folded.
    pub(super) fold: Option<u32>,
    /// Facts that wait in its inbox.
    pub(super) inbox: Places,
    /// Whether one of them was handed out for a second time.
    pub(super) again: bool,
    pub(super) look: bool,
    pub(super) forget: bool,
    /// Facts of the look that is under way.
    pub(super) held: Places,
    pub(super) phase: Phase,
    /// Whether the look has written nothing yet.
    pub(super) fresh: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    #[default]
    Idle,
    /// It has folded, and stores what follows.
    Deciding { armed: bool },
    /// It does not know what became of its write. `ours` when it was stored.
    Settling { ours: bool },
    /// Somebody else has decided what it was about to decide; it does not know that yet.
    TooLate,
}

/// A command in a worker's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Run {
    pub(super) command: u8,
    /// Whether its result is stored.
    pub(super) answered: bool,
}

/// A decision on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Letter {
    pub(super) next: u32,
    pub(super) after: u8,
    /// The supervisor that wonders about it.
    pub(super) writer: Option<u8>,
}

impl Queue {
    pub(super) fn add(&mut self, at: u8) {
        self.open |= 1 << at;
    }

    pub(super) fn acknowledge(&mut self, places: Places) {
        self.open &= !places;
        self.handed &= !places;
    }

    pub(super) fn hand(&mut self, at: u8) {
        self.handed |= 1 << at;
    }

    /// Not handed out yet, the oldest first.
    pub(super) fn fresh(self) -> Option<u8> {
        places(self.open & !self.handed).next()
    }
}

impl Supervisor {
    pub(super) fn has(&self, at: u8) -> bool {
        (self.inbox | self.held) & (1 << at) != 0
    }

    pub(super) fn may_take(&self) -> bool {
        self.phase == Phase::Idle && (self.inbox != 0 || self.look || self.forget)
    }

    pub(super) fn rests(&self) -> bool {
        self.phase == Phase::Idle && !self.may_take()
    }
}

impl World {
    /// The places of commands in workers' hands.
    pub(super) fn running(&self) -> Places {
        self.workers.iter().flatten().fold(0, |places, run| places | 1 << run.command)
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.facts.open == 0
            && self.letter.is_none()
            && self.supervisors.iter().all(Supervisor::rests)
    }
}

/// The places of a set, in order.
pub(super) fn places(set: Places) -> impl Iterator<Item = u8> {
    (0..32).filter(move |at| set & (1 << at) != 0)
}
