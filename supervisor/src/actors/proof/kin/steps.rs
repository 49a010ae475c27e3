//! What can happen next in a family. What comes of it is in [`super::shell`], cut into steps wherever
//! somebody else could come in between.
//!
//! Everything that is not a healthy world's doing costs a trouble, and a world has few of them.

use super::{
    Game,
    memory::Memory,
    world::{Actor, CHILD, PARENT, Phase, Side, World, places},
};

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// A fact of a job is handed to the supervisor that gets them. An actor that does nothing takes it
    /// at once, and reads the log: whatever comes between is as if it came before.
    Hand { job: u8, fact: u8 },
    /// The facts of a job go to the other supervisor from now on, although nobody died.
    TurnPin { job: u8 },
    /// An actor takes what waits for it, and reads the log.
    Take { job: u8, who: u8 },
    /// It says to the other job what must be said before its decision; or that is late, and it lets
    /// go of the job for now.
    Say { job: u8, who: u8, late: bool },
    /// It writes what follows; or that is late.
    Write { job: u8, who: u8, late: bool },
    /// It reads the log again.
    Read { job: u8, who: u8 },
    /// Nothing more follows: it acknowledges its facts. Or tries to: `lost`.
    Rest { job: u8, who: u8, lost: bool },
    /// A supervisor dies with all its actors and is started again. What it owned may go to the other.
    Crash { who: u8, moves: bool },
    /// What was late arrives.
    Arrive,
    /// A worker says what came of a command of the child.
    Answer { command: u8 },
    /// A person answers what the child asks.
    Reply,
    /// Somebody cancels the parent.
    Cancel,
}

impl Move {
    /// Whether it comes by itself: nobody may count on a cancel or on trouble to go on.
    pub(super) fn goes_on(&self) -> bool {
        match self {
            Self::Cancel | Self::TurnPin { .. } | Self::Crash { .. } => false,
            Self::Hand { .. }
            | Self::Take { .. }
            | Self::Say { .. }
            | Self::Write { .. }
            | Self::Read { .. }
            | Self::Rest { .. }
            | Self::Arrive
            | Self::Answer { .. }
            | Self::Reply => true,
        }
    }
}

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    Pins,
    Supervisors,
    /// What is said or written arrives late, and whoever sent it does not know.
    Delays,
    /// Facts are handed out again although somebody has them; acknowledgements are lost.
    Deliveries,
}

impl Game {
    fn may(&self, world: &World, trouble: Trouble) -> bool {
        world.troubles > 0 && self.of.contains(&trouble)
    }

    pub(super) fn moves(&self, world: &World, memory: &mut Memory) -> Vec<Move> {
        let mut moves = Vec::new();
        for job in [PARENT, CHILD] {
            self.of_the_feed(world, job, &mut moves);
            for who in 0..2 {
                self.of_an_actor(world, memory, (job, who), &mut moves);
            }
        }
        for who in 0..2 {
            let is_idle = |side: &Side| side.actors[usize::from(who)] == Actor::default();
            if !world.jobs.iter().all(is_idle) && self.may(world, Trouble::Supervisors) {
                let owns = world.owners.contains(&who);
                moves.push(Move::Crash { who, moves: false });
                moves.extend(owns.then_some(Move::Crash { who, moves: true }));
            }
        }
        if world.letter.is_some() {
            moves.push(Move::Arrive);
        }
        let (parent, child) = (memory.log(world.log(PARENT)), memory.log(world.log(CHILD)));
        let commands = places(world.jobs[usize::from(CHILD)].commands);
        moves.extend(commands.map(|command| Move::Answer { command }));
        if child.asks.is_some() && !child.ended {
            moves.push(Move::Reply);
        }
        if world.may_cancel && !parent.ended {
            moves.push(Move::Cancel);
        }
        moves
    }

    fn of_the_feed(&self, world: &World, job: u8, moves: &mut Vec<Move>) {
        let side = &world.jobs[usize::from(job)];
        let owner = &side.actors[usize::from(world.owners[usize::from(job)])];
        let has = |at: &u8| (owner.inbox | owner.held) & (1 << at) != 0;
        let fresh = places(side.open & !side.handed).next();
        let lost = places(side.open & side.handed).find(|at| !has(at));
        let had = places(side.open & side.handed).find(has);
        let had = had.filter(|_| self.may(world, Trouble::Deliveries));
        let all = fresh.into_iter().chain(lost).chain(had);
        moves.extend(all.map(|fact| Move::Hand { job, fact }));
        if self.may(world, Trouble::Pins) && !side.actors.iter().all(|a| *a == Actor::default()) {
            moves.push(Move::TurnPin { job });
        }
    }

    fn of_an_actor(
        &self,
        world: &World,
        memory: &mut Memory,
        (job, who): (u8, u8),
        moves: &mut Vec<Move>,
    ) {
        let side = &world.jobs[usize::from(job)];
        let me = &side.actors[usize::from(who)];
        let late = world.letter.is_none() && self.may(world, Trouble::Delays);
        match me.phase {
            Phase::Idle if me.may_take() => moves.push(Move::Take { job, who }),
            Phase::Idle => {}
            Phase::Reading | Phase::Owing { .. } => moves.push(Move::Read { job, who }),
            Phase::Deciding { told } => match memory.fold(side.log, me.known).next {
                None => {
                    moves.push(Move::Rest { job, who, lost: false });
                    if me.held != 0 && self.may(world, Trouble::Deliveries) {
                        moves.push(Move::Rest { job, who, lost: true });
                    }
                }
                Some(next) => {
                    let tells = self.tells(memory, side.log, next);
                    let says = usize::from(told) < tells.len();
                    let step = |late| {
                        if says {
                            Move::Say { job, who, late }
                        } else {
                            Move::Write { job, who, late }
                        }
                    };
                    moves.push(step(false));
                    moves.extend(late.then(|| step(true)));
                }
            },
        }
    }
}
