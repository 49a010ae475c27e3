//! What can happen next. What comes of it is in [`super::shell`] and [`super::working`], cut into steps
//! wherever somebody else could come in between.
//!
//! Everything that is not a healthy world's doing costs a trouble, and a world has few of them.

use super::{
    Game,
    memory::Memory,
    script::{Reply, Saying},
    world::{Phase, Queue, Supervisor, World, places},
};

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Move {
    /// A fact is handed to the supervisor that gets them.
    Hand {
        fact: u8,
    },
    /// The other supervisor is handed the facts from now on.
    TurnPin,
    /// A supervisor takes what waits for it, reads the log if it must, and folds.
    Take {
        who: u8,
    },
    /// It arms the timers of what follows.
    Arm {
        who: u8,
    },
    /// It writes what follows.
    Write {
        who: u8,
        weather: Weather,
    },
    /// It reads the log to find out what became of its write.
    Settle {
        who: u8,
    },
    /// It cannot find out, and lets go of the job for now.
    GiveUp {
        who: u8,
    },
    /// Nothing more follows: it acknowledges its facts. Or tries to: `lost`.
    Rest {
        who: u8,
        lost: bool,
    },
    /// It dies and is started again. Facts may go to the other one meanwhile.
    CrashSupervisor {
        who: u8,
        moves_pin: bool,
    },
    /// A write that nobody counted on any more arrives.
    Arrive,
    /// A worker takes a command, and sees whether it is wanted.
    Begin {
        command: u8,
    },
    /// It stores what came of it.
    Answer {
        worker: u8,
        reply: Reply,
    },
    /// The same once more: the first reply was lost.
    AnswerAgain {
        worker: u8,
    },
    /// It acknowledges the command.
    Acknowledge {
        worker: u8,
    },
    CrashWorker {
        worker: u8,
    },
    /// A timer fires, early or late.
    Fire {
        timer: u8,
    },
    /// A person says yes.
    Approve,
    Cancel,
    /// Somebody takes the job back to where it had its plan.
    GoBack,
}

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The facts go to the other supervisor although nobody died.
    Pins,
    /// A supervisor dies.
    Supervisors,
    /// A write is stored, and a conflict is answered.
    Lies,
    /// A write arrives late, or nobody can find out whether it did.
    Delays,
    /// Facts and commands are handed out again although somebody has them; acknowledgements are lost.
    Deliveries,
    /// A worker dies, its work breaks, or its result is stored twice.
    Workers,
}

impl Trouble {
    pub(super) const ALL: &[Self] =
        &[Self::Pins, Self::Supervisors, Self::Lies, Self::Delays, Self::Deliveries, Self::Workers];
}

/// What becomes of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    /// The broker does it or not, and says so.
    Fine,
    /// It does it, and says that somebody else was first.
    Lie,
    /// No reply comes; it may arrive at any time, or too late.
    Delay,
}

impl Game {
    pub(super) fn moves(&self, world: &World, memory: &mut Memory) -> Vec<Move> {
        let mut moves = Vec::new();
        self.of_the_feed(world, &mut moves);
        for who in 0..2 {
            self.of_a_supervisor(world, memory, who, &mut moves);
        }
        self.of_workers(world, &mut moves);
        moves.extend(places(world.armed.into()).map(|timer| Move::Fire { timer }));
        let log = memory.log(world.log);
        if log.asks {
            moves.push(Move::Approve);
        }
        if world.may_cancel && !log.ended {
            moves.push(Move::Cancel);
        }
        if world.may_go_back && !log.ended && log.planned.is_some() {
            moves.push(Move::GoBack);
        }
        moves
    }

    fn may(&self, world: &World, trouble: Trouble) -> bool {
        world.troubles > 0 && self.of.contains(&trouble)
    }

    fn of_the_feed(&self, world: &World, moves: &mut Vec<Move>) {
        let first = &world.supervisors[0];
        // Whatever is handed out again has the whole log read, so that their order says nothing.
        let again = || places(world.facts.open & world.facts.handed);
        let lost = again().find(|at| !first.has(*at));
        let had = again().find(|at| first.has(*at) && self.may(world, Trouble::Deliveries));
        let hand = |fact| Move::Hand { fact };
        moves.extend(world.facts.fresh().into_iter().chain(lost).chain(had).map(hand));
        if self.may(world, Trouble::Pins) {
            moves.push(Move::TurnPin);
        }
        if world.letter.is_some() {
            moves.push(Move::Arrive);
        }
    }

