//! The steps that can follow a world. Work is divided into steps wherever another process can
//! intervene.
//!
//! A step that does not occur in a healthy world costs a fault, and a world has few of them.

use super::{
    Exploration,
    actor::Act,
    memory::Memory,
    script::{Reply, Saying},
    world::{Actor, FIRST, Queue, Side, World, places},
};

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// A fact is delivered to the owner of its job.
    Deliver {
        job: u8,
        fact: u8,
    },
    /// From now on the other supervisor receives the facts of the job, although none has died.
    TurnPin {
        job: u8,
    },
    /// An actor takes its inbox and folds it.
    Take {
        job: u8,
        who: u8,
    },
    /// An actor carries out its next effect.
    Act {
        job: u8,
        who: u8,
        fate: Fate,
    },
    /// An actor carries a command out itself, or leaves it to a worker.
    Run {
        job: u8,
        who: u8,
        reply: Option<Reply>,
    },
    /// An actor reads the log to learn the outcome of its write.
    Settle {
        job: u8,
        who: u8,
    },
    /// An actor cannot learn the outcome and gives up its activation.
    GiveUp {
        job: u8,
        who: u8,
    },
    /// A supervisor dies and is restarted. If `moves`, the other one receives its facts.
    CrashSupervisor {
        who: u8,
        moves: bool,
    },
    /// A delayed write arrives at the broker.
    Arrive,
    /// A worker takes a command.
    Begin {
        job: u8,
        command: u8,
    },
    /// A worker stores its result.
    Answer {
        worker: u8,
        reply: Reply,
    },
    /// A worker stores its result again, because the first reply was lost.
    AnswerAgain {
        worker: u8,
    },
    /// A worker acknowledges its command.
    Release {
        worker: u8,
    },
    CrashWorker {
        worker: u8,
    },
    /// A timer fires, early or late.
    Fire {
        job: u8,
        timer: u8,
    },
    /// A person answers the first open question of a job.
    Reply {
        job: u8,
    },
    /// The first job is canceled.
    Cancel,
    /// The first job is rolled back to its plan.
    RollBack,
    /// The graph of the first job is edited.
    Edit,
}

impl Move {
    /// Returns `true` if the step happens without outside help. No job may depend on a
    /// cancellation, a rollback, an edit or a fault.
    pub(super) fn goes_on(self) -> bool {
        match self {
            Self::Cancel
            | Self::RollBack
            | Self::Edit
            | Self::TurnPin { .. }
            | Self::GiveUp { .. }
            | Self::CrashSupervisor { .. }
            | Self::CrashWorker { .. }
            | Self::AnswerAgain { .. } => false,
            Self::Deliver { .. }
            | Self::Take { .. }
            | Self::Act { .. }
            | Self::Run { .. }
            | Self::Settle { .. }
            | Self::Arrive
            | Self::Begin { .. }
            | Self::Answer { .. }
            | Self::Release { .. }
            | Self::Fire { .. }
            | Self::Reply { .. } => true,
        }
    }
}

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The facts of a job go to the other supervisor, although none has died.
    Pins,
    /// A supervisor dies.
    Supervisors,
    /// A write is stored although its reply is a conflict.
    Lies,
    /// A write arrives late, or its outcome cannot be learned.
    Delays,
    /// Facts and commands are redelivered while a process holds them, or an acknowledgement is
    /// lost.
    Deliveries,
    /// A worker dies, its work fails, or its result is stored twice.
    Workers,
}

impl Fault {
    pub(super) const ALL: &[Self] =
        &[Self::Pins, Self::Supervisors, Self::Lies, Self::Delays, Self::Deliveries, Self::Workers];
}

/// The fate of a write or an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The broker carries it out or refuses it, and replies truthfully.
    Done,
    /// A decision is stored, and the reply is a conflict.
    Lie,
    /// No reply arrives, and the write reaches the broker at some later time, possibly too late.
    Late,
    /// An acknowledgement is lost.
    Lost,
}

