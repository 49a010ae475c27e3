//! A state of the model: the stored records, the messages under way, and the state of every
//! process. It holds only numbers and bits, so that millions of states fit into memory;
//! [`super::memory`] resolves them.
//!
//! Supervisors and workers are anonymous: worlds that differ only by a name are one.

/// A set of positions of a log, one bit each.
pub(super) type Places = u32;

/// Index of the first job, which has no parent.
pub(super) const FIRST: u8 = 0;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    /// Jobs of the family, each after its parent.
    pub(super) jobs: Vec<Side>,
    pub(super) workers: [Option<Run>; 2],
    /// Write that may still arrive, although it will get no reply.
    pub(super) letter: Option<Letter>,
    /// Number of faults that may still happen.
    pub(super) faults: u8,
    /// `true` if the first job may still be canceled.
    pub(super) may_cancel: bool,
    /// `true` if the first job may still be rolled back.
    pub(super) may_roll_back: bool,
    /// `true` if the graph of the first job may still be edited.
    pub(super) may_edit: bool,
    /// `true` if a tool started after the end of its job was stored.
    pub(super) began_late: bool,
    /// Units of work that a supervisor carried out itself and lost in its crash, one bit each.
    pub(super) lost: u16,
    /// `true` if a unit of a record counted for nothing although its supervisor knew every fact.
    pub(super) dropped_units: bool,
    /// `true` if a supervisor carried out lost work again.
    pub(super) ran_lost: bool,
    /// `true` if a child was submitted before the decision to spawn it was stored.
    pub(super) submitted_early: bool,
}

/// The state of one job of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Side {
    /// Number of its log.
    pub(super) log: u32,
    pub(super) facts: Queue,
    pub(super) commands: Queue,
    /// Armed timers, one bit each.
    pub(super) timers: u16,
    /// Supervisor that receives the facts.
    pub(super) owner: u8,
    /// The job's actor at each supervisor.
    pub(super) actors: [Actor; 2],
}

/// The messages that the broker delivers until they are acknowledged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Queue {
    /// Positions that are not acknowledged.
    pub(super) open: Places,
    /// Positions among those that were delivered.
    pub(super) delivered: Places,
}

/// A job's actor at one supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Actor {
    /// Number of its activation.
    pub(super) node: u32,
    /// `true` if the activation is not at rest.
    pub(super) is_busy: bool,
    /// Facts in its inbox.
    pub(super) inbox: Places,
    /// `true` if a fact in the inbox was delivered before.
    pub(super) again: bool,
    pub(super) look: bool,
    pub(super) forget: bool,
    /// Facts of the current activation.
    pub(super) held: Places,
    /// `true` if the current activation has written nothing yet.
    pub(super) fresh: bool,
    /// Units of work that the actor has carried out and not stored, one bit each.
    pub(super) ran: u16,
    /// The write's outcome is unknown to the actor. `Some(true)` if the write is stored.
    pub(super) settling: Option<bool>,
}

/// A command with a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Run {
    pub(super) job: u8,
    pub(super) command: u8,
    /// `true` if its result is stored.
    pub(super) answered: bool,
}

/// A delayed write of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Letter {
    pub(super) job: u8,
    pub(super) next: u32,
    pub(super) after: u8,
    /// Supervisor that awaits the outcome.
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

    /// Returns the oldest position that was never delivered.
    pub(super) fn fresh(self) -> Option<u8> {
        places(self.open & !self.delivered).next()
    }
}

impl Actor {
    /// Creates an actor that has just started.
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
            ran: 0,
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

    /// Returns the commands of a job that are with workers.
    pub(super) fn running(&self, job: u8) -> Places {
        let own = self.workers.iter().flatten().filter(|run| run.job == job);
        own.fold(0, |places, run| places | 1 << run.command)
    }

    /// Returns `true` if no supervisor is busy and no message is under way to one.
    pub(super) fn is_quiet(&self) -> bool {
        let rests = |side: &Side| side.facts.open == 0 && side.actors.iter().all(Actor::rests);
        self.letter.is_none() && self.jobs.iter().all(rests)
    }
}

/// Returns the positions in a set, in order.
pub(super) fn places(set: Places) -> impl Iterator<Item = u8> {
    (0..32).filter(move |at| set & (1 << at) != 0)
}
