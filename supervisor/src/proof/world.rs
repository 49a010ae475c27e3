//! A state of the model: what is stored, what is on its way, and what every process holds. Numbers and
//! bits only, so that millions of states fit; [`super::memory`] has their meaning.
//!
//! Supervisors and workers have no names: worlds that differ by a name are one.

/// Positions of a log, one bit each.
pub(super) type Places = u32;

/// The first job, which has no parent.
pub(super) const FIRST: u8 = 0;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    /// The jobs of the family, each after its parent.
    pub(super) jobs: Vec<Side>,
    pub(super) workers: [Option<Run>; 2],
    /// A write that may still arrive, although no reply will.
    pub(super) letter: Option<Letter>,
    /// Faults that may still happen.
    pub(super) faults: u8,
    /// Whether the first job may still be canceled.
    pub(super) may_cancel: bool,
    /// Whether the first job may still be rolled back.
    pub(super) may_roll_back: bool,
    /// Whether a tool began after the end of its job was stored.
    pub(super) began_late: bool,
    /// Whether a child was submitted before the decision to have it was stored.
    pub(super) submitted_early: bool,
}

/// One job of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Side {
    /// What is stored.
    pub(super) log: u32,
    pub(super) facts: Queue,
    pub(super) commands: Queue,
    /// Armed timers, one bit each.
    pub(super) timers: u16,
    /// The supervisor that receives the facts.
    pub(super) owner: u8,
    /// The job's actor at each supervisor.
    pub(super) actors: [Actor; 2],
}

/// What the broker delivers until it is acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    /// Not acknowledged.
    pub(super) open: Places,
    /// Of those, delivered before.
    pub(super) delivered: Places,
}

/// A job's actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Actor {
    /// Its activation.
    pub(super) node: u32,
    /// Whether the activation is not at rest.
    pub(super) is_busy: bool,
    /// Facts in its inbox.
    pub(super) inbox: Places,
    /// Whether one of them was delivered before.
    pub(super) again: bool,
    pub(super) look: bool,
    pub(super) forget: bool,
    /// Facts of the current activation.
    pub(super) held: Places,
    /// Whether the current activation has written nothing yet.
    pub(super) fresh: bool,
    /// The outcome of its write is unknown to it. `true` when the write is stored.
    pub(super) settling: Option<bool>,
}

/// A command with a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Run {
    pub(super) job: u8,
    pub(super) command: u8,
    /// Whether its result is stored.
    pub(super) answered: bool,
}

/// A decision on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Letter {
    pub(super) job: u8,
    pub(super) next: u32,
    pub(super) after: u8,
    /// The supervisor that waits for the outcome.
    pub(super) writer: Option<u8>,
}

impl Queue {
    pub(super) fn add(&mut self, at: u8) {
        self.open |= 1 << at;
    }

    pub(super) fn acknowledge(&mut self, places: Places) {
        self.open &= !places;
        self.delivered &= !places;
    }

    pub(super) fn deliver(&mut self, at: u8) {
        self.delivered |= 1 << at;
    }

    /// The oldest that was not delivered.
    pub(super) fn fresh(self) -> Option<u8> {
        places(self.open & !self.delivered).next()
    }
}

impl Actor {
    /// An actor that was started a moment ago.
    pub(super) fn new(node: u32) -> Self {
        Self {
            node,
            is_busy: false,
            inbox: 0,
            again: false,
            look: false,
            forget: false,
            held: 0,
            fresh: false,
            settling: None,
        }
    }

    pub(super) fn has(&self, at: u8) -> bool {
        (self.inbox | self.held) & (1 << at) != 0
    }

    pub(super) fn may_take(&self) -> bool {
        !self.is_busy && (self.inbox != 0 || self.look || self.forget)
    }

    pub(super) fn rests(&self) -> bool {
        !self.is_busy && !self.may_take()
    }
}

impl World {
    pub(super) fn side(&self, job: u8) -> &Side {
        &self.jobs[usize::from(job)]
    }

    pub(super) fn side_mut(&mut self, job: u8) -> &mut Side {
        &mut self.jobs[usize::from(job)]
    }

    pub(super) fn actor(&self, job: u8, who: u8) -> &Actor {
        &self.side(job).actors[usize::from(who)]
    }

    pub(super) fn actor_mut(&mut self, job: u8, who: u8) -> &mut Actor {
        &mut self.side_mut(job).actors[usize::from(who)]
    }

    pub(super) fn log(&self, job: u8) -> u32 {
        self.side(job).log
    }

    pub(super) fn all_jobs(&self) -> impl Iterator<Item = u8> + use<> {
        0..u8::try_from(self.jobs.len()).expect("a family is small")
    }

    /// The commands of a job that workers have.
    pub(super) fn running(&self, job: u8) -> Places {
        let own = self.workers.iter().flatten().filter(|run| run.job == job);
        own.fold(0, |places, run| places | 1 << run.command)
    }

    /// Whether no supervisor decides anything, and nothing is on its way to one.
    pub(super) fn is_quiet(&self) -> bool {
        let rests = |side: &Side| side.facts.open == 0 && side.actors.iter().all(Actor::rests);
        self.letter.is_none() && self.jobs.iter().all(rests)
    }
}

/// The places of a set, in order.
pub(super) fn places(set: Places) -> impl Iterator<Item = u8> {
    (0..32).filter(move |at| set & (1 << at) != 0)
}
