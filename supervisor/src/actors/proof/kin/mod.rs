//! Every world that a small family can get into: a job that hands its only step to another one, each
//! with a log of its own, two supervisors of which either may own either job, a person who answers
//! what the child asks, a cancel, and a few troubles at any moment.
//!
//! The fold, what follows from it and what is said to the other job are the real ones; what lies
//! between two writes is cut into steps by hand, as in the model of one job beside this one. That one
//! shows what holds within a log; this one, what holds between two. `docs/internals/proof.md` names
//! the bounds.

mod claims;
mod memory;
mod script;
mod shell;
mod simplest;
mod steps;
mod tests;
mod world;

use std::sync::{Mutex, PoisonError};

use stateright::{Model, Property};

use self::{
    memory::Memory,
    script::Script,
    steps::{Move, Trouble},
    world::World,
};

/// A bug that is planted in what supervisors or the broker do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plant {
    /// A child is submitted before the decision to have it is stored.
    SubmitFirst,
    /// What another job must hear is said after the note that it was.
    TellAfterStoring,
    /// The log of a child begins again with every submission.
    SubmitUnguarded,
    /// The jobs below are not told that nobody waits for them any more.
    ForgetChildren,
    /// The job above is not told how a child ended.
    ForgetParent,
    /// The broker stores every decision, whatever its writer had seen.
    NoCompareAndSet,
    /// The job above is told of another end than the one that is stored.
    TellAnotherEnd,
}

/// A family, and what may happen to it.
struct Game {
    /// How many troubles may come.
    troubles: u8,
    /// Of which kinds.
    of: &'static [Trouble],
    /// Whether somebody may cancel the parent, at any moment.
    cancels: bool,
    plant: Option<Plant>,
    /// Worked out once for all worlds: a function of its keys, so no part of any state.
    memory: Mutex<Memory>,
}

impl Game {
    fn new(script: Script, troubles: u8, of: &'static [Trouble]) -> Self {
        let memory = Mutex::new(Memory::new(script));
        Self { troubles, of, cancels: true, plant: None, memory }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Model for Game {
    type State = World;
    type Action = Move;

    /// One supervisor owns both jobs, or each owns one.
    fn init_states(&self) -> Vec<World> {
        [[0, 0], [0, 1]].map(|owners| self.with(|memory| self.first(memory, owners))).into()
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        moves.extend(self.with(|memory| self.moves(world, memory)));
    }

    fn next_state(&self, world: &World, step: Move) -> Option<World> {
        Some(self.with(|memory| self.after(world, memory, step)))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        claims::always().into_iter().chain(claims::sometimes()).chain(claims::further()).collect()
    }
}
