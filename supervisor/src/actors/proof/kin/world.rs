//! A state of the model of a family: what is stored, what is on its way, and what everybody has in
//! hand. Only numbers and bits; what they stand for is in [`super::memory`].
//!
//! Supervisors have no names: the one that owns the parent stands first.

/// Positions of a log, one bit each.
pub(super) type Places = u32;

/// The job at the top.
pub(super) const PARENT: u8 = 0;
/// The job that works for it.
pub(super) const CHILD: u8 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    /// The parent and its child.
    pub(super) jobs: [Side; 2],
    /// Which supervisor is handed the facts of each job.
    pub(super) owners: [u8; 2],
    /// Something that its sender knows nothing of any more and that may still arrive.
    pub(super) letter: Option<Letter>,
    /// Troubles that may still come.
    pub(super) troubles: u8,
    /// Whether somebody may still cancel.
    pub(super) may_cancel: bool,
    /// A claim about both logs that was broken on the way.
    pub(super) broken: Option<&'static str>,
    /// Whether a telling arrived when the family had ended.
    pub(super) told_late: bool,
}

/// One job of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Side {
    pub(super) log: u32,
    /// Facts that are not acknowledged.
    pub(super) open: Places,
    /// Of those, handed out before.
    pub(super) handed: Places,
    /// Commands that are not acknowledged.
    pub(super) commands: Places,
    /// The job's actor at each supervisor.
    pub(super) actors: [Actor; 2],
}

/// A job's actor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Actor {
    /// Facts that wait for it.
    pub(super) inbox: Places,
    pub(super) look: bool,
    /// Facts of the look that is under way.
    pub(super) held: Places,
    /// The records it knows.
    pub(super) known: Places,
    pub(super) phase: Phase,
    /// Whether the look has said and written nothing yet.
    pub(super) fresh: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    #[default]
    Idle,
    /// It stores what follows from what it knows, and has said so much of what must be said before.
    Deciding { told: u8 },
    /// It reads the log again before it goes on.
    Reading,
    /// It has stored a decision and still says what should have been said before, as a planted bug
    /// has it.
    Owing { next: u32 },
}

/// Something late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Letter {
    /// What was to be said before a decision.
    Tell { next: u32, n: u8 },
    /// A decision about this job.
    Decision { job: u8, next: u32, after: u8 },
}

impl Side {
    pub(super) fn of(log: u32) -> Self {
        Self { log, open: 0, handed: 0, commands: 0, actors: [Actor::default(); 2] }
    }
}

impl Actor {
    pub(super) fn may_take(&self) -> bool {
        self.phase == Phase::Idle && (self.inbox != 0 || self.look)
    }

    pub(super) fn rests(&self) -> bool {
        self.phase == Phase::Idle && !self.may_take()
    }
}

impl World {
    pub(super) fn side(&mut self, job: u8) -> &mut Side {
        &mut self.jobs[usize::from(job)]
    }

    pub(super) fn actor(&mut self, job: u8, who: u8) -> &mut Actor {
        &mut self.side(job).actors[usize::from(who)]
    }

    pub(super) fn log(&self, job: u8) -> u32 {
        self.jobs[usize::from(job)].log
    }

    /// Whether nobody decides anything and nothing is on its way to whoever would.
    pub(super) fn is_quiet(&self) -> bool {
        let rests = |side: &Side| side.open == 0 && side.actors.iter().all(Actor::rests);
        self.letter.is_none() && self.jobs.iter().all(rests)
    }
}

/// The places of a set, in order.
pub(super) fn places(set: Places) -> impl Iterator<Item = u8> {
    (0..32).filter(move |at| set & (1 << at) != 0)
}