impl Exploration {
    pub(super) fn moves(&self, world: &World, memory: &Memory) -> Vec<Move> {
        let mut moves = Vec::new();
        for job in world.all_jobs() {
            self.of_the_feed(world, job, &mut moves);
            for who in 0..2 {
                self.of_an_actor(world, memory, (job, who), &mut moves);
            }
            self.of_commands(world, job, &mut moves);
            let timers = places(world.side(job).timers.into());
            moves.extend(timers.map(|timer| Move::Fire { job, timer }));
            let log = memory.log(world.log(job));
            moves.extend(log.asks.as_ref().filter(|_| !log.ended).map(|_| Move::Reply { job }));
        }
        if world.letter.is_some() {
            moves.push(Move::Arrive);
        }
        self.of_supervisors(world, memory, &mut moves);
        self.of_workers(world, &mut moves);
        let first = memory.log(world.log(FIRST));
        if world.may_cancel && !first.ended {
            moves.push(Move::Cancel);
        }
        if world.may_roll_back && !first.ended && first.planned.is_some() {
            moves.push(Move::RollBack);
        }
        if world.may_edit && !first.ended {
            moves.push(Move::Edit);
        }
        moves
    }

    fn may(&self, world: &World, fault: Fault) -> bool {
        world.faults > 0 && self.of.contains(&fault)
    }

    fn of_the_feed(&self, world: &World, job: u8, moves: &mut Vec<Move>) {
        let Side { facts, actors, owner, .. } = world.side(job);
        let owner = &actors[usize::from(*owner)];
        // A redelivery makes the whole log be read, so the order of redeliveries does not matter.
        let again = || places(facts.open & facts.delivered);
        let lost = again().find(|at| !owner.has(*at));
        let had = again().find(|at| owner.has(*at) && self.may(world, Fault::Deliveries));
        let deliver = |fact| Move::Deliver { job, fact };
        moves.extend(facts.fresh().into_iter().chain(lost).chain(had).map(deliver));
        let is_unseen = *actors == [Actor::new(job.into()); 2];
        if self.may(world, Fault::Pins) && (job == FIRST || !is_unseen) {
            moves.push(Move::TurnPin { job });
        }
    }

    fn of_an_actor(
        &self,
        world: &World,
        memory: &Memory,
        (job, who): (u8, u8),
        moves: &mut Vec<Move>,
    ) {
        let me = world.actor(job, who);
        if me.may_take() {
            moves.push(Move::Take { job, who });
        }
        let act = |fate| Move::Act { job, who, fate };
        if me.settling.is_some() {
            moves.push(Move::Settle { job, who });
        } else if let Act::Run(_) = memory.node(me.node).act {
            let broken = self.may(world, Fault::Workers).then_some(Some(Reply::Broke));
            let replies = [None, Some(Reply::Done)].into_iter().chain(broken);
            moves.extend(replies.map(|reply| Move::Run { job, who, reply }));
        } else if me.is_busy {
            moves.push(act(Fate::Done));
        }
        match memory.node(me.node).act {
            Act::Store(_) if me.settling.is_none() => {
                moves.extend(self.may(world, Fault::Lies).then(|| act(Fate::Lie)));
                let is_late = world.letter.is_none() && self.may(world, Fault::Delays);
                moves.extend(is_late.then(|| act(Fate::Late)));
            }
            Act::Store(_) | Act::Read if self.may(world, Fault::Delays) => {
                moves.push(Move::GiveUp { job, who });
            }
            Act::Acknowledge if me.held != 0 && self.may(world, Fault::Deliveries) => {
                moves.push(act(Fate::Lost));
            }
            Act::Rest | Act::Read | Act::Arm(_) | Act::Tell(_) | Act::Run(_) | Act::Store(_) => {}
            Act::Acknowledge => {}
        }
    }

    fn of_supervisors(&self, world: &World, memory: &Memory, moves: &mut Vec<Move>) {
        if !self.may(world, Fault::Supervisors) {
            return;
        }
        for who in 0..2 {
            // A crash of an idle supervisor loses only its folds.
            let mut actors = world.all_jobs().map(|job| world.actor(job, who));
            if actors.any(|me| !me.rests() || me.held != 0 || memory.node(me.node).has_fold()) {
                moves.push(Move::CrashSupervisor { who, moves: false });
                if world.jobs.iter().any(|side| side.owner == who) {
                    moves.push(Move::CrashSupervisor { who, moves: true });
                }
            }
        }
    }

    fn of_commands(&self, world: &World, job: u8, moves: &mut Vec<Move>) {
        let running = world.running(job);
        if world.workers.iter().any(Option::is_none) {
            let free = |at: &u8| running & (1 << at) == 0 || self.may(world, Fault::Deliveries);
            let open = places(world.side(job).commands.open).filter(free);
            moves.extend(open.map(|command| Move::Begin { job, command }));
        }
    }