    fn of_a_supervisor(&self, world: &World, memory: &mut Memory, who: u8, moves: &mut Vec<Move>) {
        let me = &world.supervisors[usize::from(who)];
        match me.phase {
            Phase::Idle if me.may_take() => moves.push(Move::Take { who }),
            Phase::Idle => {}
            Phase::Deciding { armed } => match me.fold.and_then(|fold| memory.next(fold)) {
                None => {
                    moves.push(Move::Rest { who, lost: false });
                    if me.held != 0 && self.may(world, Trouble::Deliveries) {
                        moves.push(Move::Rest { who, lost: true });
                    }
                }
                Some(next) if !armed && !memory.nexts[next as usize].arm.is_empty() => {
                    moves.push(Move::Arm { who });
                }
                Some(_) => {
                    moves.push(Move::Write { who, weather: Weather::Fine });
                    if self.may(world, Trouble::Lies) {
                        moves.push(Move::Write { who, weather: Weather::Lie });
                    }
                    if world.letter.is_none() && self.may(world, Trouble::Delays) {
                        moves.push(Move::Write { who, weather: Weather::Delay });
                    }
                }
            },
            Phase::Settling { .. } | Phase::TooLate => {
                moves.push(Move::Settle { who });
                if self.may(world, Trouble::Delays) {
                    moves.push(Move::GiveUp { who });
                }
            }
        }
        // One that has nothing in its hands loses nothing but its fold.
        let has_something = !me.rests() || me.held != 0 || me.fold.is_some();
        if has_something && self.may(world, Trouble::Supervisors) {
            moves.push(Move::CrashSupervisor { who, moves_pin: false });
            if who == 0 {
                moves.push(Move::CrashSupervisor { who, moves_pin: true });
            }
        }
    }

    fn of_workers(&self, world: &World, moves: &mut Vec<Move>) {
        let running = world.running();
        if world.workers.iter().any(Option::is_none) {
            let free = |at: &u8| running & (1 << at) == 0 || self.may(world, Trouble::Deliveries);
            moves.extend(
                places(world.commands.open).filter(free).map(|command| Move::Begin { command }),
            );
        }
        for worker in 0..2 {
            let Some(run) = world.workers[usize::from(worker)] else { continue };
            // Two that hold the same are one.
            if worker == 1 && world.workers[0] == Some(run) {
                continue;
            }
            if run.answered {
                moves.push(Move::Acknowledge { worker });
            } else {
                moves.push(Move::Answer { worker, reply: Reply::Done });
            }
            if self.may(world, Trouble::Workers) {
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
            Move::Hand { fact } => self.hand(&mut next, fact),
            Move::TurnPin => {
                next.troubles -= 1;
                self.move_pin(&mut next);
            }
            Move::Take { who } => self.take(&mut next, memory, who),
            Move::Arm { who } => self.arm(&mut next, memory, who),
            Move::Write { who, weather } => self.write(&mut next, memory, who, weather),
            Move::Settle { who } => self.settle(&mut next, memory, who),
            Move::GiveUp { who } => {
                next.troubles -= 1;
                let me = &mut next.supervisors[usize::from(who)];
                (me.fold, me.held, me.phase, me.fresh) = (None, 0, Phase::Idle, false);
                (me.look, me.forget) = (true, true);
                forget_writer(&mut next, who);
            }
            Move::Rest { who, lost } => self.rest(&mut next, memory, who, lost),
            Move::CrashSupervisor { who, moves_pin } => self.crash(&mut next, who, moves_pin),
            Move::Arrive => self.arrive(&mut next, memory),
            Move::Begin { command } => self.begin(&mut next, memory, command),
            Move::Answer { worker, reply } => {
                next.troubles -= u8::from(reply == Reply::Broke);
                self.answer(&mut next, memory, worker, reply);
            }
            Move::AnswerAgain { worker } => {
                next.troubles -= 1;
                self.answer(&mut next, memory, worker, Reply::Done);
            }
            Move::Acknowledge { worker } => {
                if let Some(run) = next.workers[usize::from(worker)].take() {
                    next.commands.acknowledge(1 << run.command);
                }
            }
            Move::CrashWorker { worker } => {
                next.troubles -= 1;
                next.workers[usize::from(worker)] = None;
            }
            Move::Fire { timer } => {
                next.armed &= !(1 << timer);
                add_fact(&mut next, memory, Saying::Fired { timer });
            }
            Move::Approve => add_fact(&mut next, memory, Saying::Approve),
            Move::Cancel => {
                next.may_cancel = false;
                add_fact(&mut next, memory, Saying::Cancel);
            }
            Move::GoBack => {
                next.may_go_back = false;
                add_fact(&mut next, memory, Saying::Back);
            }
        }
        self.in_its_simplest_form(&mut next, memory);
        next
    }
}

pub(super) fn add_fact(world: &mut World, memory: &mut Memory, saying: Saying) {
    let at = place(memory.log(world.log).written.len());
    world.log = memory.append(world.log, saying);
    world.facts.add(at);
}

pub(super) fn forget_writer(world: &mut World, who: u8) {
    if let Some(letter) = &mut world.letter
        && letter.writer == Some(who)
    {
        letter.writer = None;
    }
}

pub(super) fn last_decision(memory: &Memory, fold: u32) -> u8 {
    u8::try_from(memory.job(fold).last_decision().0).expect("the log is short")
}

pub(super) fn place(at: usize) -> u8 {
    u8::try_from(at).ok().filter(|at| *at < 31).expect("a job of two steps has a short log")
}

/// The world in which a job was just submitted.
pub(super) fn first(memory: &mut Memory, game: &Game) -> World {
    let log = memory.append(0, Saying::Submitted);
    let facts = Queue { open: 1, handed: 0 };
    World {
        log,
        facts,
        commands: Queue::default(),
        supervisors: [Supervisor::default(); 2],
        workers: [None; 2],
        letter: None,
        armed: 0,
        troubles: game.troubles,
        may_cancel: game.cancels,
        may_go_back: game.goes_back,
        began_late: false,
    }
}