    fn of_workers(&self, world: &World, moves: &mut Vec<Move>) {
        for worker in 0..2 {
            let Some(run) = world.workers[usize::from(worker)] else { continue };
            // Two workers with the same command are interchangeable.
            if worker == 1 && world.workers[0] == Some(run) {
                continue;
            }
            if run.answered {
                moves.push(Move::Release { worker });
            } else {
                moves.push(Move::Answer { worker, reply: Reply::Done });
            }
            if self.may(world, Fault::Workers) {
                moves.push(Move::CrashWorker { worker });
                moves.push(if run.answered {
                    Move::AnswerAgain { worker }
                } else {
                    Move::Answer { worker, reply: Reply::Broke }
                });
            }
        }
    }

    pub(super) fn after(&self, world: &World, memory: &mut Memory, step: Move) -> World {
        let mut next = world.clone();
        match step {
            Move::Deliver { job, fact } => self.deliver_fact(&mut next, job, fact),
            Move::TurnPin { job } => {
                next.faults -= 1;
                self.move_pin(&mut next, memory, job);
            }
            Move::Take { job, who } => self.take(&mut next, memory, job, who),
            Move::Act { job, who, fate } => self.act(&mut next, memory, (job, who), fate),
            Move::Run { job, who, reply } => {
                next.faults -= u8::from(reply == Some(Reply::Broke));
                self.run_here(&mut next, memory, (job, who), reply);
            }
            Move::Settle { job, who } => self.settle(&mut next, memory, (job, who)),
            Move::GiveUp { job, who } => self.give_up(&mut next, job, who),
            Move::CrashSupervisor { who, moves } => self.crash(&mut next, memory, who, moves),
            Move::Arrive => self.arrive(&mut next, memory),
            Move::Begin { job, command } => self.begin(&mut next, memory, job, command),
            Move::Answer { worker, reply } => {
                next.faults -= u8::from(reply == Reply::Broke);
                self.answer(&mut next, memory, worker, reply);
            }
            Move::AnswerAgain { worker } => {
                next.faults -= 1;
                self.answer(&mut next, memory, worker, Reply::Done);
            }
            Move::Release { worker } => self.release(&mut next, worker),
            Move::CrashWorker { worker } => {
                next.faults -= 1;
                next.workers[usize::from(worker)] = None;
            }
            Move::Fire { job, timer } => {
                next.side_mut(job).timers &= !(1 << timer);
                add_fact(&mut next, memory, job, Saying::Fired { timer });
            }
            Move::Reply { job } => add_fact(&mut next, memory, job, Saying::Answered),
            Move::Cancel => {
                next.may_cancel = false;
                add_fact(&mut next, memory, FIRST, Saying::Cancel);
            }
            Move::RollBack => {
                next.may_roll_back = false;
                add_fact(&mut next, memory, FIRST, Saying::RollBack);
            }
            Move::Edit => {
                next.may_edit = false;
                add_fact(&mut next, memory, FIRST, Saying::Edit);
            }
        }
        self.simplify(&mut next, memory);
        next
    }
}

pub(super) fn add_fact(world: &mut World, memory: &mut Memory, job: u8, saying: Saying) {
    let at = place(memory.log(world.log(job)).written.len());
    let side = world.side_mut(job);
    side.log = memory.append(side.log, saying);
    side.facts.add(at);
}

pub(super) fn place(at: usize) -> u8 {
    u8::try_from(at).ok().filter(|at| *at < 31).expect("a small job has a short log")
}

/// Returns the worlds in which the first job was just submitted. One supervisor owns all jobs, or
/// each owns one.
pub(super) fn first(memory: &mut Memory, exploration: &Exploration) -> Vec<World> {
    let side = |(job, owner): (usize, u8)| {
        let node = u32::try_from(job).expect("a family is small");
        let (facts, commands) = (Queue::default(), Queue::default());
        Side { log: node, facts, commands, timers: 0, owner, actors: [Actor::new(node); 2] }
    };
    let family = memory.jobs.len();
    let owners = if family == 1 { vec![vec![0]] } else { vec![vec![0; family], vec![0, 1]] };
    let world = |owners: Vec<u8>| {
        let mut world = World {
            jobs: owners.into_iter().enumerate().map(side).collect(),
            workers: [None; 2],
            letter: None,
            faults: exploration.faults,
            may_cancel: exploration.cancels,
            may_roll_back: exploration.rolls_back,
            may_edit: exploration.edits,
            began_late: false,
            lost: 0,
            dropped_units: false,
            ran_lost: false,
            submitted_early: false,
        };
        add_fact(&mut world, memory, FIRST, Saying::Submitted);
        world
    };
    owners.into_iter().map(world).collect()
}
